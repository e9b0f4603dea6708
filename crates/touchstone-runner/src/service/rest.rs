//! What a service does while nobody asks it: other arms are being asked then, and its work is at their cost.

use super::processors::{cpu_ns, own_cpu_ns};
use crate::task::children;
use std::time::{Duration, Instant};

/// Shorter rests tell nothing: the system counts processor time in ticks of 10 ms.
const RESTED_LEAST: Duration = Duration::from_millis(300);

/// The rests of a service between windows of its launch.
#[derive(Default)]
pub(super) struct Rest {
    since: Option<Since>,
    rested: Duration,
    cpu_ns: u64,
}

/// A rest that has begun.
struct Since {
    began: Instant,
    /// How the processor time of the service is read, and what it was.
    used_ns: fn(u32) -> u64,
    before_ns: u64,
}

impl Rest {
    /// Nobody asks the service from now on.
    pub(super) fn begin(&mut self, process: u32) {
        // The time of a child is told when it has ended, all at once: of one that served in a window it is no time of a rest.
        let has_children = children(process).is_none_or(|children| children > 0);
        let used_ns = if has_children { own_cpu_ns } else { cpu_ns };
        self.since = Some(Since { began: Instant::now(), used_ns, before_ns: used_ns(process) });
    }

    /// Somebody is about to ask it.
    pub(super) fn end(&mut self, process: u32) {
        if let Some(Since { began, used_ns, before_ns }) = self.since.take() {
            self.rested += began.elapsed();
            self.cpu_ns += used_ns(process).saturating_sub(before_ns);
        }
    }

    /// The share of a processor that it used in all of them; none where they were too short to tell.
    pub(super) fn share(&self) -> Option<f64> {
        (self.rested >= RESTED_LEAST).then(|| self.cpu_ns as f64 / self.rested.as_nanos() as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{BufRead, BufReader, Write};
    use std::process::{Command, Stdio};

    #[test]
    fn short_rests_tell_nothing_and_long_ones_by_their_sum() {
        let half = Duration::from_millis(200);
        let mut rest = Rest { since: None, rested: half, cpu_ns: 100_000_000 };
        assert_eq!(rest.share(), None);
        (rest.rested, rest.cpu_ns) = (half * 2, 100_000_000);
        assert_eq!(rest.share(), Some(0.25));
        rest.end(std::process::id());
        assert_eq!(rest.share(), Some(0.25), "no rest had begun");
    }

    /// The system tells the time of a child when it was waited for: all of it at once, whenever that was.
    #[test]
    fn a_child_that_worked_before_a_rest_is_no_work_of_the_rest() {
        const WORK: &str =
            "(i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done) & read go; wait; echo done; read go";
        let mut service = Command::new("sh")
            .args(["-c", WORK])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("sh can be started");
        while children(service.id()) != Some(1) {
            std::thread::yield_now();
        }
        let mut rest = Rest::default();
        rest.begin(service.id());
        let mut input = service.stdin.take().expect("it is piped");
        input.write_all(b"\n").expect("it reads");
        let mut said = String::new();
        let output = service.stdout.take().expect("it is piped");
        BufReader::new(output).read_line(&mut said).expect("it is text");
        let with_child = cpu_ns(service.id());
        rest.end(service.id());
        drop(input);
        service.wait().expect("it ends");
        assert_eq!(said, "done\n");
        assert!(with_child >= 50_000_000, "{with_child}: the child has worked");
        assert!(rest.cpu_ns * 4 < with_child, "{} of {with_child}", rest.cpu_ns);
    }
}
