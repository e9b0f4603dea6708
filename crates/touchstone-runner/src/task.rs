//! What a driver's process consists of: its threads, the processes it has started, the processors it may use.

use std::fs;

/// How many threads a process has; none where the system does not tell.
pub(crate) fn threads(process: u32) -> Option<u64> {
    Some(fs::read_dir(format!("/proc/{process}/task")).ok()?.count() as u64)
}

/// How many processes a process has started that have not ended; none where the system does not tell.
pub(crate) fn children(process: u32) -> Option<u64> {
    Some(child_processes(process)?.into_iter().filter(|child| runs(*child)).count() as u64)
}

/// The children of a process, those that have ended and were not waited for among them; none where the system does not tell.
pub(crate) fn child_processes(process: u32) -> Option<Vec<u32>> {
    let tasks = fs::read_dir(format!("/proc/{process}/task")).ok()?;
    let of_task = |task: fs::DirEntry| fs::read_to_string(task.path().join("children")).ok();
    let lists: Vec<String> = tasks.flatten().filter_map(of_task).collect();
    let children = lists.iter().flat_map(|list| list.split_whitespace());
    (!lists.is_empty()).then(|| children.filter_map(|child| child.parse().ok()).collect())
}

/// Whether a process has not ended: one that has is a child until it is waited for.
fn runs(process: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    // The name before the state stands in brackets, and may hold some itself.
    let state = stat.rsplit(')').next().and_then(|rest| rest.split_whitespace().next());
    state.is_some_and(|state| state != "Z" && state != "X")
}

/// The process that traces a process or a thread of it, ended or not; none where there is none, or the system does not tell.
pub(crate) fn tracer(process: u32) -> Option<u32> {
    let tasks = fs::read_dir(format!("/proc/{process}/task")).ok()?;
    tasks.flatten().find_map(|task| {
        let status = fs::read_to_string(task.path().join("status")).ok()?;
        let tracer = status.lines().find_map(|line| line.strip_prefix("TracerPid:"))?;
        tracer.trim().parse().ok().filter(|tracer| *tracer != 0)
    })
}

/// The processors that the threads of a process may use, where one of them may use others than `processor` alone.
pub(crate) fn strayed(process: u32, processor: usize) -> Option<String> {
    let tasks = fs::read_dir(format!("/proc/{process}/task")).ok()?;
    let mut allowed = tasks.flatten().filter_map(|task| {
        let status = fs::read_to_string(task.path().join("status")).ok()?;
        Some(status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?.trim().to_owned())
    });
    allowed.find(|list| *list != processor.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::processor::Confined;
    use crate::random::stream;
    use std::process::{Command, Stdio};

    #[test]
    fn the_threads_of_this_process_are_counted() {
        assert!(threads(std::process::id()).unwrap() >= 1);
        assert_eq!(threads(u32::MAX), None);
    }

    #[test]
    fn a_process_that_it_started_is_counted_until_it_ends() {
        let mut shell = Command::new("/bin/sh");
        let script = "sleep 1000 & echo started; wait";
        let mut shell = shell.args(["-c", script]).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        std::io::BufRead::read_line(&mut std::io::BufReader::new(shell.stdout.as_mut().unwrap()), &mut line)
            .unwrap();
        assert!(children(shell.id()).is_none_or(|children| children == 1));
        let _ = Command::new("pkill").args(["-P", &shell.id().to_string()]).status();
        let _ = shell.kill();
        shell.wait().unwrap();
        assert_eq!(children(u32::MAX), None);
    }

    #[test]
    fn a_process_strays_that_may_use_other_processors() {
        let confined = Confined::to_any(&mut stream(1, "test")).expect("nobody forbids it");
        let mut child = Command::new("sleep").arg("1000").spawn().unwrap();
        assert_eq!(strayed(child.id(), confined.processor()), None);
        assert!(strayed(child.id(), confined.processor() + 1).is_some());
        child.kill().unwrap();
        child.wait().unwrap();
    }
}
