//! Streams of events and what they take of the service's memory, in words.

use super::{count, duration};
use crate::memory::{Memory, ServiceMemory};
use crate::outcome::{Outcome, RowOutcome, SETUP, WatchOutcome};
use touchstone::report::format::bytes;

/// A paragraph for each watch, with a sentence for each kind of end that its streams came to.
pub(super) fn streams(outcome: &Outcome) -> Vec<String> {
    let seconds = outcome.phases.iter().map(|phase| phase.seconds).sum::<f64>();
    outcome.watches.iter().map(|watch| of_watch(outcome, watch, seconds)).collect()
}

fn of_watch(outcome: &Outcome, watch: &WatchOutcome, seconds: f64) -> String {
    let opening = outcome.rows.iter().find(|row| row.phase == SETUP && row.request == watch.watch);
    let mut text = format!(
        "Streams, {}: {} asked for, {} opened, {} refused{}, {} broke, {} open at the end; {} events, {} a second.",
        watch.label,
        count(watch.asked as f64),
        count(watch.opened as f64),
        count(watch.refused() as f64),
        opening.map_or(String::new(), took),
        count(watch.broke() as f64),
        count(watch.held() as f64),
        count(watch.events as f64),
        count((watch.events as f64 / seconds.max(1e-9)).round())
    );
    if watch.held() < watch.asked {
        text += " THE SERVICE DID NOT HOLD ALL OF THEM.";
    }
    for (failure, times) in &watch.broken {
        let first = watch.first_broken.get(failure).map_or("", String::as_str);
        text += &format!(" Broke: {}, the first with: {first}.", count(*times as f64));
    }
    text
}

/// How long it took to open them or to refuse them.
fn took(row: &RowOutcome) -> String {
    let at = |quantile| duration(row.response.quantile_ns(quantile) as f64);
    format!(" (either within P50 {}, P99 {})", at(0.5), at(0.99))
}

/// A sentence for each process whose memory was looked at.
pub(super) fn memories(outcome: &Outcome) -> Vec<String> {
    let all = outcome.machines.iter().filter_map(|machine| machine.service.as_ref());
    all.map(|service| format!("Memory of the service: {}.", memory(outcome, service))).collect()
}

/// The memory of a process, and what a stream takes of it where one run opened them all.
pub(crate) fn memory(outcome: &Outcome, service: &ServiceMemory) -> String {
    let said = |memory: Option<Memory>| {
        memory.map_or("not there".to_owned(), |memory| {
            format!("{} (RSS {})", bytes(memory.pss_bytes as f64), bytes(memory.rss_bytes as f64))
        })
    };
    let most = bytes(service.rss_bytes_most as f64);
    let opened: u64 = outcome.watches.iter().map(|watch| watch.opened).sum();
    let each = service.grown_bytes().filter(|_| opened > 0 && outcome.machines.len() == 1);
    if outcome.watches.is_empty() {
        return format!(
            "process {}: PSS {} before the first phase, RSS {most} at the most",
            service.process,
            said(service.open)
        );
    }
    format!(
        "process {}: PSS {} before streams were opened, {} with them open{}; RSS {most} at the most",
        service.process,
        said(service.before),
        said(service.open),
        each.map_or(String::new(), |grown| format!(
            ", so {} bytes a stream",
            count((grown as f64 / opened as f64).round())
        ))
    )
}
