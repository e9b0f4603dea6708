//! When iterations start in an open loop. The schedule depends on nothing that a service does: it is a formula, and each start is
//! known before the first request is sent.
//!
//! Let N(t) be how many starts are due by t, the integral of the phases' rates. Evenly spaced, start i is at N⁻¹(i); as a Poisson
//! process, at N⁻¹ of the sum of i exponential steps of mean 1 (the time change of a process of rate 1). A share of a schedule has
//! every n-th start of the whole, so that shares together are the whole, whatever their number.

use crate::scenario::Arrivals;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

const NS: f64 = 1e9;

/// The rate of one phase: it changes evenly from its beginning to its end.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stretch {
    /// How long, in seconds.
    pub seconds: f64,
    /// Starts a second at its beginning.
    pub from: f64,
    /// Starts a second at its end.
    pub to: f64,
}

impl Stretch {
    /// How many starts are due in its first `seconds`.
    fn due_within(&self, seconds: f64) -> f64 {
        let slope = (self.to - self.from) / self.seconds;
        seconds * (self.from + slope * seconds / 2.0)
    }

    /// After how many of its seconds `count` starts are due: the root of `due_within`, in the form that does not lose digits.
    fn after(&self, count: f64) -> f64 {
        let slope = (self.to - self.from) / self.seconds;
        let root = (self.from * self.from + 2.0 * slope * count).max(0.0).sqrt();
        let seconds = if count == 0.0 { 0.0 } else { 2.0 * count / (self.from + root) };
        seconds.min(self.seconds)
    }
}

/// The rates of all phases, and their integral.
#[derive(Clone, Debug)]
pub struct Intensity {
    stretches: Vec<Placed>,
}

#[derive(Clone, Copy, Debug)]
struct Placed {
    stretch: Stretch,
    /// When it begins, in seconds.
    begins: f64,
    /// How many starts are due before it.
    before: f64,
}

impl Intensity {
    /// Of phases, one after the other.
    pub fn new(stretches: &[Stretch]) -> Intensity {
        let mut begins = 0.0;
        let mut before = 0.0;
        let place = |stretch: &Stretch| {
            let placed = Placed { stretch: *stretch, begins, before };
            begins += stretch.seconds;
            before += stretch.due_within(stretch.seconds);
            placed
        };
        Intensity { stretches: stretches.iter().map(place).collect() }
    }

    /// How many starts are due in the first `seconds`.
    pub fn due_by(&self, seconds: f64) -> f64 {
        let within = |placed: &Placed| {
            placed.stretch.due_within((seconds - placed.begins).clamp(0.0, placed.stretch.seconds))
        };
        self.stretches.iter().map(within).sum()
    }

    /// When `count` starts are due, in seconds, and in which phase. None beyond the last.
    pub fn when(&self, count: f64) -> Option<(f64, usize)> {
        let at = self.stretches.partition_point(|placed| placed.before <= count).checked_sub(1)?;
        let placed = &self.stretches[at];
        let count = count - placed.before;
        // A start at the very end would be one too many: N(end) starts are 0 to N(end) - 1.
        let all = placed.stretch.due_within(placed.stretch.seconds);
        let is_within = at + 1 < self.stretches.len() || count < all * (1.0 - 1e-12);
        is_within.then(|| (placed.begins + placed.stretch.after(count), at))
    }
}

/// A start that is due.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Start {
    /// Its number in the whole schedule.
    pub index: u64,
    /// Nanoseconds after the beginning.
    pub due_ns: u64,
    /// The phase it belongs to.
    pub phase: usize,
}

/// Which starts of the whole are meant: every `of`-th, from `number` on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    /// From 0 on.
    pub number: u64,
    /// How many shares there are.
    pub of: u64,
}

impl Share {
    /// All of it.
    pub const WHOLE: Share = Share { number: 0, of: 1 };

    /// A share of this share.
    #[must_use]
    pub fn part(self, number: u64, of: u64) -> Share {
        Share { number: self.number + self.of * number, of: self.of * of }
    }
}

/// The starts of a share, in order.
#[derive(Clone, Debug)]
pub struct Schedule {
    intensity: Intensity,
    steps: Steps,
    share: Share,
    index: u64,
    ended: bool,
}

/// What is between two starts of the whole, counted in starts.
#[derive(Clone, Debug)]
enum Steps {
    Even,
    Exponential { random: Box<Xoshiro256PlusPlus>, sum: f64 },
}

impl Schedule {
    /// A share of the schedule that a seed makes.
    pub fn new(intensity: Intensity, arrivals: Arrivals, seed: u64, share: Share) -> Schedule {
        let steps = match arrivals {
            Arrivals::Constant => Steps::Even,
            Arrivals::Poisson => {
                Steps::Exponential { random: Box::new(Xoshiro256PlusPlus::seed_from_u64(seed)), sum: 0.0 }
            }
        };
        Schedule { intensity, steps, share, index: 0, ended: false }
    }

    /// The next start of the whole.
    fn next_of_all(&mut self) -> Option<Start> {
        let index = self.index;
        self.index += 1;
        let count = match &mut self.steps {
            Steps::Even => index as f64,
            Steps::Exponential { random, sum } => {
                // 1 - x lies in (0, 1], so the logarithm is finite.
                *sum -= (1.0 - random.random::<f64>()).ln();
                *sum
            }
        };
        let (seconds, phase) = self.intensity.when(count)?;
        Some(Start { index, due_ns: (seconds * NS).round() as u64, phase })
    }
}

