//! The pages about load: every command is run against a real service, for some tenths of a second, and every scenario is one.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::Command as Process;
use std::sync::{Arc, Condvar, Mutex};
use touchstone_load::plan::Plan;
use touchstone_load::scenario::Scenario;
use touchstone_load::schedule::Share;
use xtask::markdown::blocks;
use xtask::page::commands;
use xtask::{Tree, assert_none};

/// The pages, and the files that their scenarios are.
const PAGES: [(&str, &[&str]); 1] = [("docs/guide-load.md", &["cross.toml", "watch.toml"])];

/// The file of users' tokens that the pages' scenarios name.
const TOKENS: &str = "tokens.txt";

/// Where the pages' service is.
const HOST: &str = "http://127.0.0.1:8000";

/// Lengths of the pages, and shorter ones.
const SHORTER: [(&str, &str); 4] = [("20s", "300ms"), ("10s", "300ms"), ("3s", "200ms"), ("2s", "200ms")];

/// What a page's command may end with: done, a limit that does not hold, and a machine that was too busy to be believed.
const ENDS: [i32; 3] = [0, 1, 3];

#[test]
fn every_scenario_on_a_page_is_one() {
    let tree = Tree::read();
    let place = tempfile::tempdir().expect("a folder can be made");
    let tokens = make_tokens(place.path());
    for (page, files) in PAGES {
        let scenarios = scenarios_of(&tree, page);
        assert_eq!(scenarios.len(), files.len(), "{page}");
        for text in scenarios {
            let text = text.replace(TOKENS, &tokens);
            let scenario = Scenario::parse(&text, page).unwrap_or_else(|error| panic!("{error}"));
            Plan::new(scenario, Share::WHOLE).unwrap_or_else(|error| panic!("{page}: {error}"));
        }
    }
}

fn scenarios_of(tree: &Tree, page: &str) -> Vec<String> {
    let all = blocks(tree.text(page)).into_iter().filter(|block| block.language == "toml");
    all.map(|block| block.text).collect()
}

/// Makes a token for each user. Where they are.
fn make_tokens(folder: &Path) -> String {
    let path = folder.join(TOKENS);
    let tokens: String = (0..64).map(|user| format!("token-{user}\n")).collect();
    fs::write(&path, tokens).expect("the tokens are written");
    path.display().to_string()
}

#[test]
fn every_load_command_on_a_page_does_what_it_says() {
    let tree = Tree::read();
    let host = service();
    let mut findings = Vec::new();
    let mut count = 0;
    for (page, files) in PAGES {
        let place = tempfile::tempdir().expect("a folder can be made");
        make_tokens(place.path());
        let capacity = "\n[capacity]\nfrom = 50\nto = 200\nstep = \"200ms\"\nconfirm = \"200ms\"\n";
        for (file, scenario) in files.iter().zip(scenarios_of(&tree, page)) {
            let scenario = shorter(&scenario).replace(HOST, &host) + capacity;
            fs::write(place.path().join(file), scenario).expect("the scenario is written");
        }
        for block in blocks(tree.text(page)).into_iter().filter(|block| block.language == "sh") {
            for command in commands("sh", &block.text, block.line).expect("a block has commands") {
                count += 1;
                let words: Vec<String> =
                    command.words[1..].iter().map(|word| shorter(word).replace(HOST, &host)).collect();
                if let Err(why) = run(&tree.root, place.path(), &words) {
                    findings.push(format!("{page}:{}: {words:?}: {why}", command.line));
                }
            }
        }
    }
    assert!(count >= 8, "only {count} commands were found");
    assert_none("load", &findings);
}

fn shorter(text: &str) -> String {
    let mut text = text.to_owned();
    for (long, short) in SHORTER {
        // A whole word of its own, or between quotes.
        if text == long {
            return short.to_owned();
        }
        text = text.replace(&format!("\"{long}\""), &format!("\"{short}\""));
    }
    text
}

fn run(root: &Path, folder: &Path, words: &[String]) -> Result<(), String> {
    let mut command = Process::new(root.join("target/release/touchstone"));
    let mut arguments: Vec<String> = words.to_vec();
    // A search from a URL has no file that says how long its answer is confirmed.
    if words.get(1).is_some_and(|word| word == "capacity")
        && !words.iter().any(|word| word.ends_with(".toml"))
    {
        arguments.extend(["--confirm".to_owned(), "200ms".to_owned()]);
    }
    command.current_dir(folder).arg("--root").arg(root).args(&arguments);
    let output = command.output().map_err(|error| error.to_string())?;
    let stderr = String::from_utf8_lossy(&output.stderr);
    if !output.status.code().is_some_and(|status| ENDS.contains(&status)) {
        return Err(format!("ended with {}: {}", output.status, stderr.trim()));
    }
    if arguments.iter().any(|word| word == "--json") {
        let printed: Result<serde_json::Value, _> = serde_json::from_slice(&output.stdout);
        return printed.map(drop).map_err(|error| format!("printed no JSON: {error}"));
    }
    if output.stdout.is_empty() { Err("printed nothing".into()) } else { Ok(()) }
}

/// The last revision, and who waits for the next.
#[derive(Default)]
struct Revisions {
    last: Mutex<u64>,
    risen: Condvar,
}

impl Revisions {
    fn rise(&self) -> u64 {
        let mut last = self.last.lock().expect("nobody panics with it");
        *last += 1;
        self.risen.notify_all();
        *last
    }

    /// The last one, as soon as it is above another.
    fn above(&self, other: u64) -> u64 {
        let last = self.last.lock().expect("nobody panics with it");
        *self.risen.wait_while(last, |last| *last <= other).expect("nobody panics with it")
    }
}

/// A service that answers everything with the next revision, as the pages' scenarios ask, and tells of it on streams. Where it is.
fn service() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let host = format!("http://{}", listener.local_addr().expect("it is bound"));
    let revisions = Arc::new(Revisions::default());
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let revisions = Arc::clone(&revisions);
            std::thread::spawn(move || serve(stream, &revisions));
        }
    });
    host
}

/// Tells of every revision, until nobody reads it.
fn tell(mut stream: TcpStream, revisions: &Revisions) {
    let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n";
    let mut written = stream.write_all(head.as_bytes());
    let mut last = 0;
    while written.is_ok() {
        last = revisions.above(last);
        written = stream.write_all(format!("event: changes\ndata: {{\"cursor\":{last}}}\n\n").as_bytes());
    }
}

fn serve(mut stream: TcpStream, revisions: &Revisions) {
    let mut reader = BufReader::new(stream.try_clone().expect("a socket can be cloned"));
    while let Some(line) = read_request(&mut reader) {
        if line.contains("/v1/sync/watch") {
            return tell(stream, revisions);
        }
        let next = revisions.rise();
        let body = format!("{{\"id\":\"c\",\"changes\":[{{\"revision\":{next}}}],\"cursor\":{next}}}");
        let answer = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len());
        if stream.write_all(answer.as_bytes()).is_err() {
            return;
        }
    }
}

/// Reads a request. Its first line.
fn read_request(reader: &mut BufReader<TcpStream>) -> Option<String> {
    let mut first = String::new();
    reader.read_line(&mut first).ok()?;
    let mut length = 0;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        if line.trim().is_empty() {
            break;
        }
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().ok()?;
        }
    }
    reader.read_exact(&mut vec![0; length]).ok()?;
    Some(first)
}
