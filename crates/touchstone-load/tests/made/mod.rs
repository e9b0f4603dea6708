//! Outcomes and searches that nobody has measured: every number in them comes from a formula.

use touchstone_load::capacity::Found;
use touchstone_load::failure::Failure;
use touchstone_load::outcome::{ConnectionsOutcome, Outcome, PhaseOutcome, RowOutcome, SETUP, Shard};
use touchstone_load::scenario::Scenario;
use touchstone_load::search::{Searched, Step};
use touchstone_load::series::{INTERVAL_NS, Series};
use touchstone_load::trust::{Machine, Thread};

/// What a service may answer to spoil a page.
pub const NASTY: &str = "</script><script>throw new Error('from a service')</script>\"'&<b>";

const SCENARIO: &str = r#"
name = "shop <one>"
summary = "A shop & its customers"
host = "http://127.0.0.1:8000"
setup = ["register"]
limits = "p99 < 50ms, failures < 0.1%"
[[phase]]
name = "warm-up"
length = "1s"
rate = 100
counted = false
[[phase]]
name = "load"
length = "2s"
rate = 100
rate_to = 200
[[request]]
name = "register"
path = "/register"
[[request]]
name = "list"
path = "/list"
[[request]]
name = "buy"
method = "POST"
path = "/buy"
"#;

fn row(phase: &str, request: &str, label: &str, count: u64, from_ns: u64) -> RowOutcome {
    let mut row = RowOutcome {
        phase: phase.into(),
        request: request.into(),
        label: label.into(),
        ..RowOutcome::empty()
    };
    for number in 1..=count {
        row.response.record(from_ns + number * number * 1_000);
        row.service.record(from_ns + number * 1_000);
        row.lag.record(20_000 + number);
    }
    row.statuses = [(200, count)].into();
    (row.sent_bytes, row.received_bytes) = (count * 100, count * 250);
    row
}

/// Three seconds, with a stall of half a second in them; some of the requests fail, with texts that would spoil a page.
pub fn outcome() -> Outcome {
    let mut buy = row("load", "buy", "POST /buy", 60, 2_000_000);
    buy.failures = [(Failure::Status, 7), (Failure::Timeout, 2)].into();
    buy.first_wrong = [(Failure::Status, NASTY.into()), (Failure::Timeout, "timed out".into())].into();
    buy.statuses = [(200, 51), (500, 7)].into();
    let mut series = Series::default();
    for at in (0..30u64).filter(|at| !(15..20).contains(at)) {
        let waited_ns = if at == 20 { 500_000_000 } else { 0 };
        (0..12).for_each(|number| {
            series.record(at * INTERVAL_NS + number, waited_ns + 200_000 * (number + 1), number == 11)
        });
    }
    let mut outcome = Outcome {
        format: touchstone_load::outcome::FORMAT,
        version: "0.0.0".into(),
        ended_at: "2026-01-02T03:04:05Z".into(),
        scenario: Scenario::parse(SCENARIO, "shop.toml").expect("it is a scenario"),
        plan_digest: 7,
        is_closed: false,
        users: 64,
        connections_most: 64,
        engine: "own, HTTP/1.1".into(),
        shards: vec![Shard { number: 2, of: 3 }],
        stopped: Some(2.5),
        phases: vec![
            phase("warm-up", 0.0, 1.0, false, (100.0, 100.0)),
            phase("load", 1.0, 1.5, true, (100.0, 200.0)),
            phase(SETUP, 3.0, 0.0, false, (0.0, 0.0)),
        ],
        rows: vec![
            row("warm-up", "list", "GET /list", 100, 900_000),
            row("load", "list", "GET /list", 240, 900_000),
            buy,
            row(SETUP, "register", "GET /register", 64, 4_000_000),
        ],
        series,
        connections: ConnectionsOutcome { made: 64, closed_idle: 3, resent: 1 },
        watches: Vec::new(),
        due: 400,
        unsent: 0,
        threads: vec![Thread { busy_share: 0.91, processor: Some(1) }],
        machines: vec![Machine {
            others_busy: 0.5,
            steal_share: 0.002,
            cpu_pressure: Some(0.07),
            service: None,
        }],
        doubts: Vec::new(),
    };
    outcome.doubt();
    outcome
}

fn phase(name: &str, begins: f64, seconds: f64, is_counted: bool, rate: (f64, f64)) -> PhaseOutcome {
    PhaseOutcome { name: name.into(), begins, seconds, is_counted, rate, users: (0, 0) }
}

/// A search from 100 to 500 that holds 380, with one spoilt step.
#[allow(dead_code)]
pub fn searched() -> Searched {
    let outcome = outcome();
    let limits = "p99 < 50ms".parse().expect("it is a limit");
    let mut searched = Searched::new(&outcome.scenario, &limits);
    searched.scenario.capacity.from = 100.0;
    (searched.version, searched.ended_at) = ("0.0.0".into(), "2026-01-02T03:04:05Z".into());
    let rates = [
        (100.0, true),
        (200.0, false),
        (200.0, true),
        (200.0, true),
        (400.0, false),
        (400.0, false),
        (283.0, true),
        (336.0, true),
    ];
    let later = [(367.0, true), (383.0, false), (383.0, false), (383.0, false), (367.0, true)];
    let all = rates.iter().chain(&later);
    searched.steps = all
        .enumerate()
        .map(|(at, (rate, held))| Step {
            rate: *rate,
            is_confirmation: at == 12,
            held: *held,
            requests_a_second: rate * 0.99,
            p50_ns: 2_000_000,
            p99_ns: if *held { 30_000_000 } else { 90_000_000 },
            failed_share: 0.0,
            why: (!held).then(|| "p99 < 50ms: 90.0 ms".into()),
            doubts: Vec::new(),
        })
        .collect();
    searched.found = Some(Found::Holds { at: 367.0, not_at: Some(383.0) });
    searched
}
