//! What this machine can do at best of what the cases of a plan do with pages: a line in their charts.

use super::files::{Files, Operation, Pattern};
use super::memory;
use super::turn::Timetable;
use crate::environment::{Limits, Storage};
use crate::error::Result;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};
use touchstone::plan::Plan;
use touchstone::record::{Access, AccessKind, Ceiling};

/// How long memory may be copied, all sizes together, and how long each access may be tried on the device: more than they take,
/// but on a machine that is busy with something else.
const MEMORY: Duration = Duration::from_secs(3);
const DEVICE: Duration = Duration::from_secs(1);

/// The ceilings of every access that a plan has, none twice; a directory that is not there yet is made.
///
/// # Errors
/// When the directory cannot be written, its disk is full, or the user stops it.
pub fn ceilings(plan: &Plan, directory: &Path, stop: &AtomicBool) -> Result<Vec<Ceiling>> {
    let mut accesses: Vec<Access> = plan.cases.iter().filter_map(|case| case.access()).collect();
    accesses.sort_unstable();
    accesses.dedup();
    measure(accesses, directory, stop)
}

fn measure(accesses: Vec<Access>, directory: &Path, stop: &AtomicBool) -> Result<Vec<Ceiling>> {
    if accesses.is_empty() {
        return Ok(Vec::new());
    }
    let bytes: Vec<usize> = accesses.iter().map(|access| access.operation_bytes as usize).collect();
    let timetable = Timetable::new(Instant::now(), MEMORY, stop);
    let copies = memory::page_copies(&bytes, &Limits::read(), &timetable.subjects());
    let asked: Vec<_> =
        accesses.iter().filter(|access| Files::has_blocks_of(access.operation_bytes)).map(asked).collect();
    let timetable = Timetable::new(Instant::now(), DEVICE * accesses.len() as u32, stop);
    let device = Files::direct(directory, &Storage::read(directory), &asked, &timetable.subjects())?;
    let ceiling = |(access, copies): (Access, Option<f64>)| {
        let (device, why) = match &device {
            Ok(rates) => (
                asked.iter().position(|known| *known == self::asked(&access)).map(|place| rates[place]),
                None,
            ),
            Err(why) => (None, Some(why.clone())),
        };
        let no_copies = copies.is_none().then(|| "too little memory or time was free to copy any".to_owned());
        let no_device =
            device.is_none().then(|| "pages of this size are not read and written past the cache".to_owned());
        let unmeasured = [no_copies, why.or(no_device)]
            .into_iter()
            .flatten()
            .reduce(|one, other| format!("{one}; {other}"));
        Ceiling { access, copies_per_second: copies, device_per_second: device, unmeasured }
    };
    Ok(accesses.into_iter().zip(copies).map(ceiling).collect())
}

/// The same in the words of whoever reads and writes files.
fn asked(access: &Access) -> (Pattern, Operation, usize) {
    let pattern = if access.random { Pattern::Random } else { Pattern::Sequential };
    let operation = match access.kind {
        AccessKind::Read => Operation::Read,
        AccessKind::Write => Operation::Write,
    };
    (pattern, operation, access.operation_bytes as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What cannot be measured says why: a page of 512 bytes is none that every device reads alone.
    #[test]
    fn every_access_has_its_limits_or_the_reason_why_not() {
        let directory = tempfile::tempdir().unwrap();
        let access = |operation_bytes| Access { kind: AccessKind::Read, random: true, operation_bytes };
        let stop = AtomicBool::new(false);
        let found =
            measure(vec![access(512), access(4096), access(65_536)], directory.path(), &stop).unwrap();
        assert_eq!(
            found.iter().map(|one| one.access.operation_bytes).collect::<Vec<_>>(),
            [512, 4096, 65_536]
        );
        assert_eq!(found[0].device_per_second, None);
        for one in &found {
            let all = one.copies_per_second.is_some() && one.device_per_second.is_some();
            assert_eq!(all, one.unmeasured.is_none(), "{one:?}");
            assert!(one.copies_per_second.into_iter().chain(one.device_per_second).all(|rate| rate > 0.0));
        }
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0, "nothing is left behind");
    }

    #[test]
    fn a_plan_without_pages_asks_for_nothing() {
        let nowhere = Path::new("/nowhere");
        assert_eq!(measure(Vec::new(), nowhere, &AtomicBool::new(false)).unwrap(), []);
    }
}
