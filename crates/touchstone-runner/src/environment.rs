//! Where a run takes place: facts about machine, system, storage, limits and toolchain that can move a number.
//!
//! Every fact is read from the system, nothing is measured, and nothing tells whose machine it is: no host name, no
//! user, no serial number, no path. What the system does not expose is said to be missing where that matters.

mod block;
mod cgroup;
mod limits;
mod machine;
mod mount;
mod storage;
mod system;
mod toolchain;

pub(crate) use limits::Limits;
pub(crate) use machine::Machine;
pub(crate) use storage::Storage;
pub(crate) use system::System;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use toolchain::Toolchain;
use touchstone::record::Environment;

/// The facts as they stand now, for a run whose databases live in `directory`.
///
/// A directory that is not there yet is taken for its nearest folder that is.
pub fn environment(directory: &Path) -> Environment {
    Facts::read(directory).texts()
}

/// The type of the filesystem that holds `directory`, as the kernel calls it: `ext4`, `tmpfs`.
pub fn filesystem_type(directory: &Path) -> Option<String> {
    Storage::read(directory).mount.map(|mount| mount.filesystem)
}

/// Whether what is flushed in `directory` goes to a device at all: not so on `tmpfs` and its like.
///
/// Where the system does not tell, the answer is yes.
pub fn reaches_disk(directory: &Path) -> bool {
    Storage::read(directory).in_memory().is_none()
}

/// The facts as values, for those who decide on them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Facts {
    pub machine: Machine,
    pub system: System,
    pub storage: Storage,
    pub limits: Limits,
    pub toolchain: Toolchain,
}

impl Facts {
    pub fn read(directory: &Path) -> Facts {
        Facts {
            machine: Machine::read(),
            system: System::read(),
            storage: Storage::read(directory),
            limits: Limits::read(),
            toolchain: Toolchain::read(),
        }
    }

    /// The facts as text for people.
    pub fn texts(&self) -> Environment {
        let groups = [
            ("machine", self.machine.texts()),
            ("system", self.system.texts()),
            ("storage", self.storage.texts()),
            ("limits", self.limits.texts()),
            ("toolchain", self.toolchain.texts()),
        ];
        groups.into_iter().map(|(name, group)| (name.to_owned(), group)).collect()
    }
}

/// Memory that this process may still take, as far as the system tells.
pub(crate) fn available_memory_bytes(limits: &Limits) -> Option<u64> {
    let meminfo = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let free_bytes = machine::meminfo_bytes(&meminfo, "MemAvailable");
    free_bytes.into_iter().chain(limits.control_group.memory_bytes).min()
}

/// Facts of one group by name.
type Group = BTreeMap<String, String>;

/// Makes a group of the facts that are known.
fn group<const N: usize>(facts: [(&str, Option<String>); N]) -> Group {
    facts.into_iter().filter_map(|(name, fact)| Some((name.to_owned(), fact?))).collect()
}

/// The text of a small file of the kernel's, trimmed; none when it is missing, unreadable or empty.
fn kernel_text(path: impl AsRef<Path>) -> Option<String> {
    let text = fs::read_to_string(path).ok()?.trim().to_owned();
    (!text.is_empty()).then_some(text)
}

/// A fact that is often not exposed, and whose absence is worth a word.
fn or_not_exposed(fact: Option<String>) -> Option<String> {
    Some(fact.unwrap_or_else(|| "not exposed".into()))
}

/// Bytes in binary steps: `23.5 GiB`.
pub(crate) fn bytes_text(bytes: u64) -> String {
    let (mut scaled, mut unit) = (bytes as f64, "B");
    for larger in ["KiB", "MiB", "GiB", "TiB"] {
        if scaled < 1024.0 {
            break;
        }
        (scaled, unit) = (scaled / 1024.0, larger);
    }
    if unit == "B" { format!("{bytes} B") } else { format!("{scaled:.1} {unit}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_has_its_groups_and_the_facts_that_tell_machines_apart() {
        let directory = tempfile::tempdir().unwrap();
        let environment = environment(directory.path());
        let groups: Vec<&str> = environment.keys().map(String::as_str).collect();
        assert_eq!(groups, ["limits", "machine", "storage", "system", "toolchain"]);
        for (group, name) in [
            ("machine", "model"),
            ("machine", "cores"),
            ("machine", "memory"),
            ("machine", "governor"),
            ("system", "kernel"),
            ("system", "load_average"),
            ("storage", "filesystem"),
            ("storage", "free"),
            ("limits", "open_files"),
            ("toolchain", "rustc"),
            ("toolchain", "touchstone"),
        ] {
            assert!(environment[group].contains_key(name), "{group}.{name} in {environment:#?}");
        }
        for text in environment.values().flat_map(BTreeMap::values) {
            assert!(!text.trim().is_empty() && !text.contains('\n'), "{text:?}");
        }
    }

    #[test]
    fn nothing_tells_whose_machine_it_is() {
        let directory = tempfile::tempdir().unwrap();
        let text = format!("{:?}", environment(directory.path()));
        let home = std::env::var("HOME").unwrap_or_default();
        let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
        assert!(home.len() < 2 || !text.contains(&home), "a home path in {text}");
        // A short name may well be part of a word.
        assert!(host.len() < 8 || !text.contains(&host), "the host's name in {text}");
        assert!(!text.contains(directory.path().to_str().unwrap()), "the directory in {text}");
    }

    #[test]
    fn memory_is_no_disk() {
        assert_eq!(filesystem_type(Path::new("/proc")).as_deref(), Some("proc"));
        if filesystem_type(Path::new("/dev/shm")).as_deref() == Some("tmpfs") {
            assert!(!reaches_disk(Path::new("/dev/shm/not/there/yet")));
        }
    }

    #[test]
    fn bytes_are_told_in_binary_steps() {
        assert_eq!(bytes_text(0), "0 B");
        assert_eq!(bytes_text(1023), "1023 B");
        assert_eq!(bytes_text(1024), "1.0 KiB");
        assert_eq!(bytes_text(24_684_084 << 10), "23.5 GiB");
        assert_eq!(bytes_text(u64::MAX), "16777216.0 TiB");
    }
}
