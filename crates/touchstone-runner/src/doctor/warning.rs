//! What should be known before anything is measured here: decided once, from facts and figures, shown by others.

use super::subject::SubjectState;
use super::units::{duration, percent};
use super::{Diagnosis, flush};
use crate::environment::{Facts, bytes_text};
use serde::{Deserialize, Serialize};

/// Others have the processor or the disk for more than this share of the time.
const PRESSURE_MAX: f64 = 0.1;

/// The host takes more than this share of the processor time.
const STEAL_MAX: f64 = 0.05;

/// A run holds templates, copies of them and its record.
const FREE_BYTES_MIN: u64 = 2 << 30;

/// Clocks that are read without asking the kernel and belong to the processor itself.
const OWN_CLOCKS: [&str; 4] = ["tsc", "arch_sys_counter", "riscv_clocksource", "timebase"];

/// Something that would spoil a measurement, or leave a part of it out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Warning {
    /// What was found.
    pub what: String,
    /// Why it matters.
    pub why: String,
    /// What to do about it.
    pub remedy: String,
}

fn warning(what: impl Into<String>, why: impl Into<String>, remedy: impl Into<String>) -> Warning {
    Warning { what: what.into(), why: why.into(), remedy: remedy.into() }
}

/// Everything to warn of, the worst first.
pub(super) fn warnings(facts: &Facts, diagnosis: &Diagnosis) -> Vec<Warning> {
    let storage = [no_disk(facts, diagnosis), flushes_disabled(facts), elsewhere(facts), full(facts)];
    let processor = [one_core(facts), governor(facts), busy(diagnosis), stolen(diagnosis)];
    let system = [preloaded(facts), clock(facts, diagnosis), randomisation(facts), recorder(diagnosis)];
    storage
        .into_iter()
        .chain(processor)
        .chain(system)
        .chain([wal_reset(diagnosis), failed(diagnosis)])
        .flatten()
        .collect()
}

fn no_disk(facts: &Facts, diagnosis: &Diagnosis) -> Option<Warning> {
    let remedy = "name a directory on a disk of this machine";
    if let Some(reason) = facts.storage.in_memory() {
        return Some(warning(
            reason,
            "no commit reaches a disk, so durable commits are not measured here",
            remedy,
        ));
    }
    let p50 = diagnosis.flushes.latency_ns_p50;
    (p50 < flush::DEVICE_NS_MIN).then(|| {
        warning(
            format!("a flush takes {}, too little for any disk", duration(p50)),
            "something between the file and the disk acknowledges writes before they are durable",
            format!("look for libeatmydata, an unsafe cache mode of the virtual machine, or a sandbox; or {remedy}"),
        )
    })
}

fn flushes_disabled(facts: &Facts) -> Option<Warning> {
    facts.storage.flushes_disabled().map(|reason| {
        warning(
            reason,
            "the disk is not told to empty its cache, so a power cut loses acknowledged commits",
            "mount it with barriers, or name a directory on another filesystem",
        )
    })
}

fn elsewhere(facts: &Facts) -> Option<Warning> {
    let filesystem = facts.storage.elsewhere()?;
    Some(warning(
        format!("{filesystem} is kept by another machine or program"),
        "every call pays for the way there, and what a flush means is decided at the other end",
        "name a directory on a disk of this machine",
    ))
}

fn full(facts: &Facts) -> Option<Warning> {
    let free_bytes = facts.storage.free_bytes.filter(|free_bytes| *free_bytes < FREE_BYTES_MIN)?;
    Some(warning(
        format!("only {} of the disk are free", bytes_text(free_bytes)),
        "a run keeps several copies of each database and ends when the disk is full",
        "free some space, or name a directory on another disk",
    ))
}

fn one_core(facts: &Facts) -> Option<Warning> {
    (facts.machine.cores_available() == 1).then(|| {
        warning(
            "there is one core to run on",
            "lab and subject take turns on it, and cases with several threads measure the scheduler",
            "give the machine or the container a second core, or leave out cases with several lanes",
        )
    })
}

fn governor(facts: &Facts) -> Option<Warning> {
    let governor = facts.machine.governor.as_deref()?;
    let slow = governor.contains("powersave") || governor.contains("conservative");
    slow.then(|| {
        warning(
            format!("the processor's governor is {governor}"),
            "the frequency follows the load, so short slices run at whatever it was before",
            "while measuring: cpupower frequency-set --governor performance",
        )
    })
}

