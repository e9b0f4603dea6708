//! A disk that is full: uploads are told so, nothing that was acknowledged is lost, and the service goes on when there is room.

mod support;

use serde_json::{Value, json};
use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use support::{Service, program, token};

/// A program with a small disk of its own in a folder, which is gone with it. What is in another folder is copied to it.
fn with_a_small_disk(disk: &Path, given: &Path, program: &Command) -> Command {
    let mut command = Command::new("unshare");
    let script = r#"mount -t tmpfs -o size=8m none "$DISK" && cp -r "$GIVEN/." "$DISK" && exec "$@""#;
    command.args(["--user", "--map-root-user", "--mount", "sh", "-c", script, "sh"]);
    command.env("DISK", disk).env("GIVEN", given);
    command.arg(program.get_program()).args(program.get_args());
    command
}

/// Writes until nothing more can be written.
fn fill(file: &Path) {
    let mut file = File::create(file).unwrap();
    while file.write_all(&[0; 4096]).is_ok() {}
}

#[test]
fn a_full_disk_is_told_and_passes_and_loses_nothing() {
    let [disk, given] = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let (disk, given) = (disk.path(), given.path());
    let small = |program: &Command| with_a_small_disk(disk, given, program);
    if !small(&Command::new("true")).output().is_ok_and(|ended| ended.status.success()) {
        let _ = writeln!(std::io::stderr(), "not tested: this user cannot mount a small disk with `unshare`");
        return;
    }
    let token = token(&given.join("sync.db"), "ada");
    let mut serve = program();
    serve.args(["serve", "--listen", "127.0.0.1:0", "--store"]).arg(disk.join("sync.db"));
    let child = small(&serve).stderr(Stdio::piped()).spawn().unwrap();
    // The service's disk, as others reach it.
    let seen =
        Path::new("/proc").join(child.id().to_string()).join("root").join(disk.strip_prefix("/").unwrap());
    let service = Service::of(child, &disk.join("sync.db"));
    let phone = service.device(&token, "phone");
    let upload = |id: u64| phone.post("/v1/sync/delta", &upload_of(id));
    assert_eq!(upload(1).0, 200);
    fill(&seen.join("filler"));
    let (status, problem) = upload(2);
    assert_eq!((status, &problem["type"]), (503, &json!("/problems/full")), "{problem}");
    assert_eq!(phone.get("/health/ready").1["type"], "/problems/full", "it cannot write");
    assert_eq!(
        (phone.follow(0).len(), phone.get("/health/live").0),
        (1, 200),
        "what needs no room is answered"
    );
    fs::remove_file(seen.join("filler")).unwrap();
    service.wait_ready();
    assert_eq!(upload(2).0, 200);
    let revisions: Vec<_> = phone.follow(0).iter().map(|change| change["revision"].as_u64()).collect();
    assert_eq!(revisions, [Some(1), Some(2)], "each once");
}

fn upload_of(id: u64) -> Value {
    let name = id.to_string();
    json!({"changes": [{"id": name, "change": name, "data": "x".repeat(200_000)}]})
}
