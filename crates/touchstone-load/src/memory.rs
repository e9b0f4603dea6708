//! The memory of a service's process on this machine: before streams of events are opened, and while they are open. It is that process
//! alone, without those that it has started.

use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};
use std::fs;

/// A process whose memory is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Process(u32);

/// The memory of a process at a moment.
#[derive(Clone, Copy, Debug, Default, Deserialize, Serialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct Memory {
    /// Bytes that are in memory, those that it shares with other processes included (RSS).
    pub rss_bytes: u64,
    /// As before, of what is shared with others the share that is its own (PSS).
    pub pss_bytes: u64,
}

/// The memory of the service's process; none of a moment at which the process was not there.
#[derive(Clone, Copy, Debug, Default, Deserialize, Serialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct ServiceMemory {
    /// The process, by its number.
    pub process: u32,
    /// When users were set up, and before streams of events were opened.
    pub before: Option<Memory>,
    /// When streams were open, before the first phase.
    pub open: Option<Memory>,
    /// The most bytes that were in memory (RSS) at a time from then on, looked at four times a second.
    pub rss_bytes_most: u64,
}

impl Process {
    /// A process by its number.
    ///
    /// # Errors
    /// When it is not there, or its memory is not to be looked at.
    pub fn of(number: u32) -> Result<Process> {
        let path = rollup(number);
        let text = fs::read_to_string(&path).map_err(|error| {
            Error::input(format!(
                "--process {number}: {path} cannot be read: {error} (give the number of the service's process on this machine, which is \
                 yours)"
            ))
        })?;
        match Memory::read(&text) {
            Some(_) => Ok(Process(number)),
            None => Err(Error::input(format!(
                "--process {number}: {path} does not say how much memory it has: give the number of the service's process on this machine"
            ))),
        }
    }

    /// Its memory now, if it is there.
    pub fn memory(self) -> Option<Memory> {
        Memory::read(&fs::read_to_string(rollup(self.0)).ok()?)
    }

    /// Bytes of it that are in memory now (RSS): what costs the process nothing to be asked for.
    pub fn rss_bytes(self) -> u64 {
        let text = fs::read_to_string(format!("/proc/{}/statm", self.0)).unwrap_or_default();
        let pages = text.split(' ').nth(1).and_then(|pages| pages.parse::<u64>().ok());
        pages.unwrap_or_default() * rustix::param::page_size() as u64
    }
}

fn rollup(number: u32) -> String {
    format!("/proc/{number}/smaps_rollup")
}

impl Memory {
    fn read(text: &str) -> Option<Memory> {
        let bytes = |name: &str| {
            let said = text.lines().find_map(|line| line.strip_prefix(name))?;
            let kib: u64 = said.trim().strip_suffix(" kB")?.parse().ok()?;
            Some(kib << 10)
        };
        Some(Memory { rss_bytes: bytes("Rss:")?, pss_bytes: bytes("Pss:")? })
    }
}

/// What is looked at while a run goes on; nothing, where no process is named.
#[derive(Debug)]
pub struct Looks(Option<(Process, ServiceMemory)>);

impl Looks {
    /// Nothing was looked at yet.
    pub fn of(process: Option<Process>) -> Looks {
        Looks(
            process
                .map(|process| (process, ServiceMemory { process: process.0, ..ServiceMemory::default() })),
        )
    }

    /// Users are set up.
    pub fn before(&mut self) {
        if let Some((process, memory)) = &mut self.0 {
            memory.before = process.memory();
        }
    }

    /// Streams are open.
    pub fn open(&mut self) {
        if let Some((process, memory)) = &mut self.0 {
            memory.open = process.memory();
        }
        self.most();
    }

    /// Some time later.
    pub fn most(&mut self) {
        if let Some((process, memory)) = &mut self.0 {
            memory.rss_bytes_most = memory.rss_bytes_most.max(process.rss_bytes());
        }
    }

    /// What was seen.
    pub fn seen(self) -> Option<ServiceMemory> {
        self.0.map(|(_, memory)| memory)
    }
}

impl ServiceMemory {
    /// By how many bytes (PSS) it was greater with the streams open than before.
    pub fn grown_bytes(&self) -> Option<i64> {
        Some(self.open?.pss_bytes as i64 - self.before?.pss_bytes as i64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_account_is_read() {
        let text = "00400000-7ffe [rollup]\nRss:   3048 kB\nPss:   1300 kB\nPss_Dirty:  9 kB\n";
        assert_eq!(Memory::read(text), Some(Memory { rss_bytes: 3048 << 10, pss_bytes: 1300 << 10 }));
        assert_eq!(Memory::read("Rss: 3048 kB\n"), None);
        assert_eq!(Memory::read(""), None);
    }

    #[test]
    fn this_process_has_memory_and_none_has_the_number_0() {
        let process = Process::of(std::process::id()).expect("it is there");
        let memory = process.memory().expect("it is there");
        assert!(memory.pss_bytes > 0 && memory.rss_bytes >= memory.pss_bytes && process.rss_bytes() > 0);
        let told = Process::of(0).expect_err("there is none").to_string();
        assert!(told.starts_with("--process 0: /proc/0/smaps_rollup cannot be read"), "{told}");
    }
}
