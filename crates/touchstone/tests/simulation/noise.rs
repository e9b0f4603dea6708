//! Launch noise of many kinds, each drawn from its own seed.

use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::fmt;

/// How much longer launches of the second kind take.
const SECOND_KIND: f64 = 0.20;

/// What x, the log ratio of a launch, does on identical code.
#[derive(Clone, Copy)]
pub enum Shape {
    /// What most quiet machines do.
    Normal,
    /// Student's t with two degrees of freedom: outliers now and then.
    HeavyTailed,
    /// Outliers without bound.
    Cauchy,
    /// Noise that comes in bursts; the sign is free.
    Bursts,
    /// Each arm is of a second kind, 20 % worse, in this share of its launches.
    TwoKinds(f64),
    /// Median zero, and a long tail on one side: two different subjects, one with stalls.
    Skewed,
    /// Each launch resembles the one before: serial correlation, as where a neighbour stays with one arm.
    Correlated(f64),
}

/// A shape with its size: 0.009 is about 0.9 %.
#[derive(Clone, Copy)]
pub struct Noise {
    pub shape: Shape,
    pub sigma: f64,
}

impl fmt::Display for Noise {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shape = match self.shape {
            Shape::Normal => "normal".to_owned(),
            Shape::HeavyTailed => "heavy-tailed".to_owned(),
            Shape::Cauchy => "Cauchy".to_owned(),
            Shape::Bursts => "bursts".to_owned(),
            Shape::TwoKinds(share) => format!("two kinds {share}"),
            Shape::Skewed => "skewed".to_owned(),
            Shape::Correlated(correlation) => format!("correlated {correlation}"),
        };
        formatter.pad(&format!("{shape}, {:.1} %", self.sigma * 100.0))
    }
}

/// Where the x of one duel come from, or the times of one arm.
pub struct Source {
    noise: Noise,
    generator: Xoshiro256PlusPlus,
    state: f64,
}

impl Source {
    pub fn new(noise: Noise, seed: u64) -> Source {
        let mut source = Source { noise, generator: Xoshiro256PlusPlus::seed_from_u64(seed), state: 0.0 };
        source.state = source.normal();
        source
    }

    /// x of the next launch.
    pub fn x(&mut self) -> f64 {
        match self.noise.shape {
            Shape::TwoKinds(share) => self.kind(share) - self.kind(share) + self.noise.sigma * self.normal(),
            _ => self.own(),
        }
    }

    /// The log time of the next launch of one arm: the difference of two of these is about as noisy as an x.
    pub fn log_time(&mut self) -> f64 {
        let own = match self.noise.shape {
            Shape::TwoKinds(share) => {
                return self.kind(share) + self.noise.sigma * std::f64::consts::FRAC_1_SQRT_2 * self.normal();
            }
            _ => self.own(),
        };
        own * std::f64::consts::FRAC_1_SQRT_2
    }

    fn own(&mut self) -> f64 {
        let sigma = self.noise.sigma;
        match self.noise.shape {
            Shape::Normal | Shape::TwoKinds(_) => sigma * self.normal(),
            Shape::HeavyTailed => {
                let chi_squared = 2.0 * self.exponential();
                sigma * self.normal() / (chi_squared / 2.0).sqrt()
            }
            Shape::Cauchy => sigma * self.normal() / self.normal(),
            Shape::Bursts => {
                self.state = 0.8 * self.state + 0.6 * self.normal();
                sigma * self.state.exp() * self.normal()
            }
            Shape::Skewed => sigma * (self.exponential() - std::f64::consts::LN_2),
            Shape::Correlated(correlation) => {
                let fresh = (1.0 - correlation * correlation).sqrt() * self.normal();
                self.state = correlation * self.state + fresh;
                sigma * self.state
            }
        }
    }

    fn kind(&mut self, share: f64) -> f64 {
        if self.generator.random_bool(share) { SECOND_KIND.ln_1p() } else { 0.0 }
    }

    fn exponential(&mut self) -> f64 {
        -(1.0 - self.generator.random::<f64>()).ln()
    }

    /// A standard normal number (Box & Muller 1958).
    fn normal(&mut self) -> f64 {
        let radius = (2.0 * self.exponential()).sqrt();
        radius * (std::f64::consts::TAU * self.generator.random::<f64>()).cos()
    }
}
