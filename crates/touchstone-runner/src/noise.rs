//! How much the machine did for others while something was measured: pressure and steal, as shares of the time.
//!
//! It says nothing of who the others were. What the system does not expose is absent, never zero.

use serde::{Deserialize, Serialize};
use std::fs;
use std::time::Instant;

/// The machine's own noise over a stretch of time. Shares are 0 to 1; none where the system does not tell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct NoiseReading {
    /// Share of the time in which some task waited for a processor.
    pub cpu_pressure: Option<f64>,
    /// Share in which some task waited for input or output.
    pub io_pressure: Option<f64>,
    /// Share of processor time that the host took for others.
    pub steal: Option<f64>,
}

/// Listens to the machine from [`NoiseMeter::start`] to [`NoiseMeter::stop`]; costs nothing in between.
#[derive(Debug)]
pub struct NoiseMeter {
    started: Instant,
    counters: Counters,
}

impl NoiseMeter {
    /// Begins to listen.
    pub fn start() -> NoiseMeter {
        NoiseMeter { counters: Counters::read(), started: Instant::now() }
    }

    /// Says what was heard since the start.
    pub fn stop(self) -> NoiseReading {
        let elapsed_us = self.started.elapsed().as_micros() as f64;
        self.counters.until(&Counters::read(), elapsed_us)
    }
}

/// What the system has counted since it started.
#[derive(Clone, Debug, Default)]
struct Counters {
    cpu_waiting_us: Option<u64>,
    io_waiting_us: Option<u64>,
    ticks: Option<Ticks>,
}

impl Counters {
    fn read() -> Counters {
        // Where pressure is compiled in but switched off, the file is there and reading it fails.
        let pressure =
            |what: &str| some_total_us(&fs::read_to_string(format!("/proc/pressure/{what}")).ok()?);
        Counters {
            cpu_waiting_us: pressure("cpu"),
            io_waiting_us: pressure("io"),
            ticks: fs::read_to_string("/proc/stat").ok().and_then(|text| Ticks::parse(&text)),
        }
    }

    fn until(&self, later: &Counters, elapsed_us: f64) -> NoiseReading {
        let waited = |before: Option<u64>, after: Option<u64>| {
            (elapsed_us > 0.0).then_some(())?;
            Some((after?.saturating_sub(before?) as f64 / elapsed_us).min(1.0))
        };
        NoiseReading {
            cpu_pressure: waited(self.cpu_waiting_us, later.cpu_waiting_us),
            io_pressure: waited(self.io_waiting_us, later.io_waiting_us),
            steal: self.ticks.zip(later.ticks).and_then(|(before, after)| before.steal_until(&after)),
        }
    }
}

/// Processor time of the whole machine, in the kernel's ticks.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Ticks {
    all: u64,
    stolen: u64,
}

impl Ticks {
    /// Reads the first line of `/proc/stat`. Guest time is left out: it is part of user time already.
    fn parse(stat: &str) -> Option<Ticks> {
        let line = stat.lines().find_map(|line| line.strip_prefix("cpu "))?;
        let fields: Vec<u64> = line.split_whitespace().map_while(|field| field.parse().ok()).collect();
        // user nice system idle iowait irq softirq steal
        let counted = fields.get(..8)?;
        Some(Ticks { all: counted.iter().sum(), stolen: counted[7] })
    }

    /// None when no tick went by, so that there is nothing to take a share of.
    fn steal_until(&self, later: &Ticks) -> Option<f64> {
        let all = later.all.saturating_sub(self.all);
        (all > 0).then(|| (later.stolen.saturating_sub(self.stolen) as f64 / all as f64).min(1.0))
    }
}

/// Microseconds in which some task waited, from a file of `/proc/pressure`.
fn some_total_us(pressure: &str) -> Option<u64> {
    let line = pressure.lines().find_map(|line| line.strip_prefix("some "))?;
    line.split_whitespace().find_map(|field| field.strip_prefix("total="))?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pressure_is_the_total_of_the_some_line() {
        let text = "some avg10=96.68 avg60=63.49 avg300=20.85 total=84523847\n\
                    full avg10=0.00 avg60=0.00 avg300=0.00 total=0\n";
        assert_eq!(some_total_us(text), Some(84_523_847));
        assert_eq!(some_total_us("full avg10=0.00 avg60=0.00 avg300=0.00 total=7\n"), None);
        assert_eq!(some_total_us("some avg10=0.00 total=soon"), None);
        assert_eq!(some_total_us(""), None);
    }

    #[test]
    fn guest_time_is_not_counted_twice() {
        let text = "cpu  31118 0 7883 447277 1137 0 149 28 5000 0\ncpu0 13755 0 3354 226491 135 0 17 9 0 0\n";
        assert_eq!(Ticks::parse(text), Some(Ticks { all: 487_592, stolen: 28 }));
    }

    #[test]
    fn a_kernel_without_steal_time_tells_none() {
        assert_eq!(Ticks::parse("cpu  31118 0 7883 447277\n"), None);
        assert_eq!(Ticks::parse("intr 1 2 3\n"), None);
        assert_eq!(Ticks::parse(""), None);
    }

    #[test]
    fn shares_are_taken_over_the_elapsed_time() {
        let before = Counters {
            cpu_waiting_us: Some(1_000),
            io_waiting_us: None,
            ticks: Some(Ticks { all: 100, stolen: 10 }),
        };
        let after = Counters {
            cpu_waiting_us: Some(251_000),
            io_waiting_us: Some(5),
            ticks: Some(Ticks { all: 300, stolen: 20 }),
        };
        let reading = before.until(&after, 1_000_000.0);
        assert_eq!(reading, NoiseReading { cpu_pressure: Some(0.25), io_pressure: None, steal: Some(0.05) });
    }

    #[test]
    fn counters_that_step_back_or_run_ahead_stay_shares() {
        let early = Counters { cpu_waiting_us: Some(9), io_waiting_us: Some(0), ticks: None };
        let late = Counters { cpu_waiting_us: Some(3), io_waiting_us: Some(900), ticks: None };
        let reading = early.until(&late, 100.0);
        assert_eq!(reading, NoiseReading { cpu_pressure: Some(0.0), io_pressure: Some(1.0), steal: None });
        assert_eq!(early.until(&late, 0.0), NoiseReading::default());
        let still = Ticks { all: 5, stolen: 1 };
        assert_eq!(still.steal_until(&still), None);
    }

    #[test]
    fn a_reading_of_this_machine_is_made_of_shares() {
        let reading = NoiseMeter::start().stop();
        for share in [reading.cpu_pressure, reading.io_pressure, reading.steal].into_iter().flatten() {
            assert!((0.0..=1.0).contains(&share), "{reading:?}");
        }
    }
}
