//! How much processor and memory the control groups leave to this process, in both of their versions.

use super::kernel_text;
use super::mount::Mount;
use std::fs;
use std::path::{Path, PathBuf};

/// What control groups leave of the machine; none where they leave all of it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct ControlGroup {
    /// Processors' worth of time: 1.5 is one and a half.
    pub processors: Option<f64>,
    pub memory_bytes: Option<u64>,
}

impl ControlGroup {
    pub fn read() -> ControlGroup {
        let mountinfo = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
        let memberships = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
        let folders = |controller| folders(&mountinfo, &memberships, controller);
        // Every group above limits as well, so the least counts.
        let quotas = folders("cpu").into_iter().filter_map(|folder| quota(&folder));
        let limits = folders("memory").into_iter().filter_map(|folder| memory_limit_bytes(&folder));
        ControlGroup { processors: quotas.min_by(f64::total_cmp), memory_bytes: limits.min() }
    }
}

/// The folders of this process's group and those above it, for a controller, as far as they are visible.
fn folders(mountinfo: &str, memberships: &str, controller: &str) -> Vec<PathBuf> {
    let mut folders = Vec::new();
    for line in memberships.lines() {
        let mut fields = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(group)) = (fields.next(), fields.next()) else { continue };
        let mounts = match controllers {
            // Version 2 has one hierarchy for all controllers, and names none.
            "" => Mount::all_of(mountinfo, "cgroup2"),
            _ if controllers.split(',').any(|name| name == controller) => {
                let mut mounts = Mount::all_of(mountinfo, "cgroup");
                mounts.retain(|mount| mount.has(controller));
                mounts
            }
            _ => continue,
        };
        for mount in mounts {
            // In a container the group is told from outside, yet what is mounted begins at the container's own.
            let below = Path::new(group).strip_prefix(mount.root()).unwrap_or(Path::new(""));
            let below = below.strip_prefix("/").unwrap_or(below);
            let whole_paths = below.ancestors().map(|part| match part.as_os_str().is_empty() {
                true => mount.point().to_owned(),
                false => mount.point().join(part),
            });
            folders.extend(whole_paths);
        }
    }
    folders
}

fn quota(folder: &Path) -> Option<f64> {
    if let Some(text) = kernel_text(folder.join("cpu.max")) {
        return quota_of(text.split_whitespace().next()?, text.split_whitespace().nth(1)?);
    }
    quota_of(&kernel_text(folder.join("cpu.cfs_quota_us"))?, &kernel_text(folder.join("cpu.cfs_period_us"))?)
}

/// Time in a period, both in microseconds; `max` and -1 mean no limit.
fn quota_of(time_us: &str, period_us: &str) -> Option<f64> {
    let (time_us, period_us) = (time_us.parse::<f64>().ok()?, period_us.parse::<f64>().ok()?);
    (time_us > 0.0 && period_us > 0.0).then_some(time_us / period_us)
}

fn memory_limit_bytes(folder: &Path) -> Option<u64> {
    let text = kernel_text(folder.join("memory.max"))
        .or_else(|| kernel_text(folder.join("memory.limit_in_bytes")))?;
    limit_of(&text)
}

/// Version 1 writes "no limit" as the largest number of whole pages.
fn limit_of(text: &str) -> Option<u64> {
    text.parse().ok().filter(|bytes| *bytes < 1 << 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(mountinfo: &str, memberships: &str, controller: &str) -> Vec<String> {
        folders(mountinfo, memberships, controller)
            .iter()
            .map(|folder| folder.display().to_string())
            .collect()
    }

    #[test]
    fn version_2_is_walked_up_to_where_it_is_mounted() {
        let mountinfo = "30 23 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n";
        let expected = ["/sys/fs/cgroup/user.slice/a.scope", "/sys/fs/cgroup/user.slice", "/sys/fs/cgroup"];
        assert_eq!(names(mountinfo, "0::/user.slice/a.scope\n", "cpu"), expected);
        assert_eq!(names(mountinfo, "0::/\n", "memory"), ["/sys/fs/cgroup"]);
    }

    #[test]
    fn version_1_has_a_hierarchy_for_each_controller() {
        let mountinfo = "\
32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct
35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory
41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw
";
        let memberships = "9:name=systemd:/\n4:memory:/job/7\n1:cpu,cpuacct:/\n0::/\n";
        let memory = ["/sys/fs/cgroup/memory/job/7", "/sys/fs/cgroup/memory/job", "/sys/fs/cgroup/memory"];
        assert_eq!(names(mountinfo, memberships, "memory")[..3], memory);
        assert!(names(mountinfo, memberships, "cpu").contains(&"/sys/fs/cgroup/cpu,cpuacct".to_owned()));
    }

    #[test]
    fn a_container_sees_its_own_group_at_the_top() {
        let mountinfo = "35 31 0:32 /docker/abc /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n";
        assert_eq!(names(mountinfo, "4:memory:/docker/abc\n", "memory"), ["/sys/fs/cgroup/memory"]);
        assert_eq!(names(mountinfo, "4:memory:/elsewhere\n", "memory"), ["/sys/fs/cgroup/memory"]);
    }

    #[test]
    fn odd_lists_give_no_folders() {
        assert!(names("", "0::/\n", "cpu").is_empty());
        assert!(names("rubbish", "no colons here\n1:cpu", "cpu").is_empty());
    }

    #[test]
    fn quotas_and_limits_know_their_words_for_none() {
        assert_eq!(quota_of("150000", "100000"), Some(1.5));
        assert_eq!(quota_of("max", "100000"), None);
        assert_eq!(quota_of("-1", "100000"), None);
        assert_eq!(quota_of("100", "0"), None);
        assert_eq!(limit_of("536870912"), Some(536_870_912));
        assert_eq!(limit_of("max"), None);
        assert_eq!(limit_of("9223372036854771712"), None);
    }
}
