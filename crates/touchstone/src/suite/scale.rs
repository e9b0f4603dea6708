//! A case at several scales: one line of a suite that becomes a case for each number of records, or of what else is
//! scaled.

use super::{BySize, Case, Size};
use serde::{Deserialize, Serialize};
use std::fmt;

/// What a case's scales count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scaled {
    /// Records of its dataset.
    #[default]
    Records,
    /// Subscriptions.
    Subscriptions,
    /// Objects that a transaction of its `deliver` lanes changes.
    Changes,
}

impl fmt::Display for Scaled {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(match self {
            Scaled::Records => "records",
            Scaled::Subscriptions => "subscriptions",
            Scaled::Changes => "changes",
        })
    }
}

/// A case of a suite as it is planned: itself, or itself at one of its scales.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScaledCase {
    /// The case's name, with `-` and the scale where it has scales.
    pub id: String,
    /// The scale.
    pub scale: Option<u64>,
    /// What it counts.
    pub scaled: Scaled,
}

impl ScaledCase {
    /// The scale, where it counts this.
    pub fn number_of(&self, what: Scaled) -> Option<u64> {
        self.scale.filter(|_| self.scaled == what)
    }
}

impl Case {
    /// The cases that this one is at a size.
    pub fn at(&self, size: Size) -> Vec<ScaledCase> {
        if self.only.is_some_and(|only| only != size) {
            return Vec::new();
        }
        let Some(scales) = &self.scales else {
            return vec![ScaledCase { id: self.id.clone(), scale: None, scaled: self.scaled }];
        };
        let scaled = |scale: u64| ScaledCase {
            id: format!("{}-{scale}", self.id),
            scale: Some(scale),
            scaled: self.scaled,
        };
        scales.at(size).into_iter().map(scaled).collect()
    }

    /// The cases that this one is at either size, each once.
    pub fn everywhere(&self) -> Vec<ScaledCase> {
        let mut all = self.at(Size::Quick);
        for case in self.at(Size::Full) {
            if !all.contains(&case) {
                all.push(case);
            }
        }
        all
    }

    /// This case where that is its name, and only one of its scales where that one's is; otherwise none.
    pub fn named(mut self, name: &str) -> Option<Case> {
        if self.id != name {
            let scale = self.everywhere().into_iter().find(|case| case.id == name)?.scale?;
            self.scales = Some(BySize::Same(vec![scale]));
        }
        Some(self)
    }

    /// What about its scales makes no sense.
    pub(super) fn check_scales(&self) -> Result<(), String> {
        for size in [Size::Quick, Size::Full] {
            let Some(scales) = self.scales.as_ref().map(|scales| scales.at(size)) else { continue };
            if scales.is_empty() || scales[0] == 0 || !scales.is_sorted_by(|one, other| one < other) {
                return Err(format!(
                    "`scales` are numbers of {}: at least one, ascending, from 1",
                    self.scaled
                ));
            }
        }
        if self.scales.is_none() && self.scaled != Scaled::Records {
            return Err("`scaled` says what `scales` count, and there are none".into());
        }
        if self.scaled != Scaled::Records && self.watch.is_none() {
            return Err(format!("`scales` of {} need a `watch`", self.scaled));
        }
        Ok(())
    }
}
