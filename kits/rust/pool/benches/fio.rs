//! `page-file` beside fio, which asks the same of the same file system: page by page, in turns, and the ratio of both. It is run when
//! asked for (`make fio`), and asserts nothing: the machine may be busy. fio has no equal of `reopened`, which opens the file for
//! every page.

#[path = "../../drivers/tests/lab/mod.rs"]
mod lab;

use lab::{Session, lane};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use touchstone_protocol::{
    RecordKind, Reply, Request, Row, Schema, Setting, Settings, Verb, write_dataset, write_operations,
};

/// The page's own file.
const FILE_BYTES: u64 = 100 << 20;
/// How often each of the two is asked, in turns.
const ROUNDS: usize = 7;
/// How long each reads at a time.
const READ_MS: u64 = 500;
/// A ratio below this asks for a reason.
const LEAST: f64 = 0.85;

/// What is asked of both.
#[derive(Clone, Copy)]
struct Pattern {
    way: &'static str,
    writes: bool,
    random: bool,
    page_bytes: u64,
}

impl Pattern {
    fn all() -> Vec<Pattern> {
        let mut all = Vec::new();
        for way in ["buffered", "uring", "direct"] {
            for (writes, random) in [(false, false), (false, true), (true, false)] {
                for page_bytes in [4096, 8192, 16384] {
                    all.push(Pattern { way, writes, random, page_bytes });
                }
            }
        }
        all
    }

    fn pages(self) -> u64 {
        FILE_BYTES / self.page_bytes
    }

    fn name(self) -> String {
        let order = if self.random { "random" } else { "sequential" };
        let verb = if self.writes { "write" } else { "read" };
        format!("{}, {order} {verb}, {} bytes", self.way, self.page_bytes)
    }
}

/// What one of them did in a turn.
#[derive(Clone, Copy)]
struct Turn {
    per_second: f64,
    /// What the processor worked for a page, which tells more than the clock where the cache answers and others are at work.
    processor_ns: f64,
}

impl Turn {
    fn of(pages: u64, elapsed_ns: u64, processor_ns: u64) -> Turn {
        let pages = pages as f64;
        Turn { per_second: pages * 1e9 / elapsed_ns as f64, processor_ns: processor_ns as f64 / pages }
    }
}

fn main() -> ExitCode {
    if Command::new("fio").arg("--version").output().is_err() {
        eprintln!("fio is missing, which page-file is set beside: apt-get install fio");
        return ExitCode::from(69);
    }
    let chosen = std::env::args().skip(1).filter(|argument| argument != "--bench").collect::<Vec<_>>();
    let directory = std::env::var_os("FIO_DIRECTORY").map_or(".".into(), PathBuf::from);
    let folder = match tempfile::tempdir_in(&directory) {
        Ok(folder) => folder,
        Err(error) => {
            eprintln!(
                "{}: {error}; FIO_DIRECTORY names a directory that can be written to",
                directory.display()
            );
            return ExitCode::from(64);
        }
    };
    println!(
        "Medians of {ROUNDS} turns; ratios are page-file over fio in one turn, with the least and the greatest.\n"
    );
    println!(
        "{:<40}{:>11}{:>11}{:>7} {:>14}{:>22}{:>8}{:>7}",
        "", "pages/s", "of fio", "ratio", "of turns", "processor: ns a page", "of fio", "ratio"
    );
    let is_chosen = |pattern: &Pattern| chosen.iter().all(|word| pattern.name().contains(word));
    for pattern in Pattern::all().into_iter().filter(is_chosen) {
        match compare(pattern, folder.path()) {
            Ok(turns) => report(pattern, &turns),
            Err(why) => println!("{:<40}not compared: {why}", pattern.name()),
        }
    }
    println!("\nNot compared: reopened, which opens the file for every page; fio opens a file once.");
    ExitCode::SUCCESS
}

