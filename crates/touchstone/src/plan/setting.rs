//! Settings that a suite asks for: one that is nearly another's name is a typing error. Drivers leave out what they have no
//! notion of, so nobody else would tell. And numbers that are none: a run would be refused by each driver.

use crate::error::Result;
use crate::kit::Kits;
use crate::name::nearest;
use crate::suite::{Suite, case_item};
use crate::written::{Item, Mistake};
use std::collections::BTreeSet;
use touchstone_protocol::{SETTING_NAMES, Setting, Settings};

/// The units that names of numbers end with.
const UNITS: [&str; 3] = ["_bytes", "_pages", "_ms"];

/// Refuses names that are no setting's and nearly one's.
pub(super) fn check(suites: &[Suite], kits: &Kits) -> Result<()> {
    let profiles = kits.subjects().flat_map(|(_, subject)| &subject.profiles);
    let of_profiles = profiles.flat_map(|profile| profile.settings.keys().map(String::as_str));
    let known: BTreeSet<&str> = of_profiles.chain(SETTING_NAMES).collect();
    for suite in suites {
        for (item, name) in named(suite).filter(|(_, name)| !known.contains(name)) {
            if let Some(meant) = nearest(name, known.iter().copied()) {
                let message = format!(
                    "suite `{}` asks for the setting `{name}`, which no profile and no page of the protocol knows: did you \
                     mean `{meant}`?",
                    suite.name
                );
                return Err(suite.told(&Mistake { item, message }));
            }
        }
    }
    Ok(())
}

/// Refuses values that are no number of what the name says.
pub(super) fn check_values(settings: &Settings) -> std::result::Result<(), String> {
    for (name, value) in settings.iter().filter(|(name, _)| UNITS.iter().any(|unit| name.ends_with(unit))) {
        // Without a page a pool is none; other numbers have a meaning for none of something.
        let least = if name == "pool_pages" { 1 } else { 0 };
        match value {
            Setting::Number(number) if *number >= least => {}
            Setting::Number(number) => {
                return Err(format!("its setting `{name}` is {number}: write {least} or more"));
            }
            Setting::Word(word) => {
                return Err(format!(
                    "its setting `{name}` is the text \"{word}\": write a whole number, such as 128"
                ));
            }
        }
    }
    Ok(())
}

/// The names of all settings that a suite asks for, with the case that does.
fn named(suite: &Suite) -> impl Iterator<Item = (Option<Item>, &str)> {
    let of_suite = suite.settings.keys().map(|name| (None, name.as_str()));
    let of_cases = suite
        .cases
        .iter()
        .flat_map(|case| case.settings.keys().map(|name| (Some(case_item(&case.id)), name.as_str())));
    of_suite.chain(of_cases)
}
