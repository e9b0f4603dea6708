//! A PostgreSQL server, as the system's packages install it, run by an unprivileged user: it refuses to be the superuser's.

use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;
use tempfile::TempDir;
use touchstone_kit::{Failure, FailureKind, failure};
use touchstone_sync_driver::told;

#[path = "../../../../../crates/touchstone-sync/tests/cluster/installed.rs"]
mod installed;

use installed::{command, give, is_root, programs};

/// It ends when the thread ends that has started it, which is the driver's first.
const DYING: [&str; 2] = ["--pdeathsig", "INT"];

/// How often at most: a minute and more.
const ASKED_AT_MOST: u32 = 12_000;

/// How often it is asked whether it has begun.
const ASK_EVERY: Duration = Duration::from_millis(5);

/// How often one is begun at most whose folder an older one has yet: for half a minute and more.
const BEGUN_AT_MOST: u32 = 600;

/// How often one is begun.
const BEGIN_EVERY: Duration = Duration::from_millis(50);

/// What a server says that finds another one's file of its process, or its memory.
const TAKEN: [&str; 2] = ["\"postmaster.pid\" already exists", "is still in use"];

/// A server at work.
pub struct Server {
    process: Child,
    programs: PathBuf,
    /// Where its socket lies: a socket's path is short, and those of the lab's folders are not.
    socket: TempDir,
    /// What it says.
    log: PathBuf,
}

/// The server's version, in its own words.
pub fn version() -> String {
    let told = programs()
        .and_then(|programs| Command::new(programs.join("postgres")).arg("--version").output().ok());
    match told {
        Some(told) => {
            let told = String::from_utf8_lossy(&told.stdout).into_owned();
            told.trim().trim_start_matches("postgres ").replace(['(', ')'], "")
        }
        None => "PostgreSQL, which is not installed".into(),
    }
}

impl Server {
    /// Starts one on the data in a folder, which are made where there are none.
    pub fn start(folder: &Path) -> Result<Server, Failure> {
        let missing = "PostgreSQL is not installed (Debian: apt-get install postgresql)";
        let programs = programs().ok_or_else(|| failure(FailureKind::Unsupported, missing))?;
        if is_root() {
            // Whoever owns nothing must reach the data in it.
            fs::set_permissions(folder, fs::Permissions::from_mode(0o711)).map_err(told)?;
        }
        let data = folder.join("postgresql");
        let is_new = !data.exists();
        if is_new {
            fs::create_dir(&data).map_err(told)?;
        }
        fs::set_permissions(&data, fs::Permissions::from_mode(0o700)).map_err(told)?;
        give(&data).map_err(told)?;
        if is_new {
            let mut made = command(&programs, "initdb", &DYING);
            made.args(["--auth=trust", "--username=sync", "--locale=C", "--encoding=UTF8", "-D"]).arg(&data);
            succeed(made.output().map_err(told)?)?;
        }
        let log = folder.join("postgresql.log");
        for _ in 0..BEGUN_AT_MOST {
            match Server::begin(&programs, &data, &log)? {
                Some(server) => return Ok(server),
                None => std::thread::sleep(BEGIN_EVERY),
            }
        }
        let waited = BEGIN_EVERY * BEGUN_AT_MOST;
        Err(told(format!(
            "another server has the folder {} yet, after {} s: {}; end it, and start again",
            data.display(),
            waited.as_secs(),
            last_line(&log)
        )))
    }

    /// Begins one, and waits until it answers; none where an older one has the folder yet. That ends with its driver, and takes its time.
    fn begin(programs: &Path, data: &Path, log: &Path) -> Result<Option<Server>, Failure> {
        let socket = tempfile::Builder::new().prefix("postgresql").tempdir_in("/tmp").map_err(told)?;
        give(socket.path()).map_err(told)?;
        let mut process = command(programs, "postgres", &DYING);
        process.arg("-D").arg(data).arg("-k").arg(socket.path()).args(["-c", "listen_addresses="]);
        let process = process.stdout(Stdio::null()).stderr(File::create(log).map_err(told)?).spawn();
        let (programs, log) = (programs.to_owned(), log.to_owned());
        let mut server = Server { process: process.map_err(told)?, programs, socket, log };
        match server.wait() {
            Ok(()) => Ok(Some(server)),
            Err(_) if is_taken(&server.log) => Ok(None),
            Err(failure) => Err(failure),
        }
    }

    /// Its database, as a client names it.
    pub fn url(&self) -> String {
        let socket = self.socket.path().to_string_lossy().replace('/', "%2F");
        format!("postgres://sync@{socket}/postgres")
    }

    /// A setting's value.
    pub fn show(&self, setting: &str) -> Result<String, Failure> {
        let mut asked = Command::new(self.programs.join("psql"));
        asked.arg("-h").arg(self.socket.path()).args([
            "-U",
            "sync",
            "-Atc",
            &format!("show {setting}"),
            "postgres",
        ]);
        let shown = succeed(asked.output().map_err(told)?)?;
        Ok(String::from_utf8_lossy(&shown.stdout).trim().to_owned())
    }

    /// Ends it, with everything written: a fast shutdown, which ends sessions.
    pub fn stop(mut self) -> Result<(), Failure> {
        self.interrupt();
        let ended = self.process.wait().map_err(told)?;
        if ended.success() { Ok(()) } else { Err(told(format!("the server ended with {ended}"))) }
    }

    fn interrupt(&self) {
        // One that has ended needs no signal.
        let _ = Command::new("kill").args(["-s", "INT", &self.process.id().to_string()]).output();
    }

    fn wait(&mut self) -> Result<(), Failure> {
        let mut asked = Command::new(self.programs.join("pg_isready"));
        asked.arg("-q").arg("-h").arg(self.socket.path());
        for _ in 0..ASKED_AT_MOST {
            if asked.status().map_err(told)?.success() {
                return Ok(());
            }
            if let Some(ended) = self.process.try_wait().map_err(told)? {
                return Err(self.silent(&format!("ended with {ended} before it answered")));
            }
            std::thread::sleep(ASK_EVERY);
        }
        Err(self.silent("does not answer"))
    }

    /// What is told of a server that is not there, with the last that it said.
    fn silent(&self, how: &str) -> Failure {
        told(format!("the server {how}: {}", last_line(&self.log)))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if matches!(self.process.try_wait(), Ok(None)) {
            self.interrupt();
            let _ = self.process.wait();
        }
    }
}

/// Whether a server has ended because another one has its folder.
fn is_taken(log: &Path) -> bool {
    let said = fs::read_to_string(log).unwrap_or_default();
    TAKEN.iter().any(|words| said.contains(words))
}

fn last_line(log: &Path) -> String {
    let said = fs::read_to_string(log).unwrap_or_default();
    said.lines().last().unwrap_or("it said nothing").to_owned()
}

fn succeed(ended: Output) -> Result<Output, Failure> {
    if ended.status.success() {
        return Ok(ended);
    }
    Err(told(String::from_utf8_lossy(&ended.stderr).trim()))
}
