//! What each arm was asked for and what it said took effect.

use super::{Detail, Grid, GridCell, GridRow};
use crate::estimate::{ArmStatistics, SettingStatistics};
use crate::report::format::{self, NONE};
use touchstone_protocol::Setting;

pub(super) fn detail(arms: &[&ArmStatistics], baseline: &str) -> Option<Detail> {
    let mut names: Vec<&str> =
        arms.iter().flat_map(|arm| &arm.settings).map(|setting| setting.name.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    let base = arms.iter().find(|arm| arm.arm == baseline);
    let differing: Vec<&str> = names.iter().copied().filter(|name| !same_for_all(arms, name)).collect();
    let ignored = arms.iter().flat_map(|arm| &arm.settings).filter(|setting| !setting.honoured).count();
    let summary = match (ignored, differing.as_slice()) {
        _ if names.is_empty() => return None,
        (0, []) => "Settings: all took effect and are the same for all".into(),
        (0, differing) => {
            format!("Settings: all took effect; contenders differ in {}", format::listed(differing))
        }
        (ignored, _) => format!("Settings: {ignored} did not take effect as asked"),
    };
    let (shown_names, same): (Vec<&str>, Vec<&str>) =
        names.into_iter().partition(|name| worth_a_column(arms, name));
    let row = |arm: &&ArmStatistics| GridRow {
        arm: arm.arm.clone(),
        cells: shown_names
            .iter()
            .map(|name| cell(find(arm, name), base.and_then(|base| find(base, name)), arm.arm == baseline))
            .collect(),
    };
    let grid = Grid {
        caption:
            "What took effect, read back from the engine after opening. A value unlike the baseline's is \
                  marked ≠; one that is not what was asked for says so beneath."
                .into(),
        columns: shown_names.iter().map(|name| (*name).to_owned()).collect(),
        rows: arms.iter().map(row).collect(),
    };
    Some(Detail {
        remark: same_for_all_said(arms, &same),
        grids: if shown_names.is_empty() { Vec::new() } else { vec![grid] },
        ..Detail::new(summary, ignored > 0)
    })
}

/// Whether contenders differ in it, or it is not what was asked for.
fn worth_a_column(arms: &[&ArmStatistics], name: &str) -> bool {
    let first = arms.first().and_then(|arm| find(arm, name));
    arms.iter().any(|arm| {
        let mine = find(arm, name);
        let as_asked =
            mine.is_none_or(|mine| mine.honoured && (mine.asked.is_none() || mine.asked == mine.effective));
        !as_asked || mine.map(|mine| &mine.effective) != first.map(|first| &first.effective)
    })
}

/// `The same for all: cache_size_bytes 2,048,000, page_size_bytes 4,096.`
fn same_for_all_said(arms: &[&ArmStatistics], names: &[&str]) -> Option<String> {
    let value = |name: &&str| {
        let effective = find(arms.first()?, name)?.effective.as_ref();
        Some(format!("{name} {}", effective.map_or(NONE.into(), shown)))
    };
    let values: Vec<String> = names.iter().filter_map(value).collect();
    (!values.is_empty())
        .then(|| format!("The same for all, read back from the engine: {}.", values.join(", ")))
}

fn cell(mine: Option<&SettingStatistics>, base: Option<&SettingStatistics>, is_base: bool) -> GridCell {
    let Some(mine) = mine else { return GridCell::word(NONE.into()) };
    let text = mine.effective.as_ref().map_or(NONE.into(), shown);
    let unlike = !is_base && base.is_some_and(|base| base.effective != mine.effective);
    let asked = mine.asked.as_ref().map(shown);
    if !mine.honoured {
        let note = asked.map(|asked| format!("asked for {asked}"));
        return GridCell { text: format!("✗\u{a0}{text}"), note, class: "wrong" };
    }
    let note = asked
        .filter(|_| mine.asked != mine.effective)
        .map(|asked| format!("asked for {asked}; no such notion"));
    if unlike {
        GridCell { text: format!("≠\u{a0}{text}"), note, class: "differs" }
    } else {
        GridCell { text, note, class: "" }
    }
}

fn find<'a>(arm: &'a ArmStatistics, name: &str) -> Option<&'a SettingStatistics> {
    arm.settings.iter().find(|setting| setting.name == name)
}

fn same_for_all(arms: &[&ArmStatistics], name: &str) -> bool {
    let values: Vec<_> = arms.iter().filter_map(|arm| find(arm, name)?.effective.as_ref()).collect();
    values.windows(2).all(|pair| pair[0] == pair[1])
}

fn shown(setting: &Setting) -> String {
    match setting {
        Setting::Number(number) if *number >= 1_000 => format::count(number.unsigned_abs()),
        other => other.to_string(),
    }
}
