//! The smallest kit, and what every small suite begins with, for tests of what is planned.
#![allow(dead_code, reason = "each test program uses its own part of this")]

use touchstone::Result;
use touchstone::kit::{Kit, Kits};
use touchstone::plan::{Choice, Plan};
use touchstone::suite::{Size, Suite};

/// Two subjects that can be planned and never built.
pub const KIT: &str = r#"
[kit]
language = "rust"
[[subject]]
name = "one"
summary = "One"
build = ["true"]
run = ["one"]
  [[subject.profile]]
  name = "plain"
  class = "strict"
[[subject]]
name = "two"
summary = "Two"
build = ["true"]
run = ["two"]
  [[subject.profile]]
  name = "plain"
  class = "strict"
"#;

const HEAD: &str = r#"
name = "small"
title = "A small suite"
source = "nowhere"
device = "none"
"#;

/// The suite `small` of these datasets, cases and claims.
pub fn suite(text: &str) -> Result<Suite> {
    Suite::parse(&[HEAD.trim_end(), text].concat(), "small.toml")
}

pub fn kits() -> Kits {
    Kits { kits: vec![Kit::parse(KIT, "kit.toml").unwrap()] }
}

/// Everything, in the quick size.
pub fn choice() -> Choice {
    Choice { cases: vec![], contenders: vec![], size: Size::Quick, seed: 42, looks: vec![8] }
}

/// The plan of a small suite.
pub fn plan(text: &str, choice: &Choice) -> Result<Plan> {
    Plan::new(&[suite(text)?], &kits(), choice)
}
