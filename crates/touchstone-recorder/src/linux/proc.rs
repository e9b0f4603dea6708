//! What `/proc` knows of a stopped task: its descriptors, its working directory, its mappings. Asking at each stop
//! keeps no table of descriptors that `dup`, `fork`, `fcntl` or passing over sockets could make wrong.

use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// A traced thread, by its kernel id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Task(pub(super) libc::pid_t);

/// What a file is, whatever it is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Inode {
    pub(super) device: u64,
    pub(super) number: u64,
}

/// The state of an open file that changes while it is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct OpenState {
    pub(super) position: u64,
    pub(super) flags: i32,
}

/// The part of a file that some addresses stand for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Mapped {
    pub(super) path: PathBuf,
    pub(super) offset: u64,
    pub(super) length: u64,
}

impl Inode {
    pub(super) fn of(metadata: &Metadata) -> Inode {
        Inode { device: metadata.dev(), number: metadata.ino() }
    }
}

impl Mapped {
    /// Adds the piece if it continues this one.
    fn extended_by(mut self, piece: &Mapped) -> Mapped {
        if piece.path == self.path && piece.offset == self.offset + self.length {
            self.length += piece.length;
        }
        self
    }
}

impl Task {
    /// What lies behind a descriptor; `None` if there is no such descriptor.
    pub(super) fn descriptor(self, descriptor: i32) -> io::Result<Option<Metadata>> {
        there(fs::metadata(self.descriptor_path(descriptor)))
    }

    /// The path of what lies behind a descriptor, as the kernel tells it.
    pub(super) fn descriptor_target(self, descriptor: i32) -> io::Result<Option<PathBuf>> {
        there(fs::read_link(self.descriptor_path(descriptor)))
    }

    /// The name under which the recorder can open what lies behind a descriptor.
    pub(super) fn descriptor_path(self, descriptor: i32) -> PathBuf {
        self.entry(&format!("fd/{descriptor}"))
    }

    /// Position and flags of a descriptor's open file.
    pub(super) fn open_state(self, descriptor: i32) -> io::Result<Option<OpenState>> {
        let text = there(fs::read_to_string(self.entry(&format!("fdinfo/{descriptor}"))))?;
        text.map(|text| parse_open_state(&text).ok_or_else(|| unreadable("fdinfo"))).transpose()
    }

    /// Where a path argument leads, with the symbolic links of all but its last part resolved. `None` if it leads
    /// nowhere that could be reached, in which case the call will fail by itself.
    pub(super) fn locate(self, base: i32, path: &Path) -> io::Result<Option<PathBuf>> {
        let full = if let Ok(rest) = path.strip_prefix("/proc/self") {
            self.entry("").join(rest)
        } else if path.is_absolute() {
            path.to_path_buf()
        } else {
            let origin = match base {
                libc::AT_FDCWD => there(fs::read_link(self.entry("cwd")))?,
                descriptor => self.descriptor_target(descriptor)?,
            };
            match origin {
                Some(origin) => origin.join(path),
                None => return Ok(None),
            }
        };
        let located = match (full.parent(), full.file_name()) {
            (Some(parent), Some(name)) => parent.canonicalize().map(|parent| parent.join(name)),
            _ => full.canonicalize(),
        };
        reached(located)
    }

    /// The part of a file that is mapped among `length` addresses from `address` on: the first file whose path is
    /// `wanted`, as far as its mappings follow upon each other.
    pub(super) fn mapped(
        self,
        address: u64,
        length: u64,
        wanted: impl Fn(&Path) -> bool,
    ) -> io::Result<Option<Mapped>> {
        let maps = there(fs::read_to_string(self.entry("maps")))?.unwrap_or_default();
        let end = address.saturating_add(length);
        let pieces = maps.lines().filter_map(|line| parse_mapped(line, address, end));
        Ok(pieces.filter(|piece| wanted(&piece.path)).reduce(|whole, piece| whole.extended_by(&piece)))
    }

    fn entry(self, name: &str) -> PathBuf {
        PathBuf::from(format!("/proc/{}/{name}", self.0))
    }
}

/// Turns "it is not there" into `None`; what else goes wrong stays an error.
pub(super) fn there<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(error) if matches!(error.raw_os_error(), Some(code) if ABSENT.contains(&code)) => Ok(None),
        Err(error) => Err(error),
    }
}

/// As [`there`], for looking at a path that the subject named: where the subject has no access, its call fails by
/// itself. Of a task's own entries in `/proc` this must not be said: unable to read these, the recorder is blind.
pub(super) fn reached<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Ok(None),
        result => there(result),
    }
}

/// The errors of a task that has died meanwhile, or of an argument with which its call fails anyway.
const ABSENT: [i32; 7] =
    [libc::ENOENT, libc::ESRCH, libc::EFAULT, libc::EBADF, libc::ENOTDIR, libc::ELOOP, libc::ENAMETOOLONG];

fn parse_open_state(text: &str) -> Option<OpenState> {
    let field = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
    let position = field("pos:")?.parse().ok()?;
    let flags = u32::from_str_radix(field("flags:")?, 8).ok()? as i32;
    Some(OpenState { position, flags })
}

/// Reads `7f00-7f10 rw-s 00002000 fe:00 131 /path` of `/proc/PID/maps`, cut down to the addresses asked for.
fn parse_mapped(line: &str, address: u64, end: u64) -> Option<Mapped> {
    let (range, rest) = line.split_once(' ')?;
    let (first, last) = range.split_once('-')?;
    let (first, last) = (hexadecimal(first)?, hexadecimal(last)?);
    if end <= first || last <= address {
        return None;
    }
    let offset = hexadecimal(rest.split_whitespace().nth(1)?)?;
    let path = &rest[rest.find('/')?..];
    let (from, to) = (address.max(first), end.min(last));
    Some(Mapped { path: path.into(), offset: offset + (from - first), length: to - from })
}

fn hexadecimal(text: &str) -> Option<u64> {
    u64::from_str_radix(text, 16).ok()
}

fn unreadable(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("/proc gives {what} in an unknown form"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_of_an_open_file_are_octal() {
        let text = "pos:\t4096\nflags:\t0110002\nmnt_id:\t29\n";
        let state = parse_open_state(text).unwrap();
        assert_eq!(state.position, 4096);
        assert_ne!(state.flags & libc::O_DSYNC, 0);
    }

    #[test]
    fn a_range_inside_a_mapping_is_a_range_of_its_file() {
        let line = "7000-9000 rw-s 00002000 fe:00 131                  /data/base.mdb";
        let expected = Mapped { path: "/data/base.mdb".into(), offset: 0x2800, length: 0x400 };
        assert_eq!(parse_mapped(line, 0x7800, 0x7c00), Some(expected));
        assert_eq!(parse_mapped(line, 0x9000, 0xa000), None);
    }
}
