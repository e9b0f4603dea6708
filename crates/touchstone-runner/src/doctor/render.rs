//! A diagnosis as text for people. Nothing is decided here.

use super::page::Page;
use super::units::{count, duration, percent, rate, size, throughput};
use super::{
    Diagnosis, FileRate, Files, Operation, Pattern, Route, SubjectReport, SubjectState, Warning, engine,
    files, memory,
};
use crate::noise::NoiseReading;
use std::collections::BTreeMap;
use std::fmt;
use touchstone::record::Environment;

/// How wide a page is, unless another width is asked for.
const WIDTH: usize = 100;

/// The order of the groups of facts.
const GROUPS: [&str; 5] = ["machine", "system", "storage", "limits", "toolchain"];

/// What stands where there is no figure.
const NONE: &str = "–";

impl fmt::Display for Diagnosis {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.render(WIDTH))
    }
}

impl Diagnosis {
    /// The diagnosis as a page of text, no line of it wider than `width` characters (and 40 at the least).
    pub fn render(&self, width: usize) -> String {
        let mut page = Page::new(width);
        for (name, facts) in in_order(&self.environment) {
            page.section(&capitalised(name));
            page.facts(facts.iter().map(|(name, fact)| (name.as_str(), fact.as_str())));
        }
        self.clock(&mut page);
        self.flushes(&mut page);
        file_rates(&mut page, &self.files);
        self.memory(&mut page);
        self.noise(&mut page);
        self.subjects(&mut page);
        self.warnings(&mut page);
        page.text()
    }

    fn clock(&self, page: &mut Page) {
        page.section("Clock");
        let figures = [
            ("a reading", duration(self.clock.cost_ns)),
            ("smallest step", duration(self.clock.resolution_ns as f64)),
            ("a reading of processor time", duration(self.clock.processor_time_cost_ns)),
        ];
        page.facts(figures.iter().map(|(name, figure)| (*name, figure.as_str())));
        page.meaning(&self.clock.meaning());
    }

    fn flushes(&self, page: &mut Page) {
        let flushes = self.flushes;
        page.section(&format!(
            "Flush: 4 KiB overwritten, then fdatasync; {} times",
            count(flushes.flushes as u64)
        ));
        let names = ["min", "p50", "p90", "p99", "max"];
        let figures = [
            flushes.latency_ns_min,
            flushes.latency_ns_p50,
            flushes.latency_ns_p90,
            flushes.latency_ns_p99,
            flushes.latency_ns_max,
        ];
        let labelled = |label: &str, cells: Vec<String>| [vec![label.to_owned()], cells].concat();
        let head = labelled("", names.map(String::from).into());
        page.table(&[head, labelled("flush", figures.map(duration).into())], true);
        page.meaning(&flushes.meaning());
    }

    fn memory(&self, page: &mut Page) {
        page.section("Memory, copied");
        let rows: Vec<(String, String)> = self
            .memory
            .iter()
            .map(|copy| {
                let figure = match (copy.bytes_per_s, &copy.unmeasured) {
                    (Some(bytes_per_s), _) => throughput(bytes_per_s),
                    (None, reason) => {
                        format!("not measured: {}", reason.as_deref().unwrap_or("no reason told"))
                    }
                };
                (size(copy.size_bytes as u64), figure)
            })
            .collect();
        page.facts(rows.iter().map(|(name, figure)| (name.as_str(), figure.as_str())));
        memory::meaning(&self.memory).iter().for_each(|meaning| page.meaning(meaning));
    }

    fn noise(&self, page: &mut Page) {
        page.section("Noise");
        let share = |share: Option<f64>| share.map_or("not exposed".into(), percent);
        let row = |name: &str, reading: NoiseReading| {
            vec![
                name.to_owned(),
                share(reading.cpu_pressure),
                share(reading.io_pressure),
                share(reading.steal),
            ]
        };
        let head =
            ["", "waits for a processor", "waits for the disk", "taken by the host"].map(String::from).into();
        let rows = [head, row("at rest", self.noise.at_rest), row("while examining", self.noise.examination)];
        page.table(&rows, true);
        page.meaning(&self.noise.meaning());
    }

