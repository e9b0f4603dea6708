//! The block device below a filesystem, and how the kernel treats it.

use super::kernel_text;
use std::fs;
use std::path::{Path, PathBuf};

/// A block device.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Block {
    /// The kernel's name for it: `vda1`, `dm-0`.
    pub name: String,
    /// What it is laid over, for mapped and RAID devices.
    pub below: Vec<String>,
    /// The scheduler in use.
    pub scheduler: Option<String>,
    /// `write back` when the device may hold writes in a volatile cache, so that a flush has work to do.
    pub write_cache: Option<String>,
    /// Whether single writes can be forced through that cache.
    pub forced_unit_access: Option<bool>,
    /// Whether it turns. Virtual devices often say so and do not.
    pub rotational: Option<bool>,
}

impl Block {
    /// The device `major:minor`, as far as `/sys` tells.
    pub fn read(device: &str) -> Option<Block> {
        let folder = fs::canonicalize(Path::new("/sys/dev/block").join(device)).ok()?;
        let name = folder.file_name()?.to_str()?.to_owned();
        // A partition has no queue of its own: its disk's is used.
        let disk = if folder.join("queue").is_dir() { folder.clone() } else { folder.parent()?.to_owned() };
        let queue = |fact: &str| kernel_text(disk.join("queue").join(fact));
        Some(Block {
            name,
            below: names_in(folder.join("slaves")),
            scheduler: queue("scheduler").map(|text| chosen(&text)),
            write_cache: queue("write_cache"),
            forced_unit_access: queue("fua").map(|text| text == "1"),
            rotational: queue("rotational").map(|text| text == "1"),
        })
    }

    /// Whether the device itself is a piece of memory.
    pub fn in_memory(&self) -> bool {
        let numbered =
            |kind| self.name.strip_prefix(kind).is_some_and(|rest: &str| rest.parse::<u32>().is_ok());
        numbered("ram") || numbered("zram")
    }
}

/// The one in brackets of `none [mq-deadline] kyber`; the whole where nothing is to be chosen.
fn chosen(choices: &str) -> String {
    let inside = choices.split_once('[').and_then(|(_, rest)| rest.split_once(']'));
    inside.map_or(choices, |(choice, _)| choice).to_owned()
}

fn names_in(folder: PathBuf) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten();
    let mut names: Vec<String> =
        entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect();
    names.sort();
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_scheduler_in_use_stands_in_brackets() {
        assert_eq!(chosen("none [mq-deadline] kyber bfq"), "mq-deadline");
        assert_eq!(chosen("[none]"), "none");
        assert_eq!(chosen("none"), "none");
        assert_eq!(chosen("broken ["), "broken [");
    }

    #[test]
    fn memory_dressed_as_a_disk_is_seen() {
        let named = |name: &str| Block { name: name.into(), ..Block::default() };
        assert!(named("ram0").in_memory() && named("zram12").in_memory());
        assert!(!named("vda1").in_memory() && !named("rambo").in_memory() && !named("ram").in_memory());
    }

    #[test]
    fn a_device_that_is_not_there_is_none() {
        assert_eq!(Block::read("0:21"), None);
        assert_eq!(Block::read("rubbish"), None);
    }
}
