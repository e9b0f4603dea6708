//! Processor, memory, and whether the machine is a real one.

use super::cgroup::ControlGroup;
use super::{Group, bytes_text, group, kernel_text, or_not_exposed};
use rustix::thread::sched_getaffinity;
use std::collections::BTreeSet;
use std::fs;

const CPUS: &str = "/sys/devices/system/cpu";

/// What is known of the machine.
#[derive(Clone, Debug, Default)]
pub(crate) struct Machine {
    model: String,
    pub cores_online: usize,
    /// Cores this process may run on.
    cores_allowed: usize,
    quota: Option<f64>,
    memory_bytes: Option<u64>,
    virtualisation: String,
    /// Every governor in use, such as `performance`; none where frequency is not ours to see.
    pub governor: Option<String>,
    turbo: Option<bool>,
    simultaneous_threads: Option<String>,
}

impl Machine {
    pub fn read() -> Machine {
        let cpuinfo = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let meminfo = fs::read_to_string("/proc/meminfo").unwrap_or_default();
        let allowed = sched_getaffinity(None).map_or(1, |set| set.count() as usize);
        Machine {
            model: model(&cpuinfo).unwrap_or_else(|| format!("unknown ({})", std::env::consts::ARCH)),
            cores_online: kernel_text(format!("{CPUS}/online"))
                .and_then(|list| listed(&list))
                .unwrap_or(allowed),
            cores_allowed: allowed,
            quota: ControlGroup::read().processors,
            memory_bytes: meminfo_bytes(&meminfo, "MemTotal"),
            virtualisation: virtualisation(&cpuinfo, &Hints::read()),
            governor: governors(),
            turbo: turbo(),
            simultaneous_threads: kernel_text(format!("{CPUS}/smt/active")).map(|active| {
                match active.as_str() {
                    "1" => "on".into(),
                    _ => kernel_text(format!("{CPUS}/smt/control")).map_or("off".into(), threads_control),
                }
            }),
        }
    }

    /// A machine with so many cores.
    #[cfg(test)]
    pub fn with_cores(cores: usize) -> Machine {
        Machine { cores_online: cores, cores_allowed: cores, ..Machine::default() }
    }

    /// Cores that can be busy for us at the same time.
    pub fn cores_available(&self) -> usize {
        let quota = self.quota.map_or(usize::MAX, |quota| (quota.floor() as usize).max(1));
        self.cores_allowed.min(quota).max(1)
    }

    pub fn texts(&self) -> Group {
        let turbo = self.turbo.map(|on| if on { "on" } else { "off" }.to_owned());
        group([
            ("model", Some(self.model.clone())),
            ("cores", Some(self.cores_text())),
            ("memory", self.memory_bytes.map(bytes_text)),
            ("virtualisation", Some(self.virtualisation.clone())),
            ("governor", Some(self.governor.clone().unwrap_or_else(|| "none exposed".into()))),
            ("turbo", or_not_exposed(turbo)),
            ("simultaneous_threads", or_not_exposed(self.simultaneous_threads.clone())),
        ])
    }

    fn cores_text(&self) -> String {
        let (available, online) = (self.cores_available(), self.cores_online);
        let plural = if online == 1 { "" } else { "s" };
        match self.quota {
            _ if available == online => format!("{online} core{plural}"),
            Some(quota) if quota < self.cores_allowed as f64 => {
                format!("{available} of {online} core{plural} (a control group allows {quota:.2})")
            }
            _ => format!("{available} of {online} core{plural} (by affinity)"),
        }
    }
}

/// The processor's name, which every architecture writes under another heading.
fn model(cpuinfo: &str) -> Option<String> {
    let field = |name: &str| {
        let mut fields = cpuinfo.lines().filter_map(|line| line.split_once(':'));
        let value = fields.find(|(known, _)| known.trim() == name)?.1.trim();
        (!value.is_empty()).then(|| value.split_whitespace().collect::<Vec<_>>().join(" "))
    };
    ["model name", "cpu model", "cpu", "uarch", "Model"].into_iter().find_map(field).or_else(|| {
        Some(format!("ARM implementer {}, part {}", field("CPU implementer")?, field("CPU part")?))
    })
}

/// How many a list such as `0-3,6` names.
fn listed(list: &str) -> Option<usize> {
    let count = |range: &str| {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        (last.parse::<usize>().ok()? + 1).checked_sub(first.parse().ok()?)
    };
    list.split(',').map(count).sum()
}

/// A line of `/proc/meminfo`, which counts in KiB.
pub(super) fn meminfo_bytes(meminfo: &str, name: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

fn governors() -> Option<String> {
    let policies = fs::read_dir(format!("{CPUS}/cpufreq")).ok()?;
    let paths = policies.filter_map(|policy| Some(policy.ok()?.path().join("scaling_governor")));
    let governors: BTreeSet<String> = paths.filter_map(kernel_text).collect();
    (!governors.is_empty()).then(|| governors.into_iter().collect::<Vec<_>>().join(", "))
}

fn turbo() -> Option<bool> {
    let disabled = kernel_text(format!("{CPUS}/intel_pstate/no_turbo")).map(|text| text == "0");
    disabled.or_else(|| kernel_text(format!("{CPUS}/cpufreq/boost")).map(|text| text == "1"))
}

fn threads_control(control: String) -> String {
    if control.starts_with("not") { "not supported".into() } else { "off".into() }
}

/// Where a virtual machine may give itself away.
#[derive(Debug, Default)]
struct Hints {
    clocks: String,
    vendor: String,
    hypervisor: String,
    kernel: String,
}

impl Hints {
    fn read() -> Hints {
        let text = |path: &str| kernel_text(path).unwrap_or_default();
        Hints {
            clocks: text("/sys/devices/system/clocksource/clocksource0/available_clocksource"),
            vendor: format!(
                "{} {}",
                text("/sys/class/dmi/id/sys_vendor"),
                text("/sys/class/dmi/id/product_name")
            ),
            hypervisor: text("/sys/hypervisor/type"),
            kernel: text("/proc/sys/kernel/osrelease"),
        }
    }
}

/// A hint, no more: a machine that hides being virtual can.
fn virtualisation(cpuinfo: &str, hints: &Hints) -> String {
    const KINDS: [(&str, &str); 12] = [
        ("microsoft", "WSL or Hyper-V"),
        ("hyperv", "Hyper-V"),
        ("vmware", "VMware"),
        ("virtualbox", "VirtualBox"),
        ("parallels", "Parallels"),
        ("apple virtualization", "Apple"),
        ("xen", "Xen"),
        ("amazon ec2", "Amazon EC2"),
        ("google compute", "Google Compute Engine"),
        ("kvm", "KVM"),
        ("qemu", "QEMU"),
        ("bhyve", "bhyve"),
    ];
    let told =
        format!("{} {} {} {}", hints.hypervisor, hints.vendor, hints.kernel, hints.clocks).to_lowercase();
    let kind = KINDS.into_iter().find_map(|(sign, kind)| told.contains(sign).then_some(kind));
    let mut flags = cpuinfo.lines().filter(|line| line.starts_with("flags"));
    let flagged = flags.any(|line| line.split_whitespace().any(|flag| flag == "hypervisor"));
    match kind {
        // Some vendors sell real machines too; the processor knows better, where it tells.
        Some(kind) if flagged || !cpuinfo.contains("flags\t") => format!("virtual machine ({kind})"),
        _ if flagged => "virtual machine".into(),
        _ => "none seen".into(),
    }
}

#[cfg(test)]
mod tests;
