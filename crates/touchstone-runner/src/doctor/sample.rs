//! A machine with nothing wrong, for tests to spoil in one way each.

use super::files::timing::{Way, ways};
use super::{
    Clock, CopyRate, DIAGNOSIS_VERSION, Diagnosis, FileRate, Files, Flushes, Noise, Route, SubjectReport,
    SubjectState,
};
use crate::environment::{Facts, Machine, Storage};
use crate::noise::NoiseReading;

/// Facts of a good machine.
pub(super) fn facts() -> Facts {
    let mut facts = Facts { machine: Machine::with_cores(8), ..Facts::default() };
    facts.storage = Storage::mounted("1 0 259:2 / / rw,relatime - ext4 /dev/nvme0n1p2 rw");
    facts.storage.free_bytes = Some(100 << 30);
    facts.system.clock = Some("tsc".into());
    facts.system.randomisation = Some(2);
    facts.machine.governor = Some("performance".into());
    facts
}

/// Its diagnosis, with a subject of each kind.
pub(super) fn diagnosis() -> Diagnosis {
    let quiet = NoiseReading { cpu_pressure: Some(0.002), io_pressure: Some(0.0), steal: None };
    let texts = [
        ("machine", [("model", "AMD EPYC"), ("cores", "8 cores")]),
        ("system", [("os", "Debian"), ("clock", "tsc")]),
    ];
    let copy =
        |size_bytes, bytes_per_s| CopyRate { size_bytes, bytes_per_s: Some(bytes_per_s), unmeasured: None };
    let time_up =
        CopyRate { size_bytes: 256 << 20, bytes_per_s: None, unmeasured: Some("the time was up".into()) };
    Diagnosis {
        diagnosis_version: DIAGNOSIS_VERSION,
        warnings: Vec::new(),
        environment: texts
            .map(|(group, facts)| (group.into(), facts.map(|(name, fact)| (name.into(), fact.into())).into()))
            .into(),
        clock: Clock { cost_ns: 24.2, resolution_ns: 10, processor_time_cost_ns: 212.0 },
        flushes: Flushes {
            flushes: 1_024,
            flushes_per_s: 488.0,
            latency_ns_min: 95_000.0,
            latency_ns_p50: 1_960_000.0,
            latency_ns_p90: 2_500_000.0,
            latency_ns_p99: 9_400_000.0,
            latency_ns_max: 31_000_000.0,
        },
        files: Files {
            file_bytes: 64 << 20,
            not_dropped: None,
            not_direct: Some("the filesystem refuses O_DIRECT".into()),
            rates: rates(),
        },
        memory: vec![copy(4 << 10, 42e9), copy(1 << 20, 46.9e9), time_up],
        noise: Noise { at_rest: quiet, examination: NoiseReading { io_pressure: Some(0.41), ..quiet } },
        recorder_unavailable: None,
        subjects: vec![
            subject(
                "sqlite-c",
                linked("3.54.1", "SQLite 3.54.1", Some(true), &["ENABLE_STAT4", "THREADSAFE=1"]),
            ),
            subject("redb", linked("4.4.0", "redb 4.4.0", None, &[])),
            subject("wcdb", SubjectState::NotBuilt),
        ],
        elapsed_s: 12.25,
    }
}

/// A subject of the Rust kit.
pub(super) fn subject(name: &str, state: SubjectState) -> SubjectReport {
    SubjectReport { language: "rust".into(), subject: name.into(), state }
}

/// A driver that introduced itself.
pub(super) fn linked(
    version: &str,
    engine: &str,
    wal_reset_fix: Option<bool>,
    options: &[&str],
) -> SubjectState {
    SubjectState::Linked {
        version: version.into(),
        engine: engine.into(),
        engine_source: String::new(),
        compile_options: options.iter().map(|option| (*option).to_owned()).collect(),
        wal_reset_fix,
    }
}

/// Figures of every way but the direct ones, the more the bigger the block, and the largest there can be for one.
fn rates() -> Vec<FileRate> {
    let ways = ways().into_iter().filter(|way| way.route != Route::Direct);
    let figure = |(index, way): (usize, Way)| {
        let elapsed_ns = if index == 0 { 3_000_000 } else { 1_000_000 * (index as u64 + 1) };
        let Way { route, pattern, operation, block_bytes } = way;
        FileRate { route, pattern, operation, block_bytes, operations: 10_000, elapsed_ns: elapsed_ns * 10 }
    };
    ways.enumerate().map(figure).collect()
}
