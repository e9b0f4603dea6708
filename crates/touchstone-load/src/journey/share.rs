//! For how much a request of a closed loop counts in a phase: the share of its time that lies within it.
//!
//! A slow request that the phase begins or ends in the middle of is neither left out nor counted whole. So the sum of the shares over the
//! phase's seconds is the rate at which the service answered, however unequal its users are, and however long they had asked before.

use super::{Journey, Stage};
use crate::plan::Window;
use crate::recorder::WHOLE;

impl Journey<'_> {
    /// Counts a user's request, which ended at a moment, in the phases that it lies in. `whole` is what all of it counts for.
    #[inline]
    pub(super) fn count_within(&mut self, user: usize, request: usize, ended_ns: u64, whole: u64) {
        if !self.plan.is_closed || self.stage == Stage::Setup {
            return;
        }
        let at = self.users[user].at;
        // A user that joins a loop while it runs does the setup then, which is a phase of its own.
        let Some(phase) = self.plan.phases.get(at.phase) else { return };
        if whole == WHOLE && phase.begins_ns <= at.due_ns && ended_ns < phase.ends_ns {
            self.recorder.row(at.phase, request).within += WHOLE;
            return;
        }
        for (number, phase) in self.plan.phases.iter().enumerate() {
            let share = share_of(phase, at.due_ns, ended_ns, whole);
            if share > 0 {
                self.recorder.row(number, request).within += share;
            }
        }
    }
}

/// Which part of `whole` a request counts for in a phase.
fn share_of(phase: &Window, due_ns: u64, ended_ns: u64, whole: u64) -> u64 {
    if ended_ns <= due_ns {
        // One that took no time is in the phase that it was due in.
        return if (phase.begins_ns..phase.ends_ns).contains(&due_ns) { whole } else { 0 };
    }
    let within_ns = ended_ns.min(phase.ends_ns).saturating_sub(due_ns.max(phase.begins_ns));
    (within_ns as f64 / (ended_ns - due_ns) as f64 * whole as f64).round() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_counts_for_the_share_of_its_time_that_lies_within_a_phase() {
        let phase = Window {
            name: "load".into(),
            begins_ns: 100,
            ends_ns: 200,
            is_counted: true,
            rate: (0.0, 0.0),
            users: (1, 1),
        };
        for (due_ns, ended_ns, expected) in [
            (100, 200, WHOLE),
            (50, 150, WHOLE / 2),
            (175, 275, WHOLE / 4),
            (0, 400, WHOLE / 4),
            (0, 100, 0),
            (200, 300, 0),
            (100, 100, WHOLE),
            (200, 200, 0),
        ] {
            let share = share_of(&phase, due_ns, ended_ns, WHOLE);
            assert_eq!(share, expected, "from {due_ns} to {ended_ns}");
        }
        assert_eq!(share_of(&phase, 50, 150, WHOLE / 2), WHOLE / 4);
    }
}
