//! What stands in the page of an outcome, and in that of a search. How it looks is the browser's to say.

mod made;

use expect_test::{expect, expect_file};
use made::{NASTY, outcome, searched};
use serde_json::{Value, json};
use touchstone_load::failure::Failure;
use touchstone_load::memory::{Memory, ServiceMemory};
use touchstone_load::outcome::{Outcome, WatchOutcome};
use touchstone_load::page;
use touchstone_load::scenario::{Flow, Think};
use touchstone_load::search::Searched;
use touchstone_load::series::INTERVAL_NS;

/// A page of an hour, of many requests, is no larger; style and scripts are half a megabyte of it.
const PAGE_BYTES_MAX: usize = 900_000;

/// A page without what all pages have: style and scripts.
fn body(html: &str) -> String {
    let from = html.find("<header>").expect("it has a head");
    let to = html.find("<footer>").expect("it has an end");
    let lines = html[from..to].lines().map(str::trim_end).filter(|line| !line.is_empty());
    lines.map(|line| format!("{line}\n")).collect()
}

/// What a chart is drawn from.
fn chart<'h>(html: &'h str, kind: &str) -> &'h str {
    let figure = html.split(&format!("data-chart=\"{kind}\"")).nth(1).expect(kind);
    let data = figure.split("application/json\">").nth(1).expect("it has data");
    data.split("</script>").next().expect("it ends")
}

#[test]
fn the_page_says_what_was_counted() {
    let html = page::of_outcome(&outcome()).expect("it is written");
    expect_file!["golden/page.txt"].assert_eq(&body(&html));
}

#[test]
fn streams_of_events_are_told_with_what_they_take_of_memory() {
    let mut outcome = outcome();
    outcome.watches = vec![WatchOutcome {
        watch: "changes".into(),
        label: "GET /watch".into(),
        asked: 1_000,
        opened: 990,
        broken: [(Failure::Closed, 4)].into(),
        first_broken: [(Failure::Closed, NASTY.into())].into(),
        events: 5_000,
        received_bytes: 200_000,
    }];
    let memory = |pss_bytes| Some(Memory { rss_bytes: pss_bytes + (1 << 20), pss_bytes });
    let (before, open) = (memory(20 << 20), memory((20 << 20) + 990 * 4_096));
    outcome.machines[0].service = Some(ServiceMemory { process: 7, before, open, rss_bytes_most: 30 << 20 });
    let html = page::of_outcome(&outcome).expect("it is written");
    let from = html.find("<section id=\"streams\"").expect("it has a part for them");
    let part = html[from..].split("</section>").next().expect("it ends");
    for text in [
        "<th scope=\"row\" class=\"endpoint\">GET /watch</th><td class=\"number\">1,000</td><td class=\"number\">990</td>",
        "<td class=\"number wrong\">10</td><td class=\"number wrong\">4</td><td class=\"number\">986</td>",
        "4, the first with: <code>&#60;/script&#62;",
        "14 were refused or broke",
        "process 7: PSS 20.0 MiB (RSS 21.0 MiB) before streams were opened, 23.9 MiB (RSS 24.9 MiB) with them open, so 4,096 bytes a stream; \
         RSS 30.0 MiB at the most",
    ] {
        assert!(part.contains(text), "{text}: {part}");
    }
    assert!(!outcome.is_held() && outcome.streams_lost() == 14);
    outcome.watches.clear();
    let html = page::of_outcome(&outcome).expect("it is written");
    assert!(
        html.contains("Memory of the service: process 7: PSS 23.9 MiB"),
        "a process can be named without streams"
    );
}

#[test]
fn what_a_service_says_is_text() {
    let html = page::of_outcome(&outcome()).expect("it is written");
    assert!(!html.contains(NASTY) && !html.contains("<b>"), "it is escaped");
    assert!(html.contains("from a service"), "and it is there");
    assert!(!html.contains("shop <one>") && html.contains("shop &#60;one&#62;"));
    // Each script element ends where it ends: none was opened or closed by data.
    assert_eq!(html.matches("<script").count(), html.matches("</script>").count());
}

