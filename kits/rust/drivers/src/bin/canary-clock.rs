//! The canary with a clock of its own: an honest driver behind a process that changes the times in its replies, as its
//! profile asks. The lab must tell by its own clock.

use serde_json::Value;
use std::env;
use std::io::{self, BufRead, BufReader, Write};
use std::process::{Command, ExitCode, Stdio};

/// What becomes of the times of a reply; none where they stay.
fn changed(mischief: &str) -> Option<fn(u64) -> u64> {
    match mischief {
        "halves" => Some(|ns| ns / 2),
        "thousandfold" => Some(|ns| ns * 1000),
        "stands-still" => Some(|_| 0),
        // As a published benchmark's clock, which counted whole milliseconds.
        "milliseconds" => Some(|ns| ns / 1_000_000 * 1_000_000),
        _ => None,
    }
}

fn main() -> ExitCode {
    match pass_on() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("the driver behind it is gone: {error}");
            ExitCode::FAILURE
        }
    }
}

fn pass_on() -> io::Result<()> {
    // Its own program lies beside this one, and answers to another name.
    let driver = env::current_exe()?.with_file_name("canary-slow");
    let mut driver = Command::new(driver).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    let gone = || io::Error::other("it has no pipes");
    let mut requests = driver.stdin.take().ok_or_else(gone)?;
    let mut replies = BufReader::new(driver.stdout.take().ok_or_else(gone)?);
    let mut mischief = None;
    for line in io::stdin().lock().lines() {
        let request: Value = serde_json::from_str(&line?)?;
        if let Some(asked) = request["settings"]["mischief"].as_str() {
            mischief = changed(asked);
        }
        writeln!(requests, "{request}")?;
        let mut reply = String::new();
        replies.read_line(&mut reply)?;
        let mut reply: Value = serde_json::from_str(&reply)?;
        lie(&mut reply, mischief, &request);
        println!("{reply}");
        io::stdout().flush()?;
        if reply["reply"] == "quit" {
            break;
        }
    }
    driver.wait().map(drop)
}

/// Times of a slice are changed, and what was asked for is said to have taken effect.
fn lie(reply: &mut Value, change: Option<fn(u64) -> u64>, request: &Value) {
    if let Some(settings) = reply.get_mut("settings").and_then(Value::as_object_mut) {
        settings.extend(request["settings"].get("mischief").map(|asked| ("mischief".into(), asked.clone())));
    }
    let Some(change) = change.filter(|_| reply["reply"] == "run") else { return };
    apply(reply, change);
    for lane in reply["lanes"].as_array_mut().into_iter().flatten() {
        apply(lane, change);
    }
}

fn apply(times: &mut Value, change: fn(u64) -> u64) {
    for name in ["wall_ns", "cpu_ns"] {
        if let Some(ns) = times.get(name).and_then(Value::as_u64) {
            times[name] = Value::from(change(ns));
        }
    }
}
