//! Machines that should be warned of, one thing at a time; and one with nothing wrong.

use super::*;
use crate::doctor::sample;
use crate::environment::{Machine, Storage};

/// The only warning when facts are spoilt in one way.
fn facts_warning(spoil: impl FnOnce(&mut Facts)) -> Warning {
    let mut facts = sample::facts();
    spoil(&mut facts);
    only(warnings(&facts, &sample::diagnosis()))
}

/// The only warning when figures are spoilt in one way.
fn figures_warning(spoil: impl FnOnce(&mut Diagnosis)) -> Warning {
    let mut diagnosis = sample::diagnosis();
    spoil(&mut diagnosis);
    only(warnings(&sample::facts(), &diagnosis))
}

fn only(mut warnings: Vec<Warning>) -> Warning {
    assert_eq!(warnings.len(), 1, "{warnings:#?}");
    let warning = warnings.remove(0);
    assert!(!warning.why.is_empty() && !warning.remedy.is_empty());
    assert!(!warning.what.ends_with('.') && !warning.why.ends_with('.') && !warning.remedy.ends_with('.'));
    warning
}

#[test]
fn a_good_machine_is_not_warned_of() {
    assert_eq!(warnings(&sample::facts(), &sample::diagnosis()), []);
}

#[test]
fn storage_that_keeps_nothing_is_warned_of_once() {
    let mounted = |mountinfo: &'static str| {
        facts_warning(|facts| facts.storage.mount = Storage::mounted(mountinfo).mount).what
    };
    assert_eq!(mounted("1 0 0:2 / / rw - tmpfs tmpfs rw"), "tmpfs keeps its files in memory");
    assert!(mounted("1 0 0:2 / / rw - overlay overlay rw,volatile").contains("leaves out every flush"));
    assert!(mounted("1 0 8:1 / / rw - ext4 /dev/sda1 rw,nobarrier").contains("nobarrier"));
    assert!(mounted("1 0 0:9 / / rw - nfs4 nas:/x rw").contains("nfs4"));
    assert!(facts_warning(|facts| facts.storage.free_bytes = Some(1 << 29)).what.contains("512.0 MiB"));
}

#[test]
fn a_flush_too_quick_for_a_disk_is_warned_of() {
    let warning = figures_warning(|diagnosis| diagnosis.flushes.latency_ns_p50 = 900.0);
    assert!(warning.what.contains("900 ns"), "{warning:?}");
    assert!(warning.remedy.contains("libeatmydata"), "{warning:?}");
}

#[test]
fn processors_that_do_not_hold_still_are_warned_of() {
    let governor = facts_warning(|facts| facts.machine.governor = Some("powersave".into()));
    assert!(governor.what.contains("powersave"));
    let one = facts_warning(|facts| facts.machine = Machine::with_cores(1));
    assert!(one.what.contains("one core"));
    let clock = facts_warning(|facts| facts.system.clock = Some("hpet".into()));
    assert!(clock.what.contains("hpet") && clock.why.contains("24.2 ns"), "{clock:?}");
    let layout = facts_warning(|facts| facts.system.randomisation = Some(0));
    assert!(layout.what.contains("address randomisation is off"));
    let preloaded = facts_warning(|facts| facts.system.preloaded = Some("libeatmydata.so".into()));
    assert!(preloaded.what.contains("libeatmydata.so"));
}

#[test]
fn neighbours_are_warned_of_by_what_they_take() {
    let processor = figures_warning(|diagnosis| diagnosis.noise.at_rest.cpu_pressure = Some(0.5));
    assert!(processor.what.contains("for a processor 50 %"));
    let disk = figures_warning(|diagnosis| diagnosis.noise.at_rest.io_pressure = Some(0.2));
    assert!(disk.what.contains("for the disk 20 %"));
    let host = figures_warning(|diagnosis| diagnosis.noise.examination.steal = Some(0.07));
    assert!(host.what.contains("the host took 7.0 %"));
}

#[test]
fn the_lab_waiting_for_its_own_disk_is_no_warning() {
    let mut diagnosis = sample::diagnosis();
    diagnosis.noise.examination.io_pressure = Some(0.9);
    assert_eq!(warnings(&sample::facts(), &diagnosis), []);
}

#[test]
fn what_cannot_be_counted_or_trusted_is_warned_of_by_name() {
    let recorder = figures_warning(|diagnosis| diagnosis.recorder_unavailable = Some("no ptrace".into()));
    assert_eq!(recorder.why, "no ptrace");
    let old = figures_warning(|diagnosis| {
        let state = sample::linked("3.40.1", "SQLite 3.40.1", Some(false), &[]);
        diagnosis.subjects.push(sample::subject("python-sqlite3", state));
    });
    assert!(old.what.ends_with("WAL-reset bug: python-sqlite3"), "{old:?}");
    let failed = figures_warning(|diagnosis| {
        let state = SubjectState::Failed { error: "the driver ended: exit status 1".into() };
        diagnosis.subjects.push(sample::subject("broken", state));
    });
    assert!(failed.what.ends_with("broken"), "{failed:?}");
}
