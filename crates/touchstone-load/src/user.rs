//! A user: the values it has kept, and where in its iteration it is.

use rand::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

/// One user of the service. It is in one iteration at a time.
#[derive(Clone, Debug)]
pub struct User {
    /// Its number among all users of the run, those of other shards included.
    pub number: u64,
    /// How many iterations it has begun.
    pub iteration: u64,
    /// What its captures have kept, by the number of the value.
    pub values: Vec<Vec<u8>>,
    /// Whether the setup is behind it, where users join while a loop runs.
    pub is_set_up: bool,
    /// Its random choices.
    pub random: Xoshiro256PlusPlus,
    /// The next of the numbers that no other request has.
    sequence: u64,
    users: u64,
    /// Where it is.
    pub at: At,
}

/// Where in an iteration a user is.
#[derive(Clone, Copy, Debug, Default)]
pub struct At {
    /// Which flow, by its number; the setup is beyond the last.
    pub flow: usize,
    /// Which step of it.
    pub step: usize,
    /// When the step was due, in nanoseconds after the beginning.
    pub due_ns: u64,
    /// From when on nothing but the generator kept it from being sent.
    pub ready_ns: u64,
    /// When its last iteration of an open loop ended.
    pub free_ns: u64,
    /// The phase to which it counts.
    pub phase: usize,
}

impl User {
    /// A user of a run that has `users` of them.
    pub fn new(number: u64, users: u64, seed: u64, values: Vec<Vec<u8>>) -> User {
        // Neighbours' seeds differ by a step that no small number divides, as in SplitMix64.
        let seed = seed.wrapping_add((number + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        User {
            number,
            iteration: 0,
            values,
            is_set_up: false,
            random: Xoshiro256PlusPlus::seed_from_u64(seed),
            sequence: number,
            users,
            at: At::default(),
        }
    }

    /// A number that no other request of the run has: users take turns.
    pub fn next_sequence(&mut self) -> u64 {
        let sequence = self.sequence;
        self.sequence += self.users;
        sequence
    }
}
