//! The settings of an arm: what was asked for, and what took effect by all that is known.

use crate::plan::PlannedArm;
use crate::sample::{Launch, SyncCount};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use touchstone_protocol::{Setting, Settings};

/// The value of SQLite's `synchronous` with which it never awaits the disk.
const NEVER: &str = "off";

/// A setting asked for and read back.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SettingStatistics {
    /// Its name.
    pub name: String,
    /// What was asked for.
    pub asked: Option<Setting>,
    /// What took effect; none where the subject has no such notion.
    pub effective: Option<Setting>,
    /// Whether that is what was asked for.
    pub honoured: bool,
}

/// What an arm's launches told of its settings, each as one launch has it in which it did not take effect, if there is one.
pub(super) fn settings(
    arm: &PlannedArm,
    launches: &[&Launch],
    syncs: Option<&SyncCount>,
) -> Vec<SettingStatistics> {
    let opened = launches.iter().map(|launch| &launch.settings).filter(|settings| !settings.is_empty());
    let opened: Vec<Settings> = opened.map(|told| as_recorded(told.clone(), syncs)).collect();
    let Some(first) = opened.first() else { return Vec::new() };
    let names: BTreeSet<&String> = arm.settings.keys().chain(first.keys()).collect();
    let setting = |name: &String| {
        let asked = arm.settings.get(name).cloned();
        let required = arm.profile_settings.contains_key(name);
        let is_honoured = |effective: Option<&Setting>| match (&asked, effective) {
            (Some(asked), Some(effective)) => asked == effective,
            (Some(_), None) => !required,
            (None, _) => true,
        };
        let broken = opened.iter().find(|settings| !is_honoured(settings.get(name)));
        let effective = broken.unwrap_or(first).get(name).cloned();
        SettingStatistics { name: name.clone(), asked: asked.clone(), effective, honoured: broken.is_none() }
    };
    names.into_iter().map(setting).collect()
}

/// With every `synchronous` but `off`, SQLite awaits the disk before it copies a log into the file, at the latest when the file is
/// closed. So a driver that tells another value, and whose process never awaited the disk, has it off.
fn as_recorded(mut told: Settings, syncs: Option<&SyncCount>) -> Settings {
    if let Some(synchronous) = told.get_mut("synchronous")
        && *synchronous != Setting::from(NEVER)
        && let Some(commits) = syncs.and_then(commits_without_a_sync)
    {
        *synchronous =
            Setting::Word(format!("{NEVER} (as no sync in {commits} recorded commits and after them says)"));
    }
    told
}

/// How many commits were recorded that wrote something, where neither they nor what followed until the end awaited the disk. None
/// where not all was seen.
fn commits_without_a_sync(syncs: &SyncCount) -> Option<u64> {
    let all_seen = syncs.unavailable.is_none() && syncs.refused.is_empty() && !syncs.maps_records();
    let wrote = syncs.commits > 0 && syncs.bytes_written > 0;
    (all_seen && wrote && syncs.syncs_to_end == Some(0)).then_some(syncs.commits)
}
