//! Settings that a suite asks for: one that is nearly another's name is a typing error. Drivers leave out what they have no
//! notion of, so nobody else would tell.

use crate::error::{Error, Result};
use crate::kit::Kits;
use crate::name::nearest;
use crate::suite::Suite;
use std::collections::BTreeSet;
use touchstone_protocol::SETTING_NAMES;

/// Refuses names that are no setting's and nearly one's.
pub(super) fn check(suites: &[Suite], kits: &Kits) -> Result<()> {
    let profiles = kits.subjects().flat_map(|(_, subject)| &subject.profiles);
    let of_profiles = profiles.flat_map(|profile| profile.settings.keys().map(String::as_str));
    let known: BTreeSet<&str> = of_profiles.chain(SETTING_NAMES).collect();
    for suite in suites {
        let of_cases = suite.cases.iter().flat_map(|case| case.settings.keys());
        let unknown = suite.settings.keys().chain(of_cases).filter(|name| !known.contains(name.as_str()));
        for name in unknown {
            if let Some(meant) = nearest(name, known.iter().copied()) {
                return Err(Error::input(format!(
                    "suite `{}` asks for the setting `{name}`, which no profile and no page of the protocol knows: did you \
                     mean `{meant}`?",
                    suite.name
                )));
            }
        }
    }
    Ok(())
}
