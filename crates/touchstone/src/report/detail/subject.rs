//! Subjects as they introduced themselves.

use crate::report::format;
use crate::sample::Introduction;

/// A subject's row.
pub(in crate::report) struct SubjectDetail {
    pub name: String,
    pub version: String,
    pub engine: String,
    pub kit: String,
    pub clock: String,
    pub program: String,
    pub source: String,
    pub compile_options: Vec<String>,
    pub capabilities: String,
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
                "{}: a reading costs {}, steps of {}",
                clock.name,
                format::duration(clock.cost_ns),
                format::duration(clock.resolution_ns as f64)
            ),
            program: met.program_crc32.clone(),
            source: hello.engine_source.clone(),
            compile_options: hello.compile_options.clone(),
            capabilities: hello.capabilities.join(", "),
        });
    }
    subjects.sort_by(|one, other| one.name.cmp(&other.name));
    subjects
}
