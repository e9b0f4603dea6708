//! A diagnosis as text for people. Nothing is decided here.

mod files;
mod subjects;

use super::page::Page;
use super::units::{count, duration, percent, size, throughput};
use super::{Diagnosis, Warning, memory};
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
        files::show(&mut page, &self.files);
        self.memory(&mut page);
        self.noise(&mut page);
        subjects::show(&mut page, &self.subjects);
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

fn capitalised(text: &str) -> String {
    let mut characters = text.chars();
    characters.next().map_or(String::new(), |first| first.to_uppercase().chain(characters).collect())
}

#[cfg(test)]
mod tests;