/// At rest all pressure is of others' making; during the examination the lab waits for the disk itself.
fn busy(diagnosis: &Diagnosis) -> Option<Warning> {
    let rest = diagnosis.noise.at_rest;
    let high = |share: Option<f64>| share.filter(|share| *share > PRESSURE_MAX);
    let what = match (high(rest.cpu_pressure), high(rest.io_pressure)) {
        (Some(cpu), _) => {
            format!("with the lab at rest, programs waited for a processor {} of the time", percent(cpu))
        }
        (_, Some(io)) => {
            format!("with the lab at rest, programs waited for the disk {} of the time", percent(io))
        }
        _ => return None,
    };
    Some(warning(
        what,
        "times will tell of the neighbours too, and more launches are needed",
        "stop other work first",
    ))
}

fn stolen(diagnosis: &Diagnosis) -> Option<Warning> {
    let noise = diagnosis.noise;
    let steal = noise.at_rest.steal.into_iter().chain(noise.examination.steal).reduce(f64::max)?;
    (steal > STEAL_MAX).then(|| {
        warning(
            format!("the host took {} of the processor time for others", percent(steal)),
            "other virtual machines slow this one down, and nothing in it can help that",
            "use a dedicated machine, or trust counts more than times",
        )
    })
}

fn preloaded(facts: &Facts) -> Option<Warning> {
    let names = facts.system.preloaded.as_deref()?;
    Some(warning(
        format!("LD_PRELOAD puts {names} in front of every driver"),
        "it may replace the allocator, or the calls that make a commit durable",
        "unset LD_PRELOAD, unless it is what you want to measure",
    ))
}

fn clock(facts: &Facts, diagnosis: &Diagnosis) -> Option<Warning> {
    let clock = facts.system.clock.as_deref().filter(|clock| !OWN_CLOCKS.contains(clock))?;
    Some(warning(
        format!("the system tells the time by {clock}, not by the processor's own counter"),
        format!("a reading costs {} here, and the host may correct it", duration(diagnosis.clock.cost_ns)),
        "choose tsc in /sys/devices/system/clocksource/clocksource0 where it is offered",
    ))
}

fn randomisation(facts: &Facts) -> Option<Warning> {
    (facts.system.randomisation == Some(0)).then(|| {
        warning(
            "address randomisation is off",
            "every launch has the same memory layout, so its luck does not average out over launches",
            "sysctl kernel.randomize_va_space=2",
        )
    })
}

fn recorder(diagnosis: &Diagnosis) -> Option<Warning> {
    let reason = diagnosis.recorder_unavailable.as_deref()?;
    Some(warning(
        "syncs per commit cannot be counted, so reports have no syncs column",
        reason,
        "run on Linux where a process may trace its children (ptrace; --cap-add=SYS_PTRACE in a container)",
    ))
}

fn wal_reset(diagnosis: &Diagnosis) -> Option<Warning> {
    let broken =
        |state: &SubjectState| matches!(state, SubjectState::Linked { wal_reset_fix: Some(false), .. });
    let names = names(diagnosis, broken)?;
    Some(warning(
        format!("linked to a SQLite with the WAL-reset bug: {names}"),
        "two connections that checkpoint at once can damage the log, so a result may rest on damaged data",
        "build with SQLite 3.51.3 or later",
    ))
}

fn failed(diagnosis: &Diagnosis) -> Option<Warning> {
    let names = names(diagnosis, |state| matches!(state, SubjectState::Failed { .. }))?;
    Some(warning(
        format!("built, but not able to say who they are: {names}"),
        "a driver that does not introduce itself cannot be measured",
        "see the subjects below for what each said; touchstone bench builds them again",
    ))
}

fn names(diagnosis: &Diagnosis, wanted: impl Fn(&SubjectState) -> bool) -> Option<String> {
    let reports = diagnosis.subjects.iter().filter(|report| wanted(&report.state));
    let names: Vec<&str> = reports.map(|report| report.subject.as_str()).collect();
    (!names.is_empty()).then(|| names.join(", "))
}

#[cfg(test)]
mod tests;
