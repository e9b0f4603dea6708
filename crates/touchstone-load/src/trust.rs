//! Whether a result can be believed: what the generator and the machine did meanwhile, held against the generator's own limits.

use crate::memory::ServiceMemory;
use crate::scenario::{Load, Pacing};
use serde::{Deserialize, Serialize};
use std::fs;

/// Beyond this share of its processor, a thread of the generator may be what limits the rate.
pub const BUSY_SHARE_MAX: f64 = 0.8;
/// Beyond this share of the service's median, the generator's own lateness is a part of the latencies.
pub const LAG_SHARE_MAX: f64 = 0.1;

/// What a thread of the generator did.
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq)]
pub struct Thread {
    /// The share of the time in which it had a processor.
    pub busy_share: f64,
    /// The processor it was kept on.
    pub processor: Option<usize>,
}

/// What the machine did meanwhile.
#[derive(Clone, Copy, Debug, Default, Deserialize, Serialize, PartialEq)]
pub struct Machine {
    /// Processors that other programs kept busy, the service on this machine included.
    pub others_busy: f64,
    /// The share of the time that the host took from this machine's processors.
    pub steal_share: f64,
    /// The share of the time in which some program waited for a processor; none where the kernel does not say.
    pub cpu_pressure: Option<f64>,
    /// The memory of the service's process, where it is on this machine and was named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service: Option<ServiceMemory>,
}

/// Why a result cannot be believed.
///
/// `busy_most` is the largest share of its processor that a thread took, `lag_ns` the 99th percentile of the send lag, `service_ns` the
/// median of the service. What `load` asks of the generator decides which remedies are left.
pub fn doubts(busy_most: f64, lag_ns: f64, service_ns: f64, load: &Load) -> Vec<String> {
    let mut doubts = Vec::new();
    if busy_most > BUSY_SHARE_MAX {
        doubts.push(format!(
            "a thread of the generator took {:.0} % of its processor, and beyond {:.0} % it may be what limits the rate: {}",
            busy_most * 100.0,
            BUSY_SHARE_MAX * 100.0,
            where_busy(load)
        ));
    }
    if service_ns > 0.0 && lag_ns > LAG_SHARE_MAX * service_ns {
        doubts.push(format!(
            "the generator sent late: 99 % within {:.0} µs, which is more than a tenth of the service's median of {:.0} µs: {}",
            lag_ns / 1e3,
            service_ns / 1e3,
            where_late(load)
        ));
    }
    doubts
}

/// A doubt without its figures and its remedy: `the generator sent late`.
pub fn in_short(doubt: &str) -> &str {
    doubt.split([':', ',']).next().unwrap_or(doubt)
}

/// Whether two doubts are the same but for their figures.
pub fn is_same(one: &str, other: &str) -> bool {
    let letters =
        |doubt| in_short(doubt).chars().filter(|letter| !letter.is_ascii_digit()).collect::<String>();
    letters(one) == letters(other)
}

/// A loop that waits for each start takes a whole processor by itself, whatever is offered.
fn where_busy(load: &Load) -> &'static str {
    let shares_processors = !load.processors.is_empty() && load.processors.len() <= usize::from(load.threads);
    match load.pacing {
        Pacing::Spin => "wait for starts in another way (--pacing hybrid)",
        _ if shares_processors => "offer less, or give it more threads and a processor for each of them",
        _ => "give it more threads (--threads) with a processor each, or offer less",
    }
}

/// What makes a generator late is mostly who else wants its processor: another way of waiting helps where nobody does.
fn where_late(load: &Load) -> String {
    let alone = match load.processors.as_slice() {
        [] => "keep it on a processor that nothing else uses (--processors)".to_owned(),
        [one] => format!("let nothing else use processor {one}, on which it is kept"),
        _ => "let nothing else use the processors on which it is kept".to_owned(),
    };
    match load.pacing {
        Pacing::Sleep => format!("{alone}; where nothing else does, --pacing hybrid is more punctual"),
        Pacing::Hybrid | Pacing::Spin => alone,
    }
}

/// Counters of the machine, of which two make a [`Machine`].
#[derive(Clone, Copy, Debug)]
pub struct Counters {
    busy_ticks: f64,
    steal_ticks: f64,
    all_ticks: f64,
    pressure_us: Option<f64>,
    processors: f64,
}

impl Counters {
    /// Now. A machine that does not say gives 0.
    pub fn now() -> Counters {
        Counters::of(
            &fs::read_to_string("/proc/stat").unwrap_or_default(),
            &fs::read_to_string("/proc/pressure/cpu").unwrap_or_default(),
        )
    }

