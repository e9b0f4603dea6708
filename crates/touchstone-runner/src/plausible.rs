//! What no honest sample can say: a kit reads its own clock, and the lab compares it with its own.

use touchstone_protocol::{Lane, Sample, Verb};

/// What the clock of a process's own time may be off by, beside a tenth: its readings lie outside those of the other clock, and
/// some runtimes read it in ticks of 10 ms.
const PROCESSOR_SLACK_NS: u64 = 30_000_000;

/// Why a sample cannot be true, for a lab that waited `waited_ns` for it on a machine of so many processors.
pub(crate) fn impossible(sample: &Sample, lanes: &[Lane], waited_ns: u64, processors: u64) -> Option<String> {
    let did_something = sample.lanes.iter().any(|lane| lane.answers > 0);
    if sample.wall_ns == 0 && did_something {
        return Some("it says that its operations took no time".into());
    }
    let longest = sample.lanes.iter().map(|lane| lane.wall_ns).fold(sample.wall_ns, u64::max);
    if longest > waited_ns {
        let (longest, waited) = (ms(longest), ms(waited_ns));
        return Some(format!("it says that a slice took {longest}, for which the lab waited {waited}"));
    }
    if let Some(why) = ended_early(sample, lanes) {
        return Some(why);
    }
    // Of transactions with subscribers a stretch is timed, and the processor's time is that of all.
    let is_whole = lanes.iter().all(|lane| lane.verb != Verb::Deliver);
    let most = (sample.wall_ns + sample.wall_ns / 10).saturating_mul(processors) + PROCESSOR_SLACK_NS;
    (is_whole && sample.cpu_ns > most).then(|| {
        let (cpu, wall) = (ms(sample.cpu_ns), ms(sample.wall_ns));
        format!(
            "it says that {cpu} of processor time went by in {wall}, on a machine of {processors} processors"
        )
    })
}

/// A lane by the clock begins transactions until its time is over. One that ends before has not met what comes late, as a checkpoint.
fn ended_early(sample: &Sample, lanes: &[Lane]) -> Option<String> {
    let lasting =
        lanes.iter().zip(&sample.lanes).filter_map(|(lane, said)| Some((lane.lasts_ms?, said.wall_ns)));
    let early = lasting.into_iter().find(|(lasts_ms, took_ns)| *took_ns < lasts_ms.saturating_mul(1_000_000));
    early.map(|(lasts_ms, took_ns)| format!("it says that a lane of {lasts_ms} ms took {}", ms(took_ns)))
}

fn ms(ns: u64) -> String {
    format!("{:.3} ms", ns as f64 / 1e6)
}

/// How many processors the machine has, whatever this thread is confined to.
pub(crate) fn processors() -> u64 {
    // SAFETY: asks for a number and touches no memory.
    let online = unsafe { libc::sysconf(libc::_SC_NPROCESSORS_ONLN) };
    u64::try_from(online).unwrap_or(1).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use touchstone_protocol::{LaneSample, Usage};

    const MS: u64 = 1_000_000;

    fn said(wall_ns: u64, cpu_ns: u64) -> Option<String> {
        let lane = LaneSample { wall_ns, answers: 10, ..LaneSample::default() };
        let sample = Sample { wall_ns, cpu_ns, lanes: vec![lane], usage: Usage::default() };
        impossible(&sample, &[Lane::new(Verb::Get, 0, 10)], 5 * MS, 2)
    }

    #[test]
    fn what_the_lab_waited_for_is_possible() {
        assert_eq!(said(4 * MS, 4 * MS), None);
        assert_eq!(said(4 * MS, 8 * MS), None, "two processors were busy");
        assert_eq!(said(1000, 20 * MS), None, "a clock of ticks");
    }

    #[test]
    fn no_slice_is_longer_than_the_lab_waited() {
        let said = said(6 * MS, MS).unwrap();
        assert_eq!(said, "it says that a slice took 6.000 ms, for which the lab waited 5.000 ms");
    }

    /// Found by an adversary: a driver played 20 ms of 350, and another halved the time that it told; both had a verdict.
    #[test]
    fn no_lane_by_the_clock_ends_before_its_time() {
        let said = |wall_ns: u64| {
            let lane = LaneSample { wall_ns, answers: 10, played: Some(10), ..LaneSample::default() };
            let sample = Sample { wall_ns: 4 * MS, cpu_ns: MS, lanes: vec![lane], usage: Usage::default() };
            let asked = Lane { lasts_ms: Some(3), ..Lane::new(Verb::Mix, 0, 10) };
            impossible(&sample, &[asked], 5 * MS, 2)
        };
        assert_eq!(said(3 * MS), None);
        assert_eq!(said(4 * MS), None, "its last transaction took a while");
        assert_eq!(said(3 * MS - 1_000).unwrap(), "it says that a lane of 3 ms took 2.999 ms");
    }

    #[test]
    fn nothing_is_done_in_no_time() {
        assert_eq!(said(0, 0).unwrap(), "it says that its operations took no time");
    }

    #[test]
    fn no_more_processors_are_busy_than_there_are() {
        let said = said(4 * MS, 50 * MS).unwrap();
        assert!(said.contains("50.000 ms of processor time went by in 4.000 ms"), "{said}");
        assert!(processors() >= 1);
    }
}