impl Iterator for Schedule {
    type Item = Start;

    fn next(&mut self) -> Option<Start> {
        if self.ended {
            return None;
        }
        if let Steps::Even = self.steps {
            // Others' starts need not be made to be passed over.
            let behind = (self.share.number + self.share.of - self.index % self.share.of) % self.share.of;
            self.index += behind;
        }
        loop {
            let Some(start) = self.next_of_all() else {
                self.ended = true;
                return None;
            };
            if start.index % self.share.of == self.share.number {
                return Some(start);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn stretches() -> impl Strategy<Value = Vec<Stretch>> {
        let rate = || prop_oneof![Just(0.0), 0.5..2_000.0f64];
        prop::collection::vec((0.1..3.0f64, rate(), rate()), 1..4).prop_map(|all| {
            all.into_iter().map(|(seconds, from, to)| Stretch { seconds, from, to }).collect()
        })
    }

    fn starts(all: &[Stretch], arrivals: Arrivals, share: Share) -> Vec<Start> {
        Schedule::new(Intensity::new(all), arrivals, 7, share).collect()
    }

    #[test]
    fn an_even_rate_starts_at_once_and_then_evenly() {
        let all = starts(
            &[Stretch { seconds: 10.0, from: 2_000.0, to: 2_000.0 }],
            Arrivals::Constant,
            Share::WHOLE,
        );
        assert_eq!(all.len(), 20_000);
        assert!(all.iter().all(|start| start.due_ns == start.index * 500_000));
    }

    #[test]
    fn a_ramp_from_nothing_follows_the_square_root() {
        let all =
            starts(&[Stretch { seconds: 10.0, from: 0.0, to: 100.0 }], Arrivals::Constant, Share::WHOLE);
        assert_eq!(all.len(), 500);
        for start in all {
            let expected = (start.index as f64 / 5.0).sqrt() * 1e9;
            assert!((start.due_ns as f64 - expected).abs() < 2.0, "{start:?}");
        }
    }

    proptest! {
        #[test]
        fn starts_are_where_the_integral_of_the_rates_says(all in stretches()) {
            let intensity = Intensity::new(&all);
            for start in starts(&all, Arrivals::Constant, Share::WHOLE) {
                let due = intensity.due_by(start.due_ns as f64 / NS);
                // A nanosecond is up to 2e-6 starts here, and where a rate is 0 the integral stands still.
                prop_assert!((due - start.index as f64).abs() < 1e-4, "{start:?} {due}");
            }
        }

        #[test]
        fn no_start_is_missing(all in stretches()) {
            let seconds: f64 = all.iter().map(|stretch| stretch.seconds).sum();
            let due = Intensity::new(&all).due_by(seconds);
            let count = starts(&all, Arrivals::Constant, Share::WHOLE).len() as f64;
            prop_assert!((count - due).abs() <= 1.0 + 1e-6, "{count} of {due}");
        }

        #[test]
        fn shares_together_are_the_whole(all in stretches(), of in 1..7u64, poisson: bool) {
            let arrivals = if poisson { Arrivals::Poisson } else { Arrivals::Constant };
            let mut together: Vec<Start> =
                (0..of).flat_map(|number| starts(&all, arrivals, Share { number, of })).collect();
            together.sort_by_key(|start| start.index);
            prop_assert_eq!(together, starts(&all, arrivals, Share::WHOLE));
        }

        #[test]
        fn starts_come_in_order(all in stretches(), poisson: bool) {
            let arrivals = if poisson { Arrivals::Poisson } else { Arrivals::Constant };
            let starts = starts(&all, arrivals, Share::WHOLE);
            prop_assert!(starts.is_sorted_by_key(|start| (start.due_ns, start.index)));
        }
    }

    #[test]
    fn shares_of_shares_are_shares() {
        let all = [Stretch { seconds: 1.0, from: 100.0, to: 300.0 }];
        let third = Share { number: 1, of: 3 };
        let mut together: Vec<Start> =
            (0..2).flat_map(|number| starts(&all, Arrivals::Poisson, third.part(number, 2))).collect();
        together.sort_by_key(|start| start.index);
        assert_eq!(together, starts(&all, Arrivals::Poisson, third));
    }

    #[test]
    fn a_poisson_process_has_the_variance_of_its_mean() {
        let all =
            starts(&[Stretch { seconds: 1_000.0, from: 50.0, to: 50.0 }], Arrivals::Poisson, Share::WHOLE);
        let mut counts = [0f64; 1_000];
        for start in &all {
            counts[(start.due_ns / 1_000_000_000) as usize] += 1.0;
        }
        let mean = counts.iter().sum::<f64>() / 1_000.0;
        let variance = counts.iter().map(|count| (count - mean).powi(2)).sum::<f64>() / 999.0;
        // Five standard errors: of the mean 0.22, of the variance 2.3. The seed is fixed, so this never changes.
        assert!((mean - 50.0).abs() < 1.2, "{mean}");
        assert!((variance - 50.0).abs() < 12.0, "{variance}");
    }
}
