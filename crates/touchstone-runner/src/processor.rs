//! One processor for lab and subjects, where a case asks for no more.
//!
//! On an idle machine a subject that wakes on a processor of its own finds it asleep, slow or lent to others, and
//! slices of milliseconds are over before it is awake: medians differed by a third, and from launch to launch by
//! several percent. On one processor, which lab and subjects by turns keep busy, they differ by one.
//!
//! There they are scheduled as batches: who is woken waits until the other has gone to rest. Woken at once, as else,
//! it would cut the other off on its way there, which then took its last steps in the middle of somebody's slice.

use rand::seq::IndexedRandom;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use crate::random::Stream;

/// This thread, and every process it starts, on one processor; dropped, it may use all that it might before.
#[derive(Debug)]
pub(crate) struct Confined {
    before: CpuSet,
    processor: usize,
    /// Whether it is scheduled otherwise than before: not where the user chose a policy of their own.
    batched: bool,
}

impl Confined {
    /// Confines this thread to one of the processors it may use, chosen at random. None where the system refuses.
    pub fn to_any(random: &mut Stream) -> Option<Confined> {
        let before = sched_getaffinity(None).ok()?;
        let allowed: Vec<usize> =
            (0..CpuSet::MAX_CPU).filter(|processor| before.is_set(*processor)).collect();
        let processor = *allowed.choose(random)?;
        let mut one = CpuSet::new();
        one.set(processor);
        sched_setaffinity(None, &one).ok()?;
        let batched = policy() == libc::SCHED_OTHER;
        if batched {
            schedule(libc::SCHED_BATCH);
        }
        Some(Confined { before, processor, batched })
    }

    /// Which one, as the system numbers them.
    pub fn processor(&self) -> usize {
        self.processor
    }
}

impl Drop for Confined {
    fn drop(&mut self) {
        if self.batched {
            schedule(libc::SCHED_OTHER);
        }
        // It was allowed before, and a drop has nobody to tell.
        let _ = sched_setaffinity(None, &self.before);
    }
}

/// How this thread is scheduled.
fn policy() -> i32 {
    // SAFETY: asks about this thread and touches no memory.
    unsafe { libc::sched_getscheduler(0) }
}

/// Schedules this thread, and every process it starts from now on, by a policy that needs no privilege.
fn schedule(policy: i32) {
    let parameters = libc::sched_param { sched_priority: 0 };
    // SAFETY: `parameters` is valid for the call to read. Refused, things stay as they are, which is no error.
    unsafe { libc::sched_setscheduler(0, policy, &parameters) };
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::stream;
    use std::process::Command;

    fn allowed() -> u32 {
        sched_getaffinity(None).unwrap().count()
    }

    #[test]
    fn a_confined_thread_and_what_it_starts_have_one_processor_and_get_theirs_back() {
        let before = (allowed(), policy());
        let confined = Confined::to_any(&mut stream(1, "test")).expect("nobody forbids it");
        assert_eq!(allowed(), 1);
        assert_eq!(
            policy() == libc::SCHED_BATCH,
            before.1 == libc::SCHED_OTHER,
            "unless the user chose another"
        );
        assert!(sched_getaffinity(None).unwrap().is_set(confined.processor()));
        let child = Command::new("nproc").env_remove("OMP_NUM_THREADS").output().unwrap();
        assert_eq!(String::from_utf8_lossy(&child.stdout).trim(), "1");
        drop(confined);
        assert_eq!((allowed(), policy()), before);
    }

    #[test]
    fn a_policy_that_the_user_chose_stays() {
        schedule(libc::SCHED_IDLE);
        let confined = Confined::to_any(&mut stream(1, "test")).unwrap();
        assert_eq!((allowed(), policy()), (1, libc::SCHED_IDLE));
        drop(confined);
        assert_eq!(policy(), libc::SCHED_IDLE, "this thread ends with the test");
    }

    #[test]
    fn no_processor_is_always_the_one() {
        let mut random = stream(1, "test");
        let mut chosen: Vec<usize> =
            (0..64).map(|_| Confined::to_any(&mut random).unwrap().processor()).collect();
        chosen.sort_unstable();
        chosen.dedup();
        assert!(chosen.len() as u32 >= allowed().min(2), "not always the same: {chosen:?}");
    }
}