    fn subjects(&self, page: &mut Page) {
        page.section("Subjects");
        if self.subjects.is_empty() {
            page.sentence("None: no project was given, or its kits have no subjects.");
        }
        let mut linked =
            vec![["subject", "version", "engine linked", "WAL-reset fix"].map(String::from).to_vec()];
        let (mut failed, mut not_built, mut not_asked) = (Vec::new(), Vec::new(), Vec::new());
        for SubjectReport { subject, state, .. } in &self.subjects {
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
        for (options, names) in self.compiled() {
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
    fn compiled(&self) -> BTreeMap<String, String> {
        let mut compiled: BTreeMap<String, String> = BTreeMap::new();
        for report in &self.subjects {
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

    fn warnings(&self, page: &mut Page) {
        let found = self.warnings.len();
        let title = match found {
            0 => "No warnings".to_owned(),
            1 => "1 warning".to_owned(),
            _ => format!("{found} warnings"),
        };
        page.section(&format!("{title}, after {:.1} s", self.elapsed_s));
        for Warning { what, why, remedy } in &self.warnings {
            page.item("!", &format!("{what}: {why}"));
            page.item(" ", &format!("remedy: {remedy}"));
        }
    }
}

/// The machine first; groups that this version does not know of come last.
fn in_order(environment: &Environment) -> Vec<(&String, &BTreeMap<String, String>)> {
    let mut groups: Vec<_> = environment.iter().collect();
    groups.sort_by_key(|(name, _)| GROUPS.iter().position(|known| known == name).unwrap_or(GROUPS.len()));
    groups
}

fn file_rates(page: &mut Page, files: &Files) {
    page.section(&format!("File of {}", size(files.file_bytes)));
    let head = files::BLOCKS_BYTES.iter().flat_map(|bytes| [size(*bytes as u64), String::new()]);
    let mut rows = vec![std::iter::once(String::new()).chain(head).collect()];
    for (operation, routes) in [
        (Operation::Read, [Route::Cache, Route::Dropped, Route::Direct]),
        (Operation::Write, [Route::Cache, Route::Synced, Route::Direct]),
    ] {
        for pattern in [Pattern::Sequential, Pattern::Random] {
            for route in routes {
                let figures = files::BLOCKS_BYTES.iter().flat_map(|block_bytes| {
                    let cell = files.rate(route, pattern, operation, *block_bytes);
                    let shown = |show: fn(&FileRate) -> String| cell.map_or(NONE.into(), show);
                    [
                        shown(|cell| throughput(cell.bytes_per_s())),
                        shown(|cell| rate(cell.operations_per_s())),
                    ]
                });
                let label = format!("{pattern} {operation}, {route}");
                rows.push(std::iter::once(label).chain(figures).collect());
            }
        }
    }
    page.table(&rows, true);
    page.sentence(
        "cached: by the page cache. synced: the same, with one fdatasync at the end that is timed too.",
    );
    match &files.not_dropped {
        None => page
            .sentence("dropped: the file's pages were dropped from the page cache before (posix_fadvise)."),
        Some(reason) => page.sentence(&format!("dropped: not measured, because {reason}.")),
    }
    match &files.not_direct {
        None => page.sentence("O_DIRECT: past the page cache."),
        Some(reason) => page.sentence(&format!("O_DIRECT: not measured, because {reason}.")),
    }
    files.meaning().iter().for_each(|meaning| page.meaning(meaning));
}

fn fix(carries: Option<bool>) -> &'static str {
    match carries {
        Some(true) => "yes",
        Some(false) => "NO",
        None => NONE,
    }
}

fn capitalised(text: &str) -> String {
    let mut characters = text.chars();
    characters.next().map_or(String::new(), |first| first.to_uppercase().chain(characters).collect())
}

#[cfg(test)]
mod tests {
    use crate::doctor::sample;
    use expect_test::expect;

    #[test]
    fn a_diagnosis_is_a_page_for_people() {
        let mut diagnosis = sample::diagnosis();
        diagnosis.warnings = vec![crate::doctor::Warning {
            what: "tmpfs keeps its files in memory".into(),
            why: "no commit reaches a disk, so durable commits are not measured here".into(),
            remedy: "name a directory on a disk of this machine".into(),
        }];
        expect![[r#"
            Machine
              cores  8 cores
              model  AMD EPYC

            System
              clock  tsc
              os     Debian

            Clock
              a reading                    24.2 ns
              smallest step                10.0 ns
              a reading of processor time  212 ns
              → Nothing shorter than 4.84 µs can be timed as a slice, and no single operation shorter than
                48.4 ns.

            Flush: 4 KiB overwritten, then fdatasync; 1,024 times
                         min      p50      p90      p99      max
              flush  95.0 µs  1.96 ms  2.50 ms  9.40 ms  31.0 ms
              → Half of all durable commits take 1.96 ms or more, and one writer makes about 488 a second at
                best; beyond that, several must share a flush.

            File of 64 MiB
                                               4 KiB                 8 KiB                16 KiB
              sequential read, cached     1,365 MB/s   333 k/s  4,096 MB/s   500 k/s  5,461 MB/s   333 k/s
              sequential read, dropped      585 MB/s   143 k/s  1,024 MB/s   125 k/s  1,820 MB/s   111 k/s
              sequential read, O_DIRECT            –         –           –         –           –         –
              random read, cached         1,024 MB/s   250 k/s  1,638 MB/s   200 k/s  2,731 MB/s   167 k/s
              random read, dropped          410 MB/s   100 k/s    745 MB/s  90.9 k/s  1,365 MB/s  83.3 k/s
              random read, O_DIRECT                –         –           –         –           –         –
              sequential write, cached      315 MB/s  76.9 k/s    585 MB/s  71.4 k/s  1,092 MB/s  66.7 k/s
              sequential write, synced      216 MB/s  52.6 k/s    410 MB/s  50.0 k/s    780 MB/s  47.6 k/s
              sequential write, O_DIRECT           –         –           –         –           –         –
              random write, cached          256 MB/s  62.5 k/s    482 MB/s  58.8 k/s    910 MB/s  55.6 k/s
              random write, synced          186 MB/s  45.5 k/s    356 MB/s  43.5 k/s    683 MB/s  41.7 k/s
              random write, O_DIRECT               –         –           –         –           –         –
              cached: by the page cache. synced: the same, with one fdatasync at the end that is timed too.
              dropped: the file's pages were dropped from the page cache before (posix_fadvise).
              O_DIRECT: not measured, because the filesystem refuses O_DIRECT.
              → A page at random costs 10.0 µs from the disk and 4.00 µs from the page cache: a "cold" read that
                is quicker than the first came from memory.

            Memory, copied
              4 KiB    42,000 MB/s
              1 MiB    46,900 MB/s
              256 MiB  not measured: the time was up
              → Answers of 1 MiB that are copied once cannot come at more than 46,900 MB/s.

            Noise
                               waits for a processor  waits for the disk  taken by the host
              at rest                          0.2 %                 0 %        not exposed
              while examining                  0.2 %                41 %        not exposed
              → The machine was quiet while the lab did nothing. Not exposed here: time taken by the host.

            Subjects
              subject   version  engine linked  WAL-reset fix
              sqlite-c  3.54.1   SQLite 3.54.1  yes
              redb      4.4.0    redb 4.4.0     –
              → sqlite-c: compiled with ENABLE_STAT4
              not built (touchstone bench builds it): wcdb

            1 warning, after 12.2 s
              ! tmpfs keeps its files in memory: no commit reaches a disk, so durable commits are not measured
                here
                remedy: name a directory on a disk of this machine
        "#]].assert_eq(&diagnosis.to_string());
    }

    #[test]
    fn no_line_is_wider_than_asked() {
        for width in [100, 80, 60] {
            let page = sample::diagnosis().render(width);
            let widest = page.lines().map(|line| line.chars().count()).max().unwrap();
            assert!(widest <= width, "{widest} of {width}:\n{page}");
        }
    }

    #[test]
    fn a_diagnosis_survives_its_json() {
        let diagnosis = sample::diagnosis();
        let text = serde_json::to_string(&diagnosis).unwrap();
        assert_eq!(serde_json::from_str::<super::Diagnosis>(&text).unwrap(), diagnosis);
        assert!(text.contains(r#""subject":"wcdb","state":"not-built""#), "{text}");
    }
}
