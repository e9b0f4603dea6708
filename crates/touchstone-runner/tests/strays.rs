//! What drivers leave behind while a run adopts it. One test, for all that a process adopts it has in common.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};
use touchstone_runner::session::{Manners, Session};
use touchstone_runner::strays::adopt;

/// Far more than anything here takes.
const PATIENT: Duration = Duration::from_secs(100);

/// Starts a driver that leaves a process in a session of its own, which has lost its parent, and gives that one's number.
fn driver(folder: &Path, name: &str, environment: &str) -> (Session, u32) {
    let told = folder.join(name);
    // The shell between them ends at once.
    let script = format!(
        "(setsid {environment} sh -c 'echo $$ > {}; exec sleep 1000' &); read request",
        told.display()
    );
    let mut command = Command::new("sh");
    command.args(["-c", &script]).env("HOME", folder.join(format!("{name}-home")));
    let session = Session::start(command, Manners { limit: PATIENT, stop: Arc::default() }).unwrap();
    let deadline = Instant::now() + PATIENT;
    loop {
        let number = fs::read_to_string(&told).ok().filter(|text| text.ends_with('\n'));
        if let Some(number) = number {
            return (session, number.trim().parse().unwrap());
        }
        assert!(Instant::now() < deadline, "waited in vain for the process that is left behind");
        std::thread::yield_now();
    }
}

fn is_there(process: u32) -> bool {
    Path::new(&format!("/proc/{process}")).exists()
}

#[test]
fn what_a_driver_leaves_behind_ends_with_it_and_not_with_another() {
    let folder = tempfile::tempdir().unwrap();
    let mut stranger = Command::new("sleep").arg("1000").spawn().unwrap();
    assert!(adopt().is_none(), "a lab that has children cannot tell them from a driver's");
    stranger.kill().unwrap();
    stranger.wait().unwrap();

    let adoption = adopt().expect("it has no children any more");
    let (first, of_first) = driver(folder.path(), "first", "");
    let (second, of_second) = driver(folder.path(), "second", "");
    drop(first);
    assert!(!is_there(of_first), "it is killed and waited for");
    assert!(is_there(of_second), "its driver still runs");
    drop(second);
    assert!(!is_there(of_second));
    let (third, of_third) = driver(folder.path(), "third", "env -i PATH=\"$PATH\"");
    drop(third);
    assert!(!is_there(of_third), "one that hides its environment is found too");
    drop(adoption);

    let (forgotten, of_forgotten) = driver(folder.path(), "forgotten", "");
    drop(forgotten);
    assert!(is_there(of_forgotten), "nobody adopts it");
    Command::new("kill").arg(of_forgotten.to_string()).status().unwrap();
}
