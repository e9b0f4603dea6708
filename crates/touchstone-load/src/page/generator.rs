//! What the generator and its machines did meanwhile: what a result is believed by.

use crate::latency::Latencies;
use crate::outcome::Outcome;
use crate::report::{count, duration};
use crate::trust::{BUSY_SHARE_MAX, LAG_SHARE_MAX, Machine};
use touchstone::report::format::bytes;

/// Threads and machines that are told one by one at the most; of more, those that were busiest.
const TOLD_MOST: usize = 16;

/// Facts by name.
pub(super) fn facts(outcome: &Outcome) -> Vec<(&'static str, String)> {
    let all = outcome.total();
    let mut facts = vec![
        ("Threads", threads(outcome)),
        (
            "Sent late by",
            format!(
                "{}; where P99 is more than {:.0} % of the service's median, {}, the result is invalid",
                quantiles(&all.lag),
                LAG_SHARE_MAX * 100.0,
                duration(all.service.quantile_ns(0.5) as f64)
            ),
        ),
        ("Service time", format!("{}, from the sending", quantiles(&all.service))),
        ("Pacing", format!("{:?}", outcome.scenario.load.pacing).to_lowercase()),
        (
            "Connections",
            format!(
                "{} made after the setup, of {} at the most; {} closed by the service while idle, {} requests sent once more because of it",
                count(outcome.connections.made as f64),
                count(f64::from(outcome.connections_most)),
                count(outcome.connections.closed_idle as f64),
                count(outcome.connections.resent as f64)
            ),
        ),
        (
            "Bytes",
            format!("{} sent, {} received", bytes(all.sent_bytes as f64), bytes(all.received_bytes as f64)),
        ),
    ];
    if !outcome.is_closed {
        let unsent = format!(
            "{} due, {} not begun by the end",
            count(outcome.due as f64),
            count(outcome.unsent as f64)
        );
        facts.push(("Starts", unsent));
    }
    let name = if outcome.machines.len() == 1 { "Machine" } else { "Machines" };
    let mut machines: Vec<&Machine> = outcome.machines.iter().collect();
    machines.sort_by(|one, other| other.others_busy.total_cmp(&one.others_busy));
    facts.extend(machines.iter().take(TOLD_MOST).map(|each| (name, machine(each))));
    facts
}

fn threads(outcome: &Outcome) -> String {
    let mut threads: Vec<_> = outcome.threads.iter().collect();
    threads.sort_by(|one, other| other.busy_share.total_cmp(&one.busy_share));
    let told = threads.iter().take(TOLD_MOST).map(|thread| {
        let place =
            thread.processor.map_or("a processor".to_owned(), |processor| format!("processor {processor}"));
        format!("{:.0} % of {place}", thread.busy_share * 100.0)
    });
    let told: Vec<String> = told.collect();
    let more = match threads.len().saturating_sub(TOLD_MOST) {
        0 => String::new(),
        more => format!(" and {more} that took less"),
    };
    format!(
        "took {}{more}; beyond {:.0} % of one the result is invalid",
        told.join(", "),
        BUSY_SHARE_MAX * 100.0
    )
}

fn machine(machine: &Machine) -> String {
    let pressure = machine.cpu_pressure.map_or(String::new(), |share| {
        format!("; some program waited for a processor in {:.0} % of the time", share * 100.0)
    });
    format!(
        "other programs kept {:.2} processors busy, the service among them if it is here; its host took {:.1} % of the processors' \
         time{pressure}",
        machine.others_busy,
        machine.steal_share * 100.0
    )
}

fn quantiles(latencies: &Latencies) -> String {
    let at = |quantile| duration(latencies.quantile_ns(quantile) as f64);
    format!("P50 {}, P99 {}, at the most {}", at(0.5), at(0.99), duration(latencies.max_ns() as f64))
}
