//! The options that choose what is planned, shared by `bench` and `plan`.

use crate::Context;
use clap::{Args, ValueEnum};
use std::collections::BTreeSet;
use touchstone::plan::{Choice, Override, Plan};
use touchstone::statistics::LOOKS;
use touchstone::suite;
use touchstone_runner::kits::Project;

/// What to plan.
#[derive(Args, Clone, Debug)]
pub struct ChoiceArguments {
    /// A suite by name or by file; all, unless given
    #[arg(long = "suite", value_name = "SUITE")]
    suites: Vec<String>,
    /// A case, as `read` or `wcdb/read`; all, unless given. With its suite it may be one of an internal suite
    #[arg(long = "case", value_name = "CASE")]
    cases: Vec<String>,
    /// A contender, as `rusqlite` or `rusqlite@wal-normal`; all, unless given. Baselines and floors always run
    #[arg(long = "contender", value_name = "CONTENDER")]
    contenders: Vec<String>,
    /// How much to run: quick for a look in minutes, full for the page's own sizes and every look
    #[arg(long, value_enum, default_value = "quick")]
    size: Size,
    /// Looks at most, after 8, 12, 16 and 24 launches: with 1 a case ends after 8, decided or not; as many as the size
    /// has, unless given
    #[arg(long, value_name = "LOOKS", value_parser = clap::value_parser!(u8).range(1..=LOOKS.len() as i64))]
    looks: Option<u8>,
    /// One number of a case, set otherwise than its suite does, as `couch/get.blocks=40`; the plan and the report say so
    #[arg(long = "set", value_name = "SUITE/CASE.NUMBER=VALUE")]
    overrides: Vec<Override>,
    /// Where every random choice comes from
    #[arg(long, default_value_t = 42)]
    seed: u64,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Size {
    Quick,
    Full,
}

impl ChoiceArguments {
    /// The suites that were named; where none was, those whose cases were, which may be internal ones.
    fn suites(&self) -> Vec<String> {
        if self.suites.is_empty() { suites_of(&self.cases) } else { self.suites.clone() }
    }

    /// Plans what was chosen.
    ///
    /// # Errors
    /// When a suite, a case or a contender is not there.
    pub fn plan(&self, context: &Context) -> anyhow::Result<(Project, Plan)> {
        let project = context.project()?;
        let size = match self.size {
            Size::Quick => suite::Size::Quick,
            Size::Full => suite::Size::Full,
        };
        let given = self.looks.map(|looks| LOOKS[..usize::from(looks)].to_vec());
        let choice = Choice {
            cases: self.cases.clone(),
            contenders: self.contenders.clone(),
            size,
            seed: self.seed,
            looks: given.unwrap_or_else(|| looks_of(size)),
        };
        let suites = project.suites(&self.suites())?;
        let plan = Plan::with(suites, &self.overrides, &project.kits, &choice)?;
        Ok((project, plan))
    }
}

/// The suites that cases name, each once; none where one of them names none, for it may be of any.
fn suites_of(cases: &[String]) -> Vec<String> {
    let named: Option<BTreeSet<&str>> = cases.iter().map(|case| Some(case.split_once('/')?.0)).collect();
    named.into_iter().flatten().map(str::to_owned).collect()
}

/// The looks of a size.
fn looks_of(size: suite::Size) -> Vec<usize> {
    match size {
        suite::Size::Quick => LOOKS[..2].to_vec(),
        suite::Size::Full => LOOKS.to_vec(),
    }
}

#[cfg(test)]
mod tests {
    use super::suites_of;

    #[test]
    fn cases_with_their_suites_name_those_suites_and_a_case_alone_may_be_of_any() {
        let of = |cases: &[&str]| suites_of(&cases.iter().map(|case| (*case).to_owned()).collect::<Vec<_>>());
        assert_eq!(of(&["wcdb/read", "couch/get", "wcdb/write"]), ["couch", "wcdb"]);
        assert_eq!(of(&["wcdb/read", "get"]), [""; 0]);
        assert_eq!(of(&[]), [""; 0]);
    }
}
