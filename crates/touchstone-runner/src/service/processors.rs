//! Which processors a service and its generator have: one side each, where the machine has two.

use rustix::process::Pid;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use std::fs;

/// The generator has the last processor that this process may use, and the service the others; on a machine of one they share it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sides {
    service: Option<CpuSet>,
    generator: Option<usize>,
}

impl Sides {
    /// As this process finds the machine.
    pub(super) fn of_this_machine() -> Sides {
        let shared = Sides { service: None, generator: None };
        let Ok(mut allowed) = sched_getaffinity(None) else { return shared };
        let last = (0..CpuSet::MAX_CPU).rev().find(|processor| allowed.is_set(*processor));
        match last.filter(|_| allowed.count() > 1) {
            None => shared,
            Some(last) => {
                allowed.unset(last);
                Sides { service: Some(allowed), generator: Some(last) }
            }
        }
    }

    /// The generator's.
    pub(super) fn generator(self) -> Option<usize> {
        self.generator
    }

    /// Keeps a service that has started on its own, with all its threads and what they start from now on: before that it may use the
    /// whole machine, so that several start at once.
    pub(super) fn confine(self, process: u32) {
        let Some(service) = self.service else { return };
        for task in tasks(process) {
            // A thread that has ended meanwhile needs no processor, and a system that refuses leaves it where it is.
            let _ = sched_setaffinity(Some(task), &service);
        }
    }

    /// The processors that a service allows one of its threads although it was confined to others, as the system lists them.
    pub(super) fn strayed(self, process: u32) -> Option<String> {
        let service = self.service?;
        let is_outside = |task: &Pid| {
            let Ok(allowed) = sched_getaffinity(Some(*task)) else { return false };
            (0..CpuSet::MAX_CPU).any(|processor| allowed.is_set(processor) && !service.is_set(processor))
        };
        let stray = tasks(process).find(is_outside)?;
        let status = fs::read_to_string(format!("/proc/{process}/task/{stray}/status")).ok()?;
        Some(status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?.trim().to_owned())
    }
}

fn tasks(process: u32) -> impl Iterator<Item = Pid> {
    let tasks = fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
    tasks.filter_map(|task| Pid::from_raw(task.file_name().to_str()?.parse().ok()?))
}

/// Processor time of a process so far and of its children that it has waited for, in nanoseconds; 0 where the system does not tell.
pub(super) fn cpu_ns(process: u32) -> u64 {
    /// Of a process itself in user and kernel mode, and of its children in both.
    const TIMES: usize = 4;
    first_times_ns(process, TIMES)
}

/// The same without its children.
pub(super) fn own_cpu_ns(process: u32) -> u64 {
    const TIMES: usize = 2;
    first_times_ns(process, TIMES)
}

fn first_times_ns(process: u32, times: usize) -> u64 {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    // The name before these stands in brackets, and may hold some itself.
    let after = stat.rsplit(')').next().unwrap_or_default();
    let ticks: u64 =
        after.split_whitespace().skip(11).take(times).filter_map(|ticks| ticks.parse::<u64>().ok()).sum();
    // SAFETY: asks for a number and touches no memory.
    let per_second = unsafe { libc::sysconf(libc::_SC_CLK_TCK) };
    ticks.saturating_mul(1_000_000_000 / u64::try_from(per_second).unwrap_or(100).max(1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    #[test]
    fn a_process_that_allows_itself_more_than_its_side_has_strayed() {
        let mut child = Command::new("cat").stdin(Stdio::piped()).spawn().expect("cat can be started");
        let sides = Sides::of_this_machine();
        let strays = sides.strayed(child.id());
        sides.confine(child.id());
        let keeps = sides.strayed(child.id());
        drop(child.stdin.take());
        child.wait().expect("cat ends");
        // On a machine of one processor there are no sides.
        assert_eq!((strays.is_some(), keeps), (sides.generator().is_some(), None));
    }
}