    fn of(stat: &str, pressures: &str) -> Counters {
        let all = stat.lines().next().unwrap_or_default();
        let ticks: Vec<f64> = all.split_whitespace().skip(1).filter_map(|word| word.parse().ok()).collect();
        let at = |place: usize| ticks.get(place).copied().unwrap_or_default();
        // user, nice, system, idle, iowait, irq, softirq, steal; guests are a part of user.
        let all_ticks = (0..8).map(at).sum();
        Counters {
            busy_ticks: at(0) + at(1) + at(2) + at(5) + at(6),
            steal_ticks: at(7),
            all_ticks,
            pressure_us: pressure(pressures),
            // Ticks are those of the machine, however few of its processors this process may use.
            processors: stat.lines().skip(1).filter(|line| line.starts_with("cpu")).count().max(1) as f64,
        }
    }

    /// What the machine did since. `own_busy` is how many processors the generator itself kept busy.
    pub fn since(&self, before: &Counters, seconds: f64, own_busy: f64) -> Machine {
        let all = (self.all_ticks - before.all_ticks).max(1.0);
        let busy = (self.busy_ticks - before.busy_ticks) / all * self.processors;
        let pressure =
            self.pressure_us.zip(before.pressure_us).map(|(now, before)| (now - before) / 1e6 / seconds);
        Machine {
            others_busy: (busy - own_busy).max(0.0),
            steal_share: (self.steal_ticks - before.steal_ticks) / all,
            cpu_pressure: pressure,
            service: None,
        }
    }
}

/// The total of the line `some`, in microseconds.
fn pressure(text: &str) -> Option<f64> {
    let some = text.lines().find(|line| line.starts_with("some"))?;
    some.split_whitespace().find_map(|word| word.strip_prefix("total=")?.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_generator_within_its_limits_is_believed() {
        assert_eq!(doubts(0.8, 99.0, 1_000.0, &Load::default()), Vec::<String>::new());
        assert_eq!(doubts(0.1, 0.0, 0.0, &Load::default()), Vec::<String>::new());
    }

    #[test]
    fn a_generator_beyond_its_limits_is_not() {
        assert_eq!(doubts(0.81, 99.0, 1_000.0, &Load::default()).len(), 1);
        assert_eq!(doubts(0.1, 101.0, 1_000.0, &Load::default()).len(), 1);
        assert_eq!(doubts(1.0, 1e6, 1e3, &Load::default()).len(), 2);
    }

    #[test]
    fn a_doubt_in_short_is_what_is_doubted() {
        let [busy, late] = &doubts(0.9, 1e6, 1e3, &Load::default())[..] else { panic!("two") };
        let others = doubts(0.95, 2e6, 1e3, &Load::default());
        assert_eq!(in_short(busy), "a thread of the generator took 90 % of its processor");
        assert_eq!(in_short(late), "the generator sent late");
        assert!(is_same(busy, &others[0]) && is_same(late, &others[1]) && !is_same(busy, late));
    }

    /// A user was told to use another pacing, with no option for it, and one of the pacings makes a generator busy by itself.
    #[test]
    fn a_remedy_is_an_option_that_can_help() {
        let remedy = |busy, lag_ns, load: &Load| doubts(busy, lag_ns, 1e3, load).join("; ");
        let usual = Load::default();
        assert!(
            remedy(0.1, 1e6, &usual).contains("(--processors); where nothing else does, --pacing hybrid")
        );
        assert!(remedy(0.9, 0.0, &usual).contains("(--threads)"));
        let kept = Load { processors: vec![1], pacing: Pacing::Hybrid, ..usual.clone() };
        assert!(remedy(0.1, 1e6, &kept).ends_with("let nothing else use processor 1, on which it is kept"));
        let spinning = Load { pacing: Pacing::Spin, ..usual };
        assert!(remedy(0.99, 0.0, &spinning).ends_with("(--pacing hybrid)"));
        assert!(!remedy(0.1, 1e6, &spinning).contains("--pacing"));
    }

    /// A generator that was kept on one processor of four told a quarter of what others did.
    #[test]
    fn others_are_told_of_all_processors_of_the_machine() {
        let stat = |busy: u64, idle: u64| {
            let each = |number: u64| format!("cpu{number} {} 0 0 {} 0 0 0 0 0 0\n", busy / 4, idle / 4);
            format!("cpu  {busy} 0 0 {idle} 0 0 0 0 0 0\n")
                + &(0..4).map(each).collect::<String>()
                + "intr 1\n"
        };
        let (before, now) = (Counters::of(&stat(0, 0), ""), Counters::of(&stat(300, 100), ""));
        let machine = now.since(&before, 1.0, 0.5);
        assert!((machine.others_busy - 2.5).abs() < 1e-9, "{machine:?}");
    }

    #[test]
    fn the_kernels_pressure_is_read() {
        assert_eq!(
            pressure("some avg10=1.00 avg60=0.50 avg300=0.10 total=12345\nfull avg10=0.00 total=7"),
            Some(12345.0)
        );
        assert_eq!(pressure(""), None);
    }
}
