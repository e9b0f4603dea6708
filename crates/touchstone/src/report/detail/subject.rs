//! Subjects as they introduced themselves.

use crate::report::format;
use crate::sample::Introduction;
use touchstone_protocol::Hello;

/// A subject's row.
pub(in crate::report) struct SubjectDetail {
    pub name: String,
    pub version: String,
    pub engine: String,
    pub kit: String,
    pub clock: String,
    pub program: String,
    pub capabilities: String,
}

/// An engine as it was built, with the subjects that carry it.
pub(in crate::report) struct Build {
    pub subjects: String,
    pub engine: String,
    pub source: String,
    pub compile_options: Vec<String>,
}

/// Every program met once, in order of name.
pub(in crate::report) fn subjects(introductions: &[Introduction]) -> Vec<SubjectDetail> {
    let mut subjects: Vec<SubjectDetail> = Vec::new();
    for met in introductions {
        let hello = &met.hello;
        if subjects.iter().any(|known| known.name == hello.subject && known.program == met.program_crc32) {
            continue;
        }
        let clock = &hello.clock;
        subjects.push(SubjectDetail {
            name: hello.subject.clone(),
            version: hello.version.clone(),
            engine: hello.engine.clone(),
            kit: hello.kit.clone(),
            clock: format!(
                "{}: {:.0} ns a reading, steps of {} ns",
                clock.name, clock.cost_ns, clock.resolution_ns
            ),
            program: met.program_crc32.clone(),
            capabilities: hello.capabilities.join(", "),
        });
    }
    subjects.sort_by(|one, other| one.name.cmp(&other.name));
    subjects
}

/// Every build once, with whom it was met in; those that say nothing of themselves are left out.
pub(in crate::report) fn builds(introductions: &[Introduction]) -> Vec<Build> {
    let mut builds: Vec<(&Hello, Vec<&str>)> = Vec::new();
    for hello in introductions.iter().map(|met| &met.hello) {
        if hello.engine_source.is_empty() && hello.compile_options.is_empty() {
            continue;
        }
        let same = |known: &&mut (&Hello, Vec<&str>)| {
            let build = |hello: &Hello| {
                (hello.engine.clone(), hello.engine_source.clone(), hello.compile_options.clone())
            };
            build(known.0) == build(hello)
        };
        match builds.iter_mut().find(same) {
            Some((_, subjects)) => subjects.push(&hello.subject),
            None => builds.push((hello, vec![&hello.subject])),
        }
    }
    let build = |(hello, mut subjects): (&Hello, Vec<&str>)| {
        subjects.sort_unstable();
        subjects.dedup();
        Build {
            subjects: format::listed(&subjects),
            engine: hello.engine.clone(),
            source: hello.engine_source.clone(),
            compile_options: hello.compile_options.clone(),
        }
    };
    builds.into_iter().map(build).collect()
}
