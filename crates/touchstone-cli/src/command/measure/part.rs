//! A part of a plan that is built, run and told of before the next: one suite.

use super::Judged;
use std::collections::BTreeSet;
use std::path::Path;
use touchstone::plan::Plan;
use touchstone::record::{Record, Status};

/// One of the parts of a plan.
pub struct Part<'p> {
    /// What is run: a plan of its own.
    pub plan: &'p Plan,
    /// Which one it is, from 0.
    pub number: usize,
    /// How long it took, in seconds.
    pub elapsed_s: f64,
}

impl Part<'_> {
    /// What the record says of this part, whose end was reached.
    ///
    /// # Errors
    /// When the record cannot be read.
    pub fn judge(&self, folder: &Path) -> anyhow::Result<Judged> {
        let mut record = Record::read(folder)?;
        record.plan = self.plan.clone();
        record.manifest.status = Status::Complete;
        record.manifest.elapsed_s = self.elapsed_s;
        Ok(Judged::of(folder, record))
    }
}

/// A plan for each suite, in the order in which they are run: those that need the fewest drivers come first, so that
/// verdicts stand on the screen before most drivers are built.
pub fn by_suite(plan: &Plan) -> Vec<Plan> {
    let of_suite = |name: &String| Plan {
        suites: plan.suites.iter().filter(|suite| suite.name == *name).cloned().collect(),
        cases: plan.cases.iter().filter(|case| case.suite() == name).cloned().collect(),
        ..plan.clone()
    };
    let mut parts: Vec<Plan> = plan.suites.iter().map(|suite| of_suite(&suite.name)).collect();
    parts.sort_by_key(drivers);
    parts
}

/// How many drivers must be built.
fn drivers(plan: &Plan) -> usize {
    let arms = plan.cases.iter().flat_map(|case| &case.arms).filter(|arm| arm.program.is_none());
    arms.map(|arm| &arm.contender.subject).collect::<BTreeSet<&String>>().len()
}
