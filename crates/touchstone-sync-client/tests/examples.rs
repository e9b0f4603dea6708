//! The example: a list on two devices that edit apart, and in a browser that shows it as it changes.

#[path = "../../touchstone-store/tests/built/mod.rs"]
mod built;
mod support;

use built::example;
use headless_chrome::protocol::cdp::Page::CaptureScreenshotFormatOption;
use headless_chrome::{Browser, LaunchOptions};
use std::ffi::OsStr;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::LazyLock;
use std::time::Duration;
use support::{Fault, Hosted};

static TODO_LIST: LazyLock<PathBuf> = LazyLock::new(|| example("todo_list"));

/// What runs the example, for a device.
fn todo(hosted: &Hosted, device: &str, words: &[&str]) -> Command {
    let mut todo = Command::new(&*TODO_LIST);
    todo.args(["--device", device, "--file"]).arg(hosted.path(device)).args(words);
    todo.env("TOUCHSTONE_SYNC_URL", &hosted.address).env("TOUCHSTONE_SYNC_TOKEN", &hosted.token);
    todo
}

fn printed(hosted: &Hosted, device: &str, words: &[&str]) -> String {
    let output = todo(hosted, device, words).output().expect("it is there");
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("it prints text")
}

/// A process that is killed when it is dropped.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn two_devices_edit_their_list_apart_and_come_to_the_same() {
    let hosted = Hosted::start();
    let run = |device, words: &[&str]| printed(&hosted, device, words);
    run("phone", &["add", "buy", "milk"]);
    run("phone", &["add", "write"]);
    assert_eq!(run("phone", &["list"]), "[ ] buy milk\n[ ] write\n");
    assert_eq!(run("phone", &["sync"]), "sent 2, fetched 0\n");
    assert_eq!(run("laptop", &["sync"]), "sent 0, fetched 2\n");
    // One does a task that the other removes, and each does something else.
    run("phone", &["done", "write"]);
    run("laptop", &["remove", "write"]);
    run("phone", &["done", "buy", "milk"]);
    run("laptop", &["add", "rest"]);
    run("laptop", &["sync"]);
    run("phone", &["sync"]);
    run("laptop", &["sync"]);
    let list = "[x] buy milk\n[ ] rest\n[x] write\n";
    assert_eq!((run("phone", &["list"]), run("laptop", &["list"])), (list.into(), list.into()));
    let missing = todo(&hosted, "phone", &["done", "nothing"]).output().unwrap();
    assert_eq!(missing.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&missing.stderr).contains("there is no task `nothing` here"));
}

#[test]
fn a_device_that_watches_prints_what_another_one_adds() {
    let hosted = Hosted::start();
    let mut child = todo(&hosted, "laptop", &["watch"]).stdout(Stdio::piped()).spawn().expect("it is there");
    let mut lines = BufReader::new(child.stdout.take().expect("it is piped")).lines().map(Result::unwrap);
    let _watching = Running(child);
    assert_eq!(lines.next().as_deref(), Some("---"), "there is nothing yet");
    printed(&hosted, "phone", &["add", "milk"]);
    printed(&hosted, "phone", &["sync"]);
    assert_eq!(lines.by_ref().take(2).collect::<Vec<_>>(), ["[ ] milk", "---"]);
    // An edit of the device itself, by another process, is sent by the one that watches.
    printed(&hosted, "laptop", &["done", "milk"]);
    assert!(lines.any(|line| line == "[x] milk"));
}

/// Each time the service has stored the upload when the program is killed, and it has not heard so.
#[test]
fn a_program_that_is_killed_while_it_syncs_loses_no_edit_and_stores_none_twice() {
    let hosted = Hosted::start();
    printed(&hosted, "phone", &["sync"]);
    for place in 0..5 {
        printed(&hosted, "phone", &["add", &format!("task {place}")]);
        let stored = hosted.stored().len();
        // The first is asked whose the token is.
        hosted.faults(&[Fault::None, Fault::HoldsAnswer]);
        let running = Running(todo(&hosted, "phone", &["sync"]).spawn().expect("it is there"));
        hosted.wait_stored(stored + 1);
        drop(running);
        assert_eq!(printed(&hosted, "phone", &["sync"]), "sent 1, fetched 0\n");
    }
    let revisions: Vec<_> = hosted.stored().into_iter().map(|stored| stored.revision).collect();
    assert_eq!(revisions, [1, 1, 2, 2, 3, 3, 4, 4, 5, 5], "each was told twice and stored once");
    assert_eq!(printed(&hosted, "laptop", &["sync"]), "sent 0, fetched 5\n");
}

fn chromium() -> PathBuf {
    let path = std::env::var_os("CHROMIUM").map_or_else(|| PathBuf::from("/usr/bin/chromium"), PathBuf::from);
    assert!(path.exists(), "{}: there is no Chromium: install one, or name one in $CHROMIUM", path.display());
    path
}

fn launch() -> Browser {
    let arguments =
        ["--disable-gpu", "--no-first-run", "--disable-background-networking", "--no-proxy-server"];
    let options = LaunchOptions::default_builder()
        .path(Some(chromium()))
        .headless(true)
        .sandbox(false)
        .window_size(Some((640, 560)))
        .args(arguments.map(OsStr::new).to_vec())
        .build()
        .unwrap();
    Browser::new(options).expect("Chromium starts")
}

#[test]
fn a_browser_shows_the_list_as_it_changes() {
    let hosted = Hosted::start();
    printed(&hosted, "phone", &["add", "buy milk"]);
    printed(&hosted, "phone", &["sync"]);
    let browser = launch();
    let tab = browser.new_tab().unwrap();
    tab.set_default_timeout(Duration::from_secs(60));
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/todo_list.html");
    tab.navigate_to(&format!("file://{}", page.display())).unwrap().wait_until_navigated().unwrap();
    let fill = format!(
        "document.getElementById('url').value = '{}'; document.getElementById('token').value = '{}';
         document.querySelector('button').click()",
        hosted.address, hosted.token
    );
    tab.evaluate(&fill, false).unwrap();
    let shows = |number: usize, text: &str| {
        let row = tab.wait_for_element(&format!("#tasks li:nth-child({number}):last-child"));
        assert_eq!(row.expect("it comes").get_inner_text().unwrap(), text);
    };
    shows(1, "buy milk");
    printed(&hosted, "phone", &["add", "rest"]);
    printed(&hosted, "phone", &["sync"]);
    shows(2, "rest");
    // A stream that ends is begun anew.
    hosted.end_streams();
    printed(&hosted, "phone", &["add", "water the plants"]);
    printed(&hosted, "phone", &["done", "buy milk"]);
    printed(&hosted, "phone", &["sync"]);
    shows(3, "water the plants");
    tab.wait_for_element("#tasks li.done").unwrap();
    let picture = tab.capture_screenshot(CaptureScreenshotFormatOption::Png, None, None, true).unwrap();
    std::fs::write(Path::new(env!("CARGO_TARGET_TMPDIR")).join("todo_list.png"), picture).unwrap();
}
