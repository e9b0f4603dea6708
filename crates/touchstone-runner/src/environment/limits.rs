//! What a process may use: open files, and what the control groups leave of processor and memory.

use super::cgroup::ControlGroup;
use super::{Group, bytes_text, group};
use rustix::process::{Resource, getrlimit};

/// Limits on this process and on those it starts.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Limits {
    /// Files a process may have open; none for no limit.
    pub open_files: Option<u64>,
    open_files_hard: Option<u64>,
    pub control_group: ControlGroup,
}

impl Limits {
    pub fn read() -> Limits {
        let files = getrlimit(Resource::Nofile);
        Limits {
            open_files: files.current,
            open_files_hard: files.maximum,
            control_group: ControlGroup::read(),
        }
    }

    /// Limits under which a control group has only so much memory.
    #[cfg(test)]
    pub fn with_memory(memory_bytes: u64) -> Limits {
        let control_group = ControlGroup { memory_bytes: Some(memory_bytes), ..ControlGroup::default() };
        Limits { control_group, ..Limits::default() }
    }

    pub fn texts(&self) -> Group {
        let count = |limit: Option<u64>| limit.map_or("unlimited".into(), |limit| limit.to_string());
        let files = match (count(self.open_files), count(self.open_files_hard)) {
            (soft, hard) if soft == hard => soft,
            (soft, hard) => format!("{soft}, up to {hard} on request"),
        };
        let processors = self.control_group.processors.map(|quota| format!("{quota:.2} processors"));
        let memory = self.control_group.memory_bytes.map(bytes_text);
        let or_none = |limit: Option<String>| Some(limit.unwrap_or_else(|| "none set".into()));
        group([
            ("open_files", Some(files)),
            ("control_group_processor", or_none(processors)),
            ("control_group_memory", or_none(memory)),
        ])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_told_with_their_units() {
        let limits = Limits {
            open_files: Some(1024),
            open_files_hard: None,
            control_group: ControlGroup { processors: Some(1.5), memory_bytes: Some(512 << 20) },
        };
        let texts = limits.texts();
        assert_eq!(texts["open_files"], "1024, up to unlimited on request");
        assert_eq!(texts["control_group_processor"], "1.50 processors");
        assert_eq!(texts["control_group_memory"], "512.0 MiB");
        assert_eq!(Limits::default().texts()["control_group_memory"], "none set");
    }
}
