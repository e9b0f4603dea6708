//! The calls that change files: one table that says which there are, and what their arguments mean. Pure.

use libc::{AT_FDCWD, c_long};

/// The six argument registers of a call.
pub(super) type Arguments = [u64; 6];

/// A traced call and what it asks for. Addresses are in the tracee's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Call {
    Write {
        descriptor: i32,
        buffer: Buffer,
        position: Position,
        flags: i32,
    },
    Transfer {
        descriptor: i32,
        position_address: u64,
    },
    Open {
        name: Name,
        flags: OpenFlags,
    },
    MakeDirectory {
        name: Name,
    },
    MakeNode {
        name: Name,
    },
    Symlink {
        name: Name,
    },
    Link {
        name: Name,
    },
    Rename {
        from: Name,
        to: Name,
        flags: u32,
    },
    Unlink {
        name: Name,
    },
    Truncate {
        name: Name,
        length: u64,
    },
    TruncateDescriptor {
        descriptor: i32,
        length: u64,
    },
    Allocate {
        descriptor: i32,
        mode: i32,
        offset: u64,
        length: u64,
    },
    Sync {
        descriptor: i32,
        data_only: bool,
    },
    SyncRange {
        descriptor: i32,
        offset: u64,
        length: u64,
        flags: u32,
    },
    SyncMapping {
        address: u64,
        length: u64,
    },
    SyncEverything,
    SyncFileSystem {
        descriptor: i32,
    },
    Map {
        descriptor: i32,
        offset: u64,
        length: u64,
    },
    Reflink {
        descriptor: i32,
    },
    /// Not let through: the call fails with `ENOSYS` and the subject falls back to calls that can be followed.
    Refuse {
        what: &'static str,
    },
}

/// The bytes that a call writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Buffer {
    Flat { address: u64 },
    Vector { address: u64, count: u64 },
}

/// Where a call writes them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Position {
    Current,
    At(u64),
}

/// A path argument: a directory descriptor and the address of the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Name {
    pub(super) base: i32,
    pub(super) address: u64,
}

/// The flags of an open: given, or in the tracee's memory (`openat2`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OpenFlags {
    Given(i32),
    At(u64),
}

/// The bit of `O_TMPFILE` that is its own; the rest of it is `O_DIRECTORY`.
pub(super) const O_TMPFILE_BIT: i32 = libc::O_TMPFILE & !libc::O_DIRECTORY;

/// A system call's number with the meaning of its arguments.
pub(super) type Traced = (c_long, fn(&Arguments) -> Call);

