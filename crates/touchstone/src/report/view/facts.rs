//! What a case does, in a sentence.

use crate::plan::{PlannedCase, PlannedLane, PlannedLoad, PlannedOrder, PlannedWatch};
use crate::report::format;
use crate::suite::{Cache, OrderKind, OrderPart};
use touchstone_protocol::{RecordKind, Verb, Watched};

/// `100,000 rows of 100 B; read-all; library caches empty; 15 blocks a launch; margin 1 %`.
pub(super) fn facts(case: &PlannedCase) -> String {
    if let Some(load) = &case.load {
        return of_load(case, load);
    }
    let dataset = &case.dataset;
    let noun = match dataset.record {
        RecordKind::Doc => "docs".to_owned(),
        RecordKind::Document if dataset.value_bytes == 0 => "documents of the page".to_owned(),
        record => format!("{record}s of {}", format::bytes(dataset.value_bytes as f64)),
    };
    let stored = match case.filled {
        filled if filled == dataset.records => format!("{} {noun}", format::count(filled)),
        0 => format!("No {} stored beforehand", dataset.record),
        filled => format!(
            "{} of {} {noun} stored beforehand",
            format::count(filled),
            format::count(dataset.records)
        ),
    };
    let cache = match case.cache {
        Cache::Reopened => "library caches empty",
        Cache::Evicted => "library and system caches empty",
        Cache::Warm => "caches warm",
    };
    let churn = (case.churn > 0).then(|| {
        let times = format::counted(u64::from(case.churn), "time", "times");
        format!("as many stored and deleted {times} before")
    });
    let tables = (case.tables > 1).then(|| format::counted(u64::from(case.tables), "table", "tables"));
    let base = case.arm(&case.baseline).or(case.arms.first());
    let widest = case.arms.iter().filter_map(|arm| arm.margin).fold(case.margin, f64::max);
    let of_flushes = if widest > case.margin {
        format!(", under {} of contenders that wait for the disk", format::percent_chosen(widest))
    } else {
        String::new()
    };
    [
        Some(stored),
        churn,
        tables,
        case.get_record.map(|record| format!("gets of record {} alone", format::count(record))),
        case.order.as_ref().map(order),
        case.watch.as_ref().map(watch),
        base.map(|arm| lanes(&arm.lanes)),
        Some(cache.to_owned()),
        case.restore.then(|| "database put back before every slice".to_owned()),
        case.is_confined().then(|| "one processor for lab and contenders".to_owned()),
        Some(format!("{} a launch", format::counted(u64::from(case.blocks), "block", "blocks"))),
        Some(format!("differences under {} do not matter{of_flushes}", format::percent_chosen(case.margin))),
    ]
    .into_iter()
    .flatten()
    .collect::<Vec<String>>()
    .join("; ")
}

/// `8 users ask, each as soon as it is answered; 6 changes of each stored before; windows of 833 ms; 1 block a launch; …`.
fn of_load(case: &PlannedCase, load: &PlannedLoad) -> String {
    let users = format::counted(u64::from(load.users), "user asks", "users ask");
    let stored = format::counted(case.filled, "change", "changes");
    let blocks = format::counted(u64::from(case.blocks), "block", "blocks");
    let window = format::duration(load.window_ms as f64 * 1e6);
    let margin = format::percent_chosen(case.margin);
    format!(
        "{users}, each as soon as it is answered; {stored} of each stored beforehand; windows of {window}; {blocks} a \
         launch; differences under {margin} do not matter"
    )
}

/// `gets near each other among 500 records, each slice after others among 50, 100 and 200`.
fn order(order: &PlannedOrder) -> String {
    let how = |part: OrderPart| {
        let among = format::count(part.among);
        match part.kind {
            OrderKind::Uniform => format!("at random among {among} records"),
            OrderKind::Cyclic => format!("round and round through {among} records"),
            OrderKind::Near => format!("four of five near the one before, among {among} records"),
            OrderKind::Zipf => format!("by Zipf's law among {among} records"),
            OrderKind::Scan => format!("of a thirty-second of {among} records, between scans of the others"),
            OrderKind::Trace => {
                format!("of {among} records, as recorded in {}", order.file.as_deref().unwrap_or("-"))
            }
        }
    };
    let parts: Vec<String> = order.parts().map(how).collect();
    let (last, before) = parts.split_last().expect("a slice has an order");
    let after = if before.is_empty() { String::new() } else { format!(", after {}", before.join(", then ")) };
    format!("gets {last}{after}")
}

