//! A case at several scales: one line of a suite that becomes a case for each number of records.

use super::{BySize, Case, Size};

/// A case of a suite as it is planned: itself, or itself at one of its scales.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScaledCase {
    /// The case's name, with `-` and the number of records where it has scales.
    pub id: String,
    /// The records in place of its dataset's.
    pub records: Option<u64>,
}

impl Case {
    /// The cases that this one is at a size.
    pub fn at(&self, size: Size) -> Vec<ScaledCase> {
        let Some(scales) = &self.scales else {
            return vec![ScaledCase { id: self.id.clone(), records: None }];
        };
        let scaled =
            |records: u64| ScaledCase { id: format!("{}-{records}", self.id), records: Some(records) };
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
            let records = self.everywhere().into_iter().find(|case| case.id == name)?.records?;
            self.scales = Some(BySize::Same(vec![records]));
        }
        Some(self)
    }

    /// What about its scales makes no sense.
    pub(super) fn check_scales(&self) -> Result<(), String> {
        for size in [Size::Quick, Size::Full] {
            let Some(scales) = self.scales.as_ref().map(|scales| scales.at(size)) else { continue };
            if scales.is_empty() || scales[0] == 0 || !scales.is_sorted_by(|one, other| one < other) {
                return Err("`scales` are numbers of records: at least one, ascending, from 1".into());
            }
        }
        Ok(())
    }
}
