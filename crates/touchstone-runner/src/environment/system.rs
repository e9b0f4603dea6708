//! The operating system, and those of its settings that can move a number.

use super::{Group, group, kernel_text, or_not_exposed};
use rustix::system::uname;
use std::fs;
use std::path::Path;

/// What is known of the operating system.
#[derive(Clone, Debug, Default)]
pub(crate) struct System {
    distribution: Option<String>,
    kernel: String,
    container: Option<String>,
    /// What the kernel tells the time by.
    pub clock: Option<String>,
    /// 0 off, 1 partly, 2 all of it.
    pub randomisation: Option<u8>,
    swappiness: Option<String>,
    dirty: Option<String>,
    huge_pages: Option<String>,
    load_average: Option<String>,
    /// Libraries pushed in front of every program, by name.
    pub preloaded: Option<String>,
}

impl System {
    pub fn read() -> System {
        let kernel = uname();
        let setting = |name: &str| kernel_text(format!("/proc/sys/{name}"));
        let share = |name: &str| Some(format!("{} %", setting(name).filter(|share| share != "0")?));
        let limit = |name: &str| {
            share(&format!("{name}_ratio")).or_else(|| bytes_setting(setting(&format!("{name}_bytes"))))
        };
        System {
            distribution: fs::read_to_string("/etc/os-release").ok().and_then(|text| distribution(&text)),
            kernel: format!("{} {}", kernel.sysname().to_string_lossy(), kernel.release().to_string_lossy()),
            container: container(),
            clock: kernel_text("/sys/devices/system/clocksource/clocksource0/current_clocksource"),
            randomisation: setting("kernel/randomize_va_space").and_then(|text| text.parse().ok()),
            swappiness: setting("vm/swappiness"),
            dirty: limit("vm/dirty").zip(limit("vm/dirty_background")).map(|(hard, background)| {
                format!("{hard} of memory may wait to be written, from {background} on it is")
            }),
            huge_pages: kernel_text("/sys/kernel/mm/transparent_hugepage/enabled")
                .and_then(|text| Some(text.split_once('[')?.1.split_once(']')?.0.to_owned())),
            load_average: kernel_text("/proc/loadavg").map(|text| load(&text)),
            preloaded: std::env::var("LD_PRELOAD").ok().and_then(|libraries| names(&libraries)),
        }
    }

    pub fn texts(&self) -> Group {
        let randomisation = self.randomisation.map(|degree| match degree {
            0 => "off".to_owned(),
            1 => "partly on (1)".into(),
            _ => "on".into(),
        });
        group([
            ("os", self.distribution.clone()),
            ("kernel", Some(self.kernel.clone())),
            ("container", Some(self.container.clone().unwrap_or_else(|| "none seen".into()))),
            ("clock", or_not_exposed(self.clock.clone())),
            ("address_randomisation", or_not_exposed(randomisation)),
            ("swappiness", self.swappiness.clone()),
            ("dirty_pages", self.dirty.clone()),
            ("transparent_huge_pages", self.huge_pages.clone()),
            ("load_average", self.load_average.clone()),
            ("preloaded_libraries", self.preloaded.clone()),
        ])
    }
}

/// `dirty_bytes` rules where `dirty_ratio` is 0.
fn bytes_setting(text: Option<String>) -> Option<String> {
    Some(super::bytes_text(text?.parse().ok()?))
}

/// The line of `/etc/os-release` that is for people.
fn distribution(release: &str) -> Option<String> {
    let value = |name: &str| {
        let value = release.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('='))?;
        let value = value.trim().trim_matches(['"', '\'']).to_owned();
        (!value.is_empty()).then_some(value)
    };
    value("PRETTY_NAME").or_else(|| value("NAME"))
}

/// Means over 1, 5 and 15 minutes; what follows them changes with every reading.
fn load(loadavg: &str) -> String {
    loadavg.split_whitespace().take(3).collect::<Vec<_>>().join(" ")
}

/// Names without folders: a folder may name its owner.
fn names(libraries: &str) -> Option<String> {
    let paths = libraries.split([' ', ':']).filter(|path| !path.is_empty());
    let names: Vec<&str> = paths.filter_map(|path| Path::new(path).file_name()?.to_str()).collect();
    (!names.is_empty()).then(|| names.join(", "))
}

/// A hint, no more.
fn container() -> Option<String> {
    let kind = |text: String| text.lines().next().map(str::to_owned);
    if let Some(kind) = kernel_text("/run/systemd/container").and_then(kind) {
        return Some(kind);
    }
    let signs = [("/.dockerenv", "docker"), ("/run/.containerenv", "podman")];
    let sign = signs.into_iter().find(|(path, _)| Path::new(path).exists()).map(|(_, kind)| kind.to_owned());
    sign.or_else(|| container_of(&kernel_text("/proc/1/cgroup")?))
}

/// The kind of container by the group that its first process is in.
fn container_of(memberships: &str) -> Option<String> {
    let signs = [("kubepods", "kubernetes"), ("docker", "docker"), ("libpod", "podman"), ("lxc", "lxc")];
    let found = signs.into_iter().find(|(sign, _)| memberships.contains(sign))?;
    Some(found.1.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_distribution_is_named_for_people() {
        let debian = "PRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\nNAME=\"Debian GNU/Linux\"\nID=debian\n";
        assert_eq!(distribution(debian).unwrap(), "Debian GNU/Linux 12 (bookworm)");
        assert_eq!(distribution("NAME='Alpine Linux'\n").unwrap(), "Alpine Linux");
        assert_eq!(distribution("PRETTY_NAME=\nNAME=Void\n").unwrap(), "Void");
        assert_eq!(distribution("# empty\n"), None);
    }

    #[test]
    fn load_is_three_means() {
        assert_eq!(load("3.51 1.36 0.54 6/97 3786\n"), "3.51 1.36 0.54");
        assert_eq!(load(""), "");
    }

    #[test]
    fn preloaded_libraries_lose_their_folders() {
        assert_eq!(
            names("/home/alice/lib/libeatmydata.so:/usr/lib/libjemalloc.so.2").unwrap(),
            "libeatmydata.so, libjemalloc.so.2"
        );
        assert_eq!(names(" "), None);
    }

    #[test]
    fn containers_are_told_by_their_group() {
        assert_eq!(container_of("0::/kubepods.slice/pod1\n").as_deref(), Some("kubernetes"));
        assert_eq!(container_of("0::/init.scope\n"), None);
    }
}
