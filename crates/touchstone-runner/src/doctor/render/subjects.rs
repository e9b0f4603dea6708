//! What the drivers link, as a table and sentences.

use super::NONE;
use crate::doctor::page::Page;
use crate::doctor::{SubjectReport, SubjectState, engine};
use std::collections::BTreeMap;

/// Shows every subject, and what those that are built link.
pub(super) fn show(page: &mut Page, subjects: &[SubjectReport]) {
    page.section("Subjects");
    if subjects.is_empty() {
        page.sentence("None: no project was given, or its kits have no subjects.");
    }
    let mut linked =
        vec![["subject", "version", "engine linked", "WAL-reset fix"].map(String::from).to_vec()];
    let (mut failed, mut not_built, mut not_asked) = (Vec::new(), Vec::new(), Vec::new());
    for SubjectReport { subject, state, .. } in subjects {
        match state {
            SubjectState::Linked { version, engine, wal_reset_fix, .. } => {
                linked.push(vec![
                    subject.clone(),
                    version.clone(),
                    engine.clone(),
                    fix(*wal_reset_fix).into(),
                ]);
            }
            SubjectState::Failed { error } => failed.push((subject.as_str(), error.as_str())),
            SubjectState::NotBuilt => not_built.push(subject.as_str()),
            SubjectState::NotAsked => not_asked.push(subject.as_str()),
        }
    }
    if linked.len() > 1 {
        page.table(&linked, false);
    }
    for (options, names) in compiled(subjects) {
        page.meaning(&format!("{names}: compiled with {options}"));
    }
    for (names, why) in
        [(not_built, "not built (touchstone bench builds it)"), (not_asked, "the time was up for")]
    {
        if !names.is_empty() {
            page.sentence(&format!("{why}: {}", names.join(", ")));
        }
    }
    if !failed.is_empty() {
        page.sentence("built, but not able to say who they are:");
        page.facts(failed.into_iter());
    }
}

/// Subjects by those of their compile options that move numbers.
fn compiled(subjects: &[SubjectReport]) -> BTreeMap<String, String> {
    let mut compiled: BTreeMap<String, String> = BTreeMap::new();
    for report in subjects {
        let SubjectState::Linked { compile_options, .. } = &report.state else { continue };
        let telling = engine::telling(compile_options).join(", ");
        if telling.is_empty() {
            continue;
        }
        let names = compiled.entry(telling).or_default();
        let comma = if names.is_empty() { "" } else { ", " };
        names.push_str(&format!("{comma}{}", report.subject));
    }
    compiled
}

/// A subject whose SQLite lacks the fix should catch the eye.
fn fix(carries: Option<bool>) -> &'static str {
    match carries {
        Some(true) => "yes",
        Some(false) => "NO",
        None => NONE,
    }
}