fn report(pattern: Pattern, turns: &[[Turn; 2]]) {
    let of = |of: &dyn Fn(&[Turn; 2]) -> f64| {
        let mut all: Vec<f64> = turns.iter().map(of).collect();
        all.sort_by(f64::total_cmp);
        (all[all.len() / 2], all[0], all[all.len() - 1])
    };
    let median = |value: &dyn Fn(&[Turn; 2]) -> f64| of(value).0;
    let (ours, theirs) = (median(&|turn| turn[0].per_second), median(&|turn| turn[1].per_second));
    let (ratio, least, most) = of(&|turn| turn[0].per_second / turn[1].per_second);
    let (ours_ns, theirs_ns) = (median(&|turn| turn[0].processor_ns), median(&|turn| turn[1].processor_ns));
    let worked = median(&|turn| turn[1].processor_ns / turn[0].processor_ns);
    let mark = if ratio < LEAST { "  below" } else { "" };
    let turns = format!("{least:.2} to {most:.2}");
    println!(
        "{:<40}{ours:>11.0}{theirs:>11.0}{ratio:>7.2} {turns:>14}{ours_ns:>22.0}{theirs_ns:>8.0}{worked:>7.2}{mark}",
        pattern.name()
    );
}

/// Turn by turn, what `page-file` did and what fio did.
fn compare(pattern: Pattern, folder: &Path) -> Result<Vec<[Turn; 2]>, String> {
    let mut subject = Subject::start(pattern, folder)?;
    let turn = |round: usize| {
        // Who comes first changes, so that neither always finds what the other left.
        if round.is_multiple_of(2) {
            let ours = subject.turn();
            Ok([ours, fio(pattern, folder)?])
        } else {
            let theirs = fio(pattern, folder)?;
            Ok([subject.turn(), theirs])
        }
    };
    (0..ROUNDS).map(turn).collect()
}

/// `page-file` with a file of its own, which fio reads too.
struct Subject {
    pattern: Pattern,
    session: Session,
    directory: PathBuf,
}

impl Subject {
    fn start(pattern: Pattern, folder: &Path) -> Result<Subject, String> {
        let directory = folder.join("subject");
        let _ = fs::remove_dir_all(&directory);
        fs::create_dir(&directory).expect("there is room");
        let pages = pattern.pages();
        let rows: Vec<Row> = (0..pages as i64).map(|key| Row { key, value: vec![key as u8; 16] }).collect();
        let (dataset, operations) = (folder.join("rows"), folder.join("gets"));
        write_dataset(&dataset, &rows).expect("there is room");
        write_operations(&operations, &order(pattern)).expect("there is room");
        let mut session = Session::start(env!("CARGO_BIN_EXE_page-file"), &[]);
        session.hello();
        let prepare = Request::Prepare {
            record: RecordKind::Row,
            dataset,
            operations: Some(operations),
            states: None,
            subscriptions: None,
        };
        session.ask(&prepare);
        let mut subject = Subject { pattern, session, directory };
        subject.open()?;
        if !pattern.writes {
            let filled = subject.session.ask(&Request::Fill { from: 0, count: pages, table: 1 });
            assert_eq!(filled, Reply::Fill);
            sync();
        }
        Ok(subject)
    }

    fn open(&mut self) -> Result<(), String> {
        let settings = Settings::from([
            ("page_access".into(), Setting::from(self.pattern.way)),
            ("page_size_bytes".into(), Setting::Number(self.pattern.page_bytes as i64)),
        ]);
        let schema = Schema { create: true, tables: 1, indexes: Vec::new(), ..Schema::default() };
        let directory = self.directory.clone();
        match self.session.ask(&Request::Open { directory, record: RecordKind::Row, schema, settings }) {
            Reply::Open(_) => Ok(()),
            Reply::Error(failure) => Err(failure.message),
            other => panic!("{other:?}"),
        }
    }

    fn turn(&mut self) -> Turn {
        if self.pattern.writes { self.written() } else { self.read() }
    }

    fn read(&mut self) -> Turn {
        // In pieces as long as may be, for fio reads without a pause: what is short is less often interrupted where others are at work.
        // Past the cache a whole file would take too long.
        let pages = self.pattern.pages();
        let at_once = if self.pattern.way == "direct" { pages.min(2_000) } else { pages };
        let (mut read, mut elapsed_ns, mut processor_ns) = (0, 0, 0);
        while elapsed_ns < READ_MS * 1_000_000 {
            let from = read % (pages / at_once * at_once);
            let sample = self.session.run(&[lane(Verb::Get, from, at_once)]);
            assert_eq!(sample.lanes[0].answers, at_once);
            read += at_once;
            elapsed_ns += sample.wall_ns;
            processor_ns += sample.cpu_ns;
        }
        Turn::of(read, elapsed_ns, processor_ns)
    }

