//! The seccomp filter: stop at the calls of the table, let all others pass at full speed.

use std::collections::BTreeMap;

use libc::c_long;
use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule,
};

use super::syscalls::{O_TMPFILE_BIT, TRACED};

/// The reflink requests of `ioctl` (`linux/fs.h`); `libc` has no names for them.
const FICLONE: u64 = 0x4004_9409;
const FICLONERANGE: u64 = 0x4020_940d;

/// Compiles the filter. A call that it stops without a tracer attached fails with `ENOSYS`, and programs of another
/// architecture are killed: nothing slips past unrecorded.
pub(super) fn program() -> Result<BpfProgram, BackendError> {
    let mut rules = BTreeMap::new();
    for &(number, _) in TRACED {
        rules.insert(number, narrowed(number)?);
    }
    let architecture = std::env::consts::ARCH.try_into()?;
    SeccompFilter::new(rules, SeccompAction::Allow, SeccompAction::Trace(0), architecture)?.try_into()
}

/// On which arguments a call is of interest; an empty list means on all.
fn narrowed(number: c_long) -> Result<Vec<SeccompRule>, BackendError> {
    // Only an open that may create or empty a file changes anything by itself.
    let opens = [libc::O_CREAT, libc::O_TRUNC, O_TMPFILE_BIT];
    match number {
        libc::SYS_open => opens.iter().map(|&flag| all([has(1, flag)?])).collect(),
        libc::SYS_openat => opens.iter().map(|&flag| all([has(2, flag)?])).collect(),
        // MAP_SHARED_VALIDATE contains the bit of MAP_SHARED, MAP_PRIVATE does not.
        libc::SYS_mmap => Ok(vec![all([has(2, libc::PROT_WRITE)?, has(3, libc::MAP_SHARED)?])?]),
        libc::SYS_msync => Ok(vec![all([has(2, libc::MS_SYNC)?])?]),
        libc::SYS_ioctl => [FICLONE, FICLONERANGE].iter().map(|&request| all([is(1, request)?])).collect(),
        _ => Ok(Vec::new()),
    }
}

fn all<const N: usize>(conditions: [SeccompCondition; N]) -> Result<SeccompRule, BackendError> {
    SeccompRule::new(conditions.into())
}

fn has(argument: u8, flag: i32) -> Result<SeccompCondition, BackendError> {
    let flag = flag as u64;
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, SeccompCmpOp::MaskedEq(flag), flag)
}

fn is(argument: u8, value: u64) -> Result<SeccompCondition, BackendError> {
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, value)
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_filter_compiles_for_this_machine() {
        assert!(!super::program().unwrap().is_empty());
    }
}
