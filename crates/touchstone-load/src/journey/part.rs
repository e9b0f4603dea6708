//! When a user takes part in a closed loop whose phases have more users or fewer.

use crate::plan::Plan;

/// From when on, not before a moment, a user takes part in a closed loop. None, if it does not any more.
pub(super) fn takes_part_from(plan: &Plan, number: u64, from_ns: u64) -> Option<u64> {
    let here = plan.phases.iter().skip_while(|phase| phase.ends_ns <= from_ns);
    for phase in here {
        let from_ns = from_ns.max(phase.begins_ns);
        let (first, last) = (f64::from(phase.users.0), f64::from(phase.users.1));
        let length_ns = (phase.ends_ns - phase.begins_ns) as f64;
        let users_at = |at_ns: u64| first + (last - first) * ((at_ns - phase.begins_ns) as f64 / length_ns);
        if (number as f64) < users_at(from_ns) {
            return Some(from_ns);
        }
        if (number as f64) < last && last > first {
            let share = (number as f64 - first + f64::EPSILON) / (last - first);
            // A nanosecond later than where the line is crossed.
            return Some(
                (phase.begins_ns + (share * length_ns) as u64 + 1).min(phase.ends_ns - 1).max(from_ns),
            );
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::Scenario;
    use crate::schedule::Share;

    /// A loop that grows from 2 users to 6 in a second, keeps 3 for one, and then 5.
    fn plan() -> Plan {
        let text = "name = \"t\"\nhost = \"http://127.0.0.1:1\"\n[[request]]\nname = \"a\"\npath = \"/\"\n\
                    [[phase]]\nlength = \"1s\"\nusers = 2\nusers_to = 6\n[[phase]]\nlength = \"1s\"\nusers = 3\n\
                    [[phase]]\nlength = \"1s\"\nusers = 5\n";
        let scenario = Scenario::parse(text, "t.toml").expect("it is one");
        Plan::new(scenario, Share::WHOLE).expect("nothing is wrong with it")
    }

    #[test]
    fn users_take_part_when_the_phases_say_so() {
        const S: u64 = 1_000_000_000;
        let plan = plan();
        for (number, from_ns, expected) in [
            (0, 0, Some(0)),
            (1, S / 2, Some(S / 2)),
            // The third is the first to join, at once; the last after three quarters.
            (2, 0, Some(1)),
            (5, 0, Some(S * 3 / 4 + 1)),
            (5, S, None),
            (3, S, Some(2 * S)),
            (2, S, Some(S)),
            (0, 3 * S, None),
        ] {
            assert_eq!(takes_part_from(&plan, number, from_ns), expected, "user {number} from {from_ns}");
        }
    }
}