    /// A new file each time.
    fn written(&mut self) -> Turn {
        assert_eq!(self.session.ask(&Request::Close), Reply::Close);
        fs::remove_file(file(&self.directory)).expect("it is there");
        sync();
        self.open().expect("it was opened before");
        // fio gives its file its whole length before it writes, so that no write makes it longer.
        let whole = fs::OpenOptions::new()
            .write(true)
            .open(file(&self.directory))
            .and_then(|file| file.set_len(FILE_BYTES));
        whole.expect("the file can have its length");
        let pages = self.pattern.pages();
        let sample = self.session.run(&[lane(Verb::InsertOne, 0, pages)]);
        assert_eq!(sample.lanes[0].answers, pages);
        Turn::of(pages, sample.wall_ns, sample.cpu_ns)
    }
}

/// Every page once, in turn or shuffled by a fixed seed.
fn order(pattern: Pattern) -> Vec<u32> {
    let mut order: Vec<u32> = (0..pattern.pages() as u32).collect();
    if pattern.random {
        let mut state: u64 = 42;
        for last in (1..order.len()).rev() {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            order.swap(last, (state >> 33) as usize % (last + 1));
        }
    }
    order
}

fn file(directory: &Path) -> PathBuf {
    directory.join("pages.data")
}

/// What was written before does not go to the disk while something is timed.
fn sync() {
    let synced = Command::new("sync").status().expect("every system has `sync`");
    assert!(synced.success());
}

/// What fio did: on the same file where it reads, a new one where it writes.
fn fio(pattern: Pattern, folder: &Path) -> Result<Turn, String> {
    let path = if pattern.writes { folder.join("fio.data") } else { file(&folder.join("subject")) };
    if pattern.writes {
        let _ = fs::remove_file(&path);
        sync();
    }
    let verb = if pattern.writes { "write" } else { "read" };
    let order = if pattern.random { "rand" } else { "" };
    let engine = if pattern.way == "uring" { "io_uring" } else { "psync" };
    let mut command = Command::new("fio");
    command
        .args(["--name=beside", "--output-format=json", "--thread", "--iodepth=1", "--gtod_reduce=1"])
        // The file stays in the cache, and is not made longer than what is written.
        .args(["--invalidate=0", "--fallocate=none", "--allow_file_create=1"])
        .arg(format!("--filename={}", path.display()))
        .arg(format!("--ioengine={engine}"))
        .arg(format!("--rw={order}{verb}"))
        .arg(format!("--bs={}", pattern.page_bytes))
        .arg(format!("--size={FILE_BYTES}"))
        .arg(format!("--direct={}", u8::from(pattern.way == "direct")));
    if !pattern.writes {
        command.args(["--time_based", &format!("--runtime={READ_MS}ms")]);
    }
    let output = command.output().map_err(|error| format!("fio: {error}"))?;
    let said = String::from_utf8_lossy(&output.stdout);
    let json = said.find('{').map_or("", |start| &said[start..]);
    let told: serde_json::Value = serde_json::from_str(json)
        .map_err(|_| format!("fio: {}", String::from_utf8_lossy(&output.stderr).trim()))?;
    let job = &told["jobs"][0];
    let number = |value: &serde_json::Value| value.as_f64().filter(|number| *number > 0.0);
    let told = || {
        let (rate, pages) = (number(&job[verb]["iops"])?, number(&job[verb]["total_ios"])?);
        // In percent of the milliseconds that the job lasted.
        let worked = job["usr_cpu"].as_f64()? + job["sys_cpu"].as_f64()?;
        Some(Turn { per_second: rate, processor_ns: worked * number(&job["job_runtime"])? * 1e4 / pages })
    };
    told().filter(|_| job["error"] == 0).ok_or_else(|| format!("fio failed with error {}", job["error"]))
}
