//! The storage below the directory that is measured: filesystem, device, and what stands between a flush and it.

use super::block::Block;
use super::mount::Mount;
use super::{Group, bytes_text, group, or_not_exposed};
use rustix::fs::{major, minor, stat, statvfs};
use std::fs;
use std::path::{Path, PathBuf};

/// Filesystems that live in memory and nowhere else.
const IN_MEMORY: [&str; 5] = ["tmpfs", "ramfs", "devtmpfs", "hugetlbfs", "rootfs"];

/// Filesystems that another machine or program keeps.
const ELSEWHERE: [&str; 12] =
    ["nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "virtiofs", "ceph", "glusterfs", "afs", "vboxsf", "drvfs"];

/// What is known of the storage.
#[derive(Clone, Debug, Default)]
pub(crate) struct Storage {
    pub mount: Option<Mount>,
    pub block: Option<Block>,
    pub free_bytes: Option<u64>,
}

impl Storage {
    pub fn read(directory: &Path) -> Storage {
        let folder = nearest_folder(directory);
        let mountinfo = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
        let mount = Mount::find(&mountinfo, &folder);
        let block =
            mount.as_ref().and_then(|mount| Block::read(&mount.device).or_else(|| source_block(mount)));
        // What is reserved for root is not free to a run.
        let free_bytes = statvfs(&folder).ok().map(|space| space.f_bavail * space.f_frsize);
        Storage { mount, block, free_bytes }
    }

    /// Storage whose only mount is on `/`, by a line of `/proc/self/mountinfo`.
    #[cfg(test)]
    pub fn mounted(mountinfo: &str) -> Storage {
        Storage { mount: Mount::find(mountinfo, Path::new("/")), ..Storage::default() }
    }

    /// Why nothing that is flushed here reaches a device, where that is so.
    pub fn in_memory(&self) -> Option<String> {
        let mount = self.mount.as_ref()?;
        if IN_MEMORY.contains(&mount.filesystem.as_str()) {
            return Some(format!("{} keeps its files in memory", mount.filesystem));
        }
        // An overlay mounted `volatile` leaves out every sync.
        if mount.filesystem == "overlay" && mount.has("volatile") {
            return Some("the overlay is mounted volatile and leaves out every flush".into());
        }
        let block = self.block.as_ref().filter(|block| block.in_memory())?;
        Some(format!("{} is a disk made of memory", block.name))
    }

    /// Why a flush may return before the device has the data, where the filesystem was told so.
    pub fn flushes_disabled(&self) -> Option<String> {
        let mount = self.mount.as_ref()?;
        let culprits = ["nobarrier", "barrier=0", "fsync_mode=nobarrier"];
        let culprit = culprits.into_iter().find(|option| mount.has(option))?;
        Some(format!("the filesystem is mounted with {culprit}"))
    }

    /// The filesystem's type, where another machine or program keeps its files.
    pub fn elsewhere(&self) -> Option<&str> {
        let filesystem = self.mount.as_ref()?.filesystem.as_str();
        // A FUSE filesystem on a block device of its own is a local disk after all.
        let fuse = filesystem == "fuse" || filesystem.starts_with("fuse.");
        (ELSEWHERE.contains(&filesystem) || fuse).then_some(filesystem)
    }

    pub fn texts(&self) -> Group {
        let mount = self.mount.as_ref();
        let block = self.block.as_ref();
        group([
            ("filesystem", mount.map(|mount| mount.filesystem.clone())),
            ("mount_options", mount.map(|mount| mount.options.join(", "))),
            ("device", or_not_exposed(block.map(device_text))),
            ("scheduler", block.and_then(|block| block.scheduler.clone())),
            ("write_cache", block.and_then(|block| block.write_cache.clone())),
            ("forced_unit_access", block.and_then(|block| block.forced_unit_access).map(yes_or_no)),
            (
                "rotational",
                block.and_then(|block| block.rotational).map(|turns| turns_text(turns).to_owned()),
            ),
            ("free", self.free_bytes.map(bytes_text)),
        ])
    }
}

fn device_text(block: &Block) -> String {
    let below =
        if block.below.is_empty() { String::new() } else { format!(" on {}", block.below.join(", ")) };
    format!("{}{below}", block.name)
}

/// Virtual disks often claim to turn.
fn turns_text(turns: bool) -> &'static str {
    if turns { "yes, by its own account" } else { "no" }
}

