//! Statistics of a comparison: from the times of launches to an estimate, and from an estimate to a decision.
//! Everything here is a pure function of samples and seeds, and no other crate of the lab is known: what the samples mean,
//! whether they are void, and how a verdict is worded belong to the core.
//! The procedure that these files implement is written down in the measurement page of the documentation.

pub mod binomial;
mod bootstrap;
pub mod decision;
pub mod duel;
mod fisher;
pub mod kinds;
pub mod latency;
pub mod looks;
pub mod multiplicity;
pub mod quantile;
pub mod serial;
pub mod signed_rank;
pub mod stopping;

pub use binomial::clopper_pearson;
pub use bootstrap::{BOOTSTRAP_LEVEL, BOOTSTRAP_RESAMPLES};
pub use decision::{
    Correction, Decision, NullArm, decide, decide_family, decide_together, discoveries, is_noisy,
    may_be_correlation, null_arms, withheld_for_correlation,
};
pub use duel::{DETECTION_FACTORS, Estimate, launch_log_ratio};
pub use fisher::more_often;
pub use kinds::Kinds;
pub use latency::{CurvePoint, Latencies, LatencyPercentile, PERCENTILES, launch_percentiles};
pub use looks::{LOOKS, P_LOOK, can_reject, launches_needed, next_look};
pub use multiplicity::{benjamini_hochberg, benjamini_hochberg_adjusted, holm, holm_adjusted};
pub use quantile::{mad, median, quantile, robust_sigma};
pub use serial::{serial_correlation, serial_widening};
pub use stopping::{LookedAt, correlation_allowed, settled};