/// Every call that the recorder stops at; `filter` narrows some of them by their arguments.
pub(super) const TRACED: &[Traced] = &[
    (libc::SYS_write, |a| write(a, flat(a), Position::Current, 0)),
    (libc::SYS_pwrite64, |a| write(a, flat(a), Position::At(a[3]), 0)),
    (libc::SYS_writev, |a| write(a, vector(a), Position::Current, 0)),
    (libc::SYS_pwritev, |a| write(a, vector(a), Position::At(a[3]), 0)),
    (libc::SYS_pwritev2, |a| write(a, vector(a), position_or_current(a[3]), a[5] as i32)),
    (libc::SYS_sendfile, |a| transfer(a[0], 0)),
    (libc::SYS_copy_file_range, |a| transfer(a[2], a[3])),
    (libc::SYS_splice, |a| transfer(a[2], a[3])),
    (libc::SYS_open, |a| open(here(a[0]), OpenFlags::Given(a[1] as i32))),
    (libc::SYS_openat, |a| open(name(a[0], a[1]), OpenFlags::Given(a[2] as i32))),
    (libc::SYS_openat2, |a| open(name(a[0], a[1]), OpenFlags::At(a[2]))),
    (libc::SYS_creat, |a| open(here(a[0]), OpenFlags::Given(libc::O_CREAT | libc::O_TRUNC))),
    (libc::SYS_mkdir, |a| Call::MakeDirectory { name: here(a[0]) }),
    (libc::SYS_mkdirat, |a| Call::MakeDirectory { name: name(a[0], a[1]) }),
    (libc::SYS_mknod, |a| Call::MakeNode { name: here(a[0]) }),
    (libc::SYS_mknodat, |a| Call::MakeNode { name: name(a[0], a[1]) }),
    (libc::SYS_symlink, |a| Call::Symlink { name: here(a[1]) }),
    (libc::SYS_symlinkat, |a| Call::Symlink { name: name(a[1], a[2]) }),
    (libc::SYS_link, |a| Call::Link { name: here(a[1]) }),
    (libc::SYS_linkat, |a| Call::Link { name: name(a[2], a[3]) }),
    (libc::SYS_rename, |a| rename(here(a[0]), here(a[1]), 0)),
    (libc::SYS_renameat, |a| rename(name(a[0], a[1]), name(a[2], a[3]), 0)),
    (libc::SYS_renameat2, |a| rename(name(a[0], a[1]), name(a[2], a[3]), a[4])),
    (libc::SYS_unlink, |a| Call::Unlink { name: here(a[0]) }),
    (libc::SYS_unlinkat, |a| Call::Unlink { name: name(a[0], a[1]) }),
    (libc::SYS_rmdir, |a| Call::Unlink { name: here(a[0]) }),
    (libc::SYS_truncate, |a| Call::Truncate { name: here(a[0]), length: a[1] }),
    (libc::SYS_ftruncate, |a| Call::TruncateDescriptor { descriptor: a[0] as i32, length: a[1] }),
    (libc::SYS_fallocate, |a| Call::Allocate {
        descriptor: a[0] as i32,
        mode: a[1] as i32,
        offset: a[2],
        length: a[3],
    }),
    (libc::SYS_fsync, |a| Call::Sync { descriptor: a[0] as i32, data_only: false }),
    (libc::SYS_fdatasync, |a| Call::Sync { descriptor: a[0] as i32, data_only: true }),
    (libc::SYS_sync, |_| Call::SyncEverything),
    (libc::SYS_syncfs, |a| Call::SyncFileSystem { descriptor: a[0] as i32 }),
    (libc::SYS_msync, |a| Call::SyncMapping { address: a[0], length: a[1] }),
    (libc::SYS_sync_file_range, |a| Call::SyncRange {
        descriptor: a[0] as i32,
        offset: a[1],
        length: a[2],
        flags: a[3] as u32,
    }),
    (libc::SYS_mmap, |a| Call::Map { descriptor: a[4] as i32, offset: a[5], length: a[1] }),
    (libc::SYS_ioctl, |a| Call::Reflink { descriptor: a[0] as i32 }),
    (libc::SYS_io_uring_setup, |_| Call::Refuse { what: "io_uring (refused with ENOSYS)" }),
    (libc::SYS_io_setup, |_| Call::Refuse { what: "asynchronous I/O by io_setup (refused with ENOSYS)" }),
];

/// What a call means, if it is one of the table.
pub(super) fn decode(number: u64, arguments: &Arguments) -> Option<Call> {
    TRACED.iter().find(|traced| traced.0 as u64 == number).map(|traced| (traced.1)(arguments))
}

fn write(a: &Arguments, buffer: Buffer, position: Position, flags: i32) -> Call {
    Call::Write { descriptor: a[0] as i32, buffer, position, flags }
}

fn flat(a: &Arguments) -> Buffer {
    Buffer::Flat { address: a[1] }
}

fn vector(a: &Arguments) -> Buffer {
    Buffer::Vector { address: a[1], count: a[2] }
}

fn position_or_current(offset: u64) -> Position {
    if offset as i64 == -1 { Position::Current } else { Position::At(offset) }
}

fn transfer(descriptor: u64, position_address: u64) -> Call {
    Call::Transfer { descriptor: descriptor as i32, position_address }
}

fn open(name: Name, flags: OpenFlags) -> Call {
    Call::Open { name, flags }
}

fn rename(from: Name, to: Name, flags: u64) -> Call {
    Call::Rename { from, to, flags: flags as u32 }
}

fn name(base: u64, address: u64) -> Name {
    Name { base: base as i32, address }
}

fn here(address: u64) -> Name {
    Name { base: AT_FDCWD, address }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_call_is_in_the_table_twice() {
        let mut numbers: Vec<_> = TRACED.iter().map(|traced| traced.0).collect();
        numbers.sort_unstable();
        numbers.dedup();
        assert_eq!(numbers.len(), TRACED.len());
    }

    #[test]
    fn the_offset_minus_one_of_pwritev2_means_the_current_position() {
        let arguments = [3, 64, 2, u64::MAX, 0, libc::RWF_DSYNC as u64];
        let expected = Call::Write {
            descriptor: 3,
            buffer: Buffer::Vector { address: 64, count: 2 },
            position: Position::Current,
            flags: libc::RWF_DSYNC,
        };
        assert_eq!(decode(libc::SYS_pwritev2 as u64, &arguments), Some(expected));
    }

    #[test]
    fn a_call_outside_the_table_means_nothing() {
        assert_eq!(decode(libc::SYS_read as u64, &[0; 6]), None);
    }
}