fn yes_or_no(is: bool) -> String {
    if is { "yes" } else { "no" }.into()
}

/// Filesystems such as btrfs have a device number of their own; what was mounted leads to the disk.
fn source_block(mount: &Mount) -> Option<Block> {
    let device = stat(mount.source.strip_prefix('/').map(|_| mount.source.as_str())?).ok()?.st_rdev;
    (device != 0).then(|| Block::read(&format!("{}:{}", major(device), minor(device)))).flatten()
}

/// The directory, or the nearest folder above it that is there, without links.
fn nearest_folder(directory: &Path) -> PathBuf {
    // An empty path has no absolute form, and means the current folder.
    let absolute = std::path::absolute(directory).unwrap_or_else(|_| PathBuf::from("."));
    absolute.ancestors().find_map(|folder| fs::canonicalize(folder).ok()).unwrap_or(absolute)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn storage(mountinfo: &str) -> Storage {
        Storage::mounted(mountinfo)
    }

    #[test]
    fn memory_and_volatile_overlays_reach_no_disk() {
        assert!(storage("1 0 0:2 / / rw - tmpfs tmpfs rw,size=1k").in_memory().is_some());
        assert!(storage("1 0 0:2 / / rw - ramfs none rw").in_memory().is_some());
        assert!(storage("1 0 0:2 / / rw - overlay overlay rw,volatile").in_memory().is_some());
        assert_eq!(storage("1 0 0:2 / / rw - overlay overlay rw").in_memory(), None);
        assert_eq!(storage("1 0 8:1 / / rw - ext4 /dev/sda1 rw").in_memory(), None);
        assert_eq!(storage("").in_memory(), None, "nothing is known, so nothing is claimed");
        let zram =
            Storage { block: Some(Block { name: "zram0".into(), ..Block::default() }), ..Storage::default() };
        let zram = Storage { mount: storage("1 0 253:0 / / rw - ext4 /dev/zram0 rw").mount, ..zram };
        assert_eq!(zram.in_memory().unwrap(), "zram0 is a disk made of memory");
    }

    #[test]
    fn a_filesystem_told_not_to_flush_is_seen() {
        assert!(storage("1 0 8:1 / / rw - ext4 /dev/sda1 rw,nobarrier").flushes_disabled().is_some());
        assert!(storage("1 0 8:1 / / rw - ext4 /dev/sda1 rw,barrier=0").flushes_disabled().is_some());
        assert_eq!(storage("1 0 8:1 / / rw - ext4 /dev/sda1 rw,barrier=1").flushes_disabled(), None);
    }

    #[test]
    fn shares_are_told_from_disks() {
        assert_eq!(storage("1 0 0:9 / / rw - nfs4 nas:/x rw").elsewhere(), Some("nfs4"));
        assert_eq!(storage("1 0 0:9 / / rw - fuse.sshfs me@host:/x rw").elsewhere(), Some("fuse.sshfs"));
        assert_eq!(storage("1 0 8:1 / / rw - fuseblk /dev/sda1 rw").elsewhere(), None);
        assert_eq!(storage("1 0 8:1 / / rw - xfs /dev/sda1 rw").elsewhere(), None);
    }

    #[test]
    fn what_is_not_there_yet_is_its_nearest_folder() {
        let directory = tempfile::tempdir().unwrap();
        let folder = fs::canonicalize(directory.path()).unwrap();
        assert_eq!(nearest_folder(&directory.path().join("a/b/c")), folder);
        assert_eq!(nearest_folder(&directory.path().join("a/../b")), folder);
        assert_eq!(nearest_folder(Path::new("")), fs::canonicalize(".").unwrap());
    }
}