/// `100 windows of 1,000 watched`.
fn watch(watch: &PlannedWatch) -> String {
    let limit = watch.limit.map(|limit| format!(", the first {} of each", format::count(limit.into())));
    match watch.watched {
        Watched::Object => {
            format!("{} watched", format::counted(watch.subscriptions, "object", "objects"))
        }
        Watched::One => {
            format!(
                "{} watched",
                format::counted(watch.subscriptions, "query for one title", "queries for one title")
            )
        }
        Watched::Window => format!(
            "{} of {} objects watched{}",
            format::counted(watch.subscriptions, "window", "windows"),
            format::count(watch.width),
            limit.unwrap_or_default()
        ),
    }
}

/// `deliver of 10,000 unwatched changes, iterated, commit timed`.
fn deliver(lane: &PlannedLane) -> String {
    let changes = format::counted(lane.changes.unwrap_or(1), "change", "changes");
    let unwatched = if lane.unwatched { " that nobody watches" } else { "" };
    let depth = lane.depth.map(|depth| format!(", {depth}")).unwrap_or_default();
    let stretch = lane.stretch.map(|stretch| format!(", {stretch} timed")).unwrap_or_default();
    format!("{} of {changes}{unwatched}{depth}{stretch}", lane.verb)
}

/// `read-all beside insert-many of 10,000`.
fn lanes(lanes: &[PlannedLane]) -> String {
    let lane = |lane: &PlannedLane| {
        let held = if lane.held { " in one held read transaction" } else { "" };
        let held = match lane.table {
            1 => held.to_owned(),
            table => format!(" on table {table}{held}"),
        };
        if let Some(lasts_ms) = lane.lasts_ms {
            return format!("{} for {}{held}", lane.verb, format::duration(lasts_ms as f64 * 1e6));
        }
        match (lane.verb, lane.count) {
            (Verb::Deliver, _) => deliver(lane),
            (_, None | Some(1)) => format!("{}{held}", lane.verb),
            (Verb::InsertMany | Verb::UpdateMany, Some(count)) => {
                format!("{} of {}{held}", lane.verb, format::count(count))
            }
            (_, Some(count)) => format!("{} {} times{held}", lane.verb, format::count(count)),
        }
    };
    lanes.iter().map(lane).collect::<Vec<String>>().join(" beside ")
}

#[cfg(test)]
mod tests {
    use super::facts;
    use crate::kit::{Kit, Kits};
    use crate::plan::{Choice, Plan};
    use crate::suite::{Size, Suite};

    const KIT: &str = r#"
kit = { language = "rust" }
subject = [
    { name = "one", summary = "", build = ["true"], run = ["one"], profile = [{ name = "plain", class = "none" }] },
]
"#;

    const SUITE: &str = r#"
name = "small"
title = "t"
source = "s"
device = "d"
dataset = [{ name = "documents", record = "document", records = 1000 }]
[[case]]
id = "get"
title = "Get"
dataset = "documents"
get_record = 100
lanes = [{ verb = "get" }]
baseline = "one@plain"
arms = ["one@plain"]
"#;

    fn told(suite: &str) -> String {
        let choice =
            Choice { cases: vec![], contenders: vec![], size: Size::Quick, seed: 42, looks: vec![8] };
        let kits = Kits { kits: vec![Kit::parse(KIT, "kit.toml").unwrap()] };
        let suite = Suite::parse(suite, "small.toml").unwrap();
        facts(&Plan::new(&[suite], &kits, &choice).unwrap().cases[0])
    }

    #[test]
    fn gets_of_one_record_and_documents_of_the_page_are_told() {
        let one = told(SUITE);
        assert!(one.starts_with("1,000 documents of the page; gets of record 100 alone; get;"), "{one}");
        let any = told(&SUITE.replace("get_record = 100\n", ""));
        assert!(any.starts_with("1,000 documents of the page; get;"), "{any}");
        let sized = told(&SUITE.replace("records = 1000", "records = 1000, value_bytes = 200"));
        assert!(sized.starts_with("1,000 documents of 200 B; gets"), "{sized}");
    }
}