#[test]
fn the_limit_of_failures_that_others_imply_stands_with_them() {
    let mut outcome = outcome();
    outcome.scenario.limits = Some("p99 < 50ms".into());
    let html = page::of_outcome(&outcome).expect("it is written");
    assert!(!html.contains("0.1%") && html.contains("failures &#60; 1%"), "{}", body(&html));
}

#[test]
fn the_page_loads_nothing() {
    let html = page::of_outcome(&outcome()).expect("it is written");
    assert!(html.contains("default-src 'none'"));
    assert!(!html.contains(" src=") && !html.contains("<link rel=\"stylesheet\""));
}

#[test]
fn a_search_is_drawn_with_its_bracket() {
    let html = page::of_search(&searched(), None).expect("it is written");
    expect![[r#"
        {"steps":[{"rate":100.0,"confirms":false,"held":true,"doubted":false,"low":100.0,"high":null,"said":"P50 2.00 ms, P99 30.0 ms"},
        {"rate":200.0,"confirms":false,"held":false,"doubted":false,"low":100.0,"high":null,"said":"P50 2.00 ms, P99 90.0 ms"},
        {"rate":200.0,"confirms":false,"held":true,"doubted":false,"low":100.0,"high":null,"said":"P50 2.00 ms, P99 30.0 ms"},
        {"rate":200.0,"confirms":false,"held":true,"doubted":false,"low":200.0,"high":null,"said":"P50 2.00 ms, P99 30.0 ms"},
        {"rate":400.0,"confirms":false,"held":false,"doubted":false,"low":200.0,"high":null,"said":"P50 2.00 ms, P99 90.0 ms"},
        {"rate":400.0,"confirms":false,"held":false,"doubted":false,"low":200.0,"high":400.0,"said":"P50 2.00 ms, P99 90.0 ms"},
        {"rate":283.0,"confirms":false,"held":true,"doubted":false,"low":282.8,"high":400.0,"said":"P50 2.00 ms, P99 30.0 ms"},
        {"rate":336.0,"confirms":false,"held":true,"doubted":false,"low":336.4,"high":400.0,"said":"P50 2.00 ms, P99 30.0 ms"},
        {"rate":367.0,"confirms":false,"held":true,"doubted":false,"low":366.8,"high":400.0,"said":"P50 2.00 ms, P99 30.0 ms"},
        {"rate":383.0,"confirms":false,"held":false,"doubted":false,"low":366.8,"high":400.0,"said":"P50 2.00 ms, P99 90.0 ms"},
        {"rate":383.0,"confirms":false,"held":false,"doubted":false,"low":366.8,"high":383.0,"said":"P50 2.00 ms, P99 90.0 ms"},
        {"rate":383.0,"confirms":false,"held":false,"doubted":false,"low":366.8,"high":383.0,"said":"P50 2.00 ms, P99 90.0 ms"},
        {"rate":367.0,"confirms":true,"held":true,"doubted":false,"low":367.0,"high":383.0,"said":"P50 2.00 ms, P99 30.0 ms"}],"at":367.0,"not_at":383.0}"#]].assert_eq(&chart(&html, "steps").replace("},{", "},\n{"));
    assert!(html.contains("Capacity: 367 iterations a second hold p99 &#60; 50ms; 383 do not."));
    assert!(html.contains("capacity.json") && !html.contains("outcome.json"));
}

/// Requests were drawn beside iterations on one axis: a service that kept up with iterations of two requests seemed to give twice as many
/// as were offered.
#[test]
fn what_is_offered_is_drawn_in_requests() {
    let mut outcome = outcome();
    let throughput = |outcome: &Outcome| {
        let html = page::of_outcome(outcome).expect("it is written");
        let data: Value = serde_json::from_str(chart(&html, "throughput")).expect("it is data");
        let rates = data["phases"].as_array().expect("a list").iter().map(|phase| phase["rate"].clone());
        (rates.collect::<Vec<_>>(), html.contains("an iteration is 2 requests if none fails"))
    };
    let (single, is_told) = throughput(&outcome);
    assert!(!single.is_empty() && !is_told);
    let steps = vec!["list".to_owned(), "buy".to_owned()];
    outcome.scenario.flows = vec![Flow { name: "shop".into(), steps, weight: 1.0, pause: Think::default() }];
    let (of_two, is_told) = throughput(&outcome);
    let twice = |rate: &Value| json!([rate[0].as_f64().unwrap() * 2.0, rate[1].as_f64().unwrap() * 2.0]);
    assert_eq!(of_two, single.iter().map(twice).collect::<Vec<_>>());
    assert!(is_told);
}

#[test]
fn steps_that_do_not_count_are_told_from_those_that_do() {
    let mut searched = searched();
    let hollow = "A hollow, dashed mark";
    let page = |searched: &Searched| page::of_search(searched, None).expect("it is written");
    assert!(!page(&searched).contains(hollow));
    searched.steps[1].doubts = vec!["the generator sent late: by far".into()];
    let html = page(&searched);
    assert_eq!(chart(&html, "steps").matches("\"doubted\":true").count(), 1);
    assert!(html.contains(hollow) && html.contains("it does not count: the generator sent late</td>"));
}

/// The top of the page said why a search was invalid, and the part about the step that confirmed it said so again.
#[test]
fn the_page_of_an_invalid_search_says_each_doubt_once() {
    let (mut searched, confirmed) = (searched(), outcome());
    let [doubt] = &confirmed.doubts[..] else { panic!("one: {:?}", confirmed.doubts) };
    searched.found = None;
    searched.doubts = vec![format!("{doubt} (1 of 13 steps)")];
    let html = page::of_search(&searched, Some(&confirmed)).expect("it is written");
    assert_eq!(body(&html).matches(doubt.as_str()).count(), 1);
    let row = "<th scope=\"row\">failures &#60; 1%</th>";
    assert!(!html.contains(row));
    searched.limits = searched.limits.with_failures();
    assert!(page::of_search(&searched, Some(&confirmed)).expect("it is written").contains(row));
    assert!(html.contains("(1 of 13 steps)") && html.contains("the top of the page says why"));
}

/// Seen in a browser: above an answer that holds, the run that confirmed it was called invalid.
#[test]
fn the_run_that_confirmed_an_answer_while_the_generator_was_late_is_not_called_invalid() {
    let (mut searched, confirmed) = (searched(), outcome());
    let [doubt] = &confirmed.doubts[..] else { panic!("one: {:?}", confirmed.doubts) };
    searched.doubts = vec![format!("{doubt} (1 of 13 steps)")];
    let html = page::of_search(&searched, Some(&confirmed)).expect("it is written");
    assert!(body(&html).contains("Capacity: at least 367") && !body(&html).contains("INVALID"));
    assert!(html.contains("the rate held, and the times are longer than the service's own"));
    assert!(page::of_outcome(&confirmed).expect("it is written").contains("INVALID"), "alone it is");
}

#[test]
fn the_page_of_a_long_run_is_no_larger_and_keeps_its_longest() {
    let mut outcome = outcome();
    for tenth in 0..36_000u64 {
        for number in 0..20 {
            outcome.series.record(tenth * INTERVAL_NS, 50_000 << (number % 14), false);
        }
    }
    outcome.series.record(20_000 * INTERVAL_NS, 9_876_000_000, false);
    outcome.phases[1].seconds = 3_599.0;
    for number in 0..100 {
        let mut row = outcome.rows[1].clone();
        let mut request = outcome.scenario.requests[1].clone();
        row.request = format!("request {number}");
        row.label = format!("GET /{number}");
        request.name.clone_from(&row.request);
        outcome.rows.push(row);
        outcome.scenario.requests.push(request);
    }
    let html = page::of_outcome(&outcome).expect("it is written");
    assert!(html.len() < PAGE_BYTES_MAX, "{}", html.len());
    assert!(chart(&html, "latencies").contains("9876000000"), "the longest is there");
    assert!(html.contains("more requests have no chart here"));
}
