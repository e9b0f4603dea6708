//! What a driver's process finds around it: nothing of an earlier one, and nothing that tells one pass from another.

mod support;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use support::{folder, plan, root, run_plan};

/// Found in a review: answers of an earlier process were kept in the temporary folder, and a variable that only launches had
/// told those from the pass that counts syncs.
#[test]
fn a_process_finds_no_trace_of_another_and_the_same_variables() {
    let scripts = folder();
    let log = scripts.path().join("log");
    let program = scripts.path().join("driver");
    let script = format!(
        "#!/bin/sh\n\
         for kept in \"$HOME\" \"$TMPDIR\" \"$XDG_CACHE_HOME\"; do ls -A \"$kept\" >>{log}.left; touch \"$kept/kept\"; done\n\
         env | sed -n 's/^\\([A-Z_]*\\)=.*/\\1/p' | sort | tr '\\n' ' ' >>{log}\n\
         echo >>{log}\n\
         exec {}\n",
        root().join("kits/rust/target/release/rusqlite").display(),
        log = log.display()
    );
    fs::write(&program, script).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let mut plan = plan("canaries", &["syncs"], 2);
    support::build(&plan);
    let baseline = plan["cases"][0]["baseline"].clone();
    let arms = support::arms(&mut plan, "canaries/syncs");
    arms.retain(|arm| arm["name"] == baseline);
    arms[0]["program"] = program.to_str().unwrap().into();
    let folder = folder();
    run_plan(folder.path(), &plan, &[]).0.succeeded();
    let left = fs::read_to_string(log.with_extension("left")).unwrap();
    assert_eq!(left, "", "what another process has left");
    let variables = fs::read_to_string(&log).unwrap();
    let processes: Vec<&str> = variables.lines().collect();
    // The template, two launches with a process each that looks for what was acknowledged, and the count of syncs.
    assert!(processes.len() >= 6, "{variables}");
    assert!(processes.iter().all(|process| *process == processes[0]), "{variables}");
    assert!(processes[0].contains("TOUCHSTONE_PADDING"), "{variables}");
}
