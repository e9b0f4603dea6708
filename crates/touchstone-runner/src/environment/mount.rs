//! Which mounted filesystem holds a path, from the kernel's list of mounts.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

/// A mounted filesystem.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Mount {
    /// Its type, as the kernel calls it.
    pub filesystem: String,
    /// `major:minor` of the device; major 0 for filesystems that have none of their own.
    pub device: String,
    /// What was mounted. May be anything, a server's name and a path on it too: never shown.
    pub source: String,
    /// Those options that say how the filesystem treats data, and nothing else.
    pub options: Vec<String>,
    point: PathBuf,
    root: PathBuf,
}

impl Mount {
    /// The mount that holds `path`, which is absolute and free of links, by the text of `/proc/self/mountinfo`.
    pub fn find(mountinfo: &str, path: &Path) -> Option<Mount> {
        let mounts =
            mountinfo.lines().filter_map(Mount::parse).filter(|mount| path.starts_with(&mount.point));
        // Of mounts on the same point the last one hides the others.
        mounts.max_by_key(|mount| mount.point.as_os_str().len())
    }

    /// Reads a line such as `36 35 98:0 /root /mnt rw,noatime master:1 - ext4 /dev/sda rw,errors=continue`.
    fn parse(line: &str) -> Option<Mount> {
        let (place, what) = line.split_once(" - ")?;
        let mut place = place.split(' ').skip(2);
        let (device, root, point, options) = (place.next()?, place.next()?, place.next()?, place.next()?);
        // The source may be empty, which leaves two spaces side by side.
        let mut what = what.split(' ');
        let (filesystem, source) = (what.next()?, what.next()?);
        let mut kept: Vec<String> = Vec::new();
        for option in options.split(',').chain(what.next().unwrap_or_default().split(',')) {
            if is_about_data(option) && !kept.iter().any(|known| known == option) {
                kept.push(option.to_owned());
            }
        }
        Some(Mount {
            filesystem: filesystem.to_owned(),
            device: device.to_owned(),
            source: unescaped(source).to_string_lossy().into_owned(),
            options: kept,
            point: unescaped(point).into(),
            root: unescaped(root).into(),
        })
    }

    /// Where the mount hangs.
    pub fn point(&self) -> &Path {
        &self.point
    }

    /// Which folder of the filesystem hangs there.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Every mount of a type, in the order they were made.
    pub fn all_of(mountinfo: &str, filesystem: &str) -> Vec<Mount> {
        mountinfo.lines().filter_map(Mount::parse).filter(|mount| mount.filesystem == filesystem).collect()
    }

    /// Whether an option was given.
    pub fn has(&self, option: &str) -> bool {
        self.options.iter().any(|known| known == option)
    }
}

/// Options with a value that say how data is treated. Others name users, servers and folders, so they are dropped.
const TOLD: [&str; 24] = [
    "allocsize",
    "barrier",
    "cache",
    "commit",
    "compress",
    "compress-force",
    "data",
    "data_err",
    "dax",
    "errors",
    "fsync_mode",
    "journal_async_commit",
    "logbsize",
    "logbufs",
    "metacopy",
    "proto",
    "rsize",
    "size",
    "space_cache",
    "stripe",
    "sunit",
    "swidth",
    "vers",
    "wsize",
];

fn is_about_data(option: &str) -> bool {
    match option.split_once('=') {
        Some((name, _)) => TOLD.contains(&name),
        // What carries no value is a word of the filesystem's own, as long as it looks like one.
        None => {
            !option.is_empty()
                && option.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte))
        }
    }
}

/// The kernel writes space, tab, newline and backslash as three octal digits.
fn unescaped(field: &str) -> OsString {
    let mut plain = Vec::with_capacity(field.len());
    let mut rest = field.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        let octal =
            after.get(..3).filter(|_| byte == b'\\').and_then(|digits| std::str::from_utf8(digits).ok());
        match octal.and_then(|digits| u8::from_str_radix(digits, 8).ok()) {
            Some(code) => {
                plain.push(code);
                rest = &after[3..];
            }
            None => {
                plain.push(byte);
                rest = after;
            }
        }
    }
    OsString::from_vec(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOUNTINFO: &str = "\
24 27 0:6 / /dev rw,relatime - devtmpfs devtmpfs rw,size=12334460k,nr_inodes=3083615,mode=755
27 1 254:0 / / rw,relatime - ext4 /dev/vda rw,discard,resv_strict,resuid=65534,resgid=65534
28 27 8:17 / /data rw,noatime shared:5 master:2 - xfs /dev/sdb1 rw,logbufs=8,prjquota
29 28 0:40 / /data/my\\040disk rw - tmpfs  rw,size=1024k
30 27 0:41 / /srv rw,nosuid - tmpfs tmpfs rw
31 27 0:42 /exports/alice /srv rw,relatime - nfs4 nas.example.org:/exports/alice rw,vers=4.2,addr=10.0.0.7
32 27 0:43 / /box rw - overlay overlay rw,lowerdir=/home/alice/l,upperdir=/home/alice/u,volatile,metacopy=on
short line
33 27 0:44 / /odd rw
";

    fn find(path: &str) -> Mount {
        Mount::find(MOUNTINFO, Path::new(path)).unwrap()
    }

    #[test]
    fn the_deepest_mount_holds_the_path() {
        assert_eq!(find("/work").device, "254:0");
        assert_eq!(find("/data/a").filesystem, "xfs");
        assert_eq!(find("/database").filesystem, "ext4", "a name is not a prefix of its letters");
        assert_eq!(find("/odd").filesystem, "ext4", "a line cut short is no mount");
    }

    #[test]
    fn a_later_mount_hides_an_earlier_one_at_the_same_place() {
        assert_eq!(find("/srv/x").filesystem, "nfs4");
        assert_eq!(find("/srv/x").root(), Path::new("/exports/alice"));
    }

    #[test]
    fn escaped_names_and_empty_sources_are_read() {
        let mount = find("/data/my disk/deep");
        assert_eq!((mount.filesystem.as_str(), mount.source.as_str()), ("tmpfs", ""));
        assert_eq!(mount.options, ["rw", "size=1024k"]);
        assert_eq!(unescaped("a\\134b\\9\\04"), OsString::from("a\\b\\9\\04"));
    }

    #[test]
    fn optional_fields_do_not_shift_the_others() {
        let mount = find("/data");
        assert_eq!((mount.source.as_str(), mount.device.as_str()), ("/dev/sdb1", "8:17"));
        assert_eq!(mount.options, ["rw", "noatime", "logbufs=8", "prjquota"]);
    }

    #[test]
    fn options_tell_of_data_and_never_of_people_or_places() {
        assert_eq!(find("/").options, ["rw", "relatime", "discard", "resv_strict"]);
        assert_eq!(find("/srv").options, ["rw", "relatime", "vers=4.2"]);
        assert_eq!(find("/box").options, ["rw", "volatile", "metacopy=on"]);
        assert!(find("/box").has("volatile"));
    }

    #[test]
    fn no_list_is_no_mount() {
        assert_eq!(Mount::find("", Path::new("/")), None);
        assert_eq!(Mount::all_of(MOUNTINFO, "tmpfs").len(), 2);
    }
}
