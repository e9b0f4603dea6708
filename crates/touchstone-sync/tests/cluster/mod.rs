//! A PostgreSQL of its own: installed by the system's packages, started by an unprivileged user in a temporary directory, on a local
//! socket alone.
#![allow(dead_code, reason = "each test program uses its own part of this")]

pub mod installed;

use installed::{command, give, programs};
use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use tempfile::TempDir;

/// The port that names the socket, unless another is said.
const PORT: u16 = 5432;

/// Asks for the process that writes pages.
const WRITER: &str = "select pid from pg_stat_activity where backend_type = 'background writer'";

/// A server, and where it keeps its data.
pub struct Cluster {
    server: Mutex<Child>,
    port: u16,
    /// More settings of the server, as its command line has them.
    settings: Vec<String>,
    folder: TempDir,
    programs: PathBuf,
    databases: AtomicU32,
}

/// One server for all tests of this process that run at once: it ends with the last of them. Where there is none it is said that they
/// are skipped.
pub fn shared() -> Option<Arc<Cluster>> {
    static KNOWN: Mutex<Weak<Cluster>> = Mutex::new(Weak::new());
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(cluster) = known.upgrade() {
        return Some(cluster);
    }
    let started = Arc::new(Cluster::start()?);
    *known = Arc::downgrade(&started);
    Some(started)
}

impl Cluster {
    /// Starts one of its own; none where PostgreSQL is not installed, and then it is said that the test is skipped.
    pub fn start() -> Option<Cluster> {
        Cluster::with(PORT, |_| Vec::new())
    }

    /// Starts one with a port, and with more settings, which may be made of the folder that its data lie in.
    pub fn with(port: u16, settings: impl FnOnce(&Path) -> Vec<String>) -> Option<Cluster> {
        let Some(programs) = programs() else {
            // To the stream itself: what a test prints that passes is not shown.
            let skipped = "not tested: PostgreSQL is not installed (Debian: apt-get install postgresql)";
            let _ = writeln!(std::io::stderr(), "{skipped}");
            return None;
        };
        let folder = tempfile::Builder::new().prefix("pg").tempdir_in("/tmp").expect("there is room");
        let data = folder.path().join("data");
        fs::create_dir(&data).unwrap();
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o777)).unwrap();
        give(&data).expect("the superuser may");
        fs::set_permissions(&data, fs::Permissions::from_mode(0o700)).unwrap();
        let mut made = command(&programs, "initdb", &[]);
        made.args(["--auth=trust", "--username=sync", "--no-sync", "--locale=C", "--encoding=UTF8", "-D"])
            .arg(&data);
        let made = made.output().expect("initdb starts");
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        let settings = [vec![format!("port={port}")], settings(&data)].concat();
        let server = Mutex::new(server(&programs, folder.path(), &settings));
        let cluster = Cluster { server, port, settings, folder, programs, databases: AtomicU32::new(0) };
        cluster.wait();
        Some(cluster)
    }

    fn process(&self) -> u32 {
        self.server.lock().unwrap().id()
    }

    /// Sends a signal to it and to all its processes.
    pub fn signal_all(&self, signal: &str) {
        let server = self.process();
        send(signal, server);
        let children = Command::new("ps").args(["-o", "pid=", "--ppid", &server.to_string()]).output();
        let children = String::from_utf8(children.expect("there is a ps").stdout).expect("it is text");
        children.split_whitespace().for_each(|child| send(signal, child.parse().expect("it is a number")));
    }

    /// Ends it by a signal: `INT` for a shutdown that ends sessions, `QUIT` for one that writes nothing more, or `KILL`.
    pub fn end(&self, signal: &str) {
        let mut server = self.server.lock().unwrap();
        send(signal, server.id());
        server.wait().expect("it is a child");
    }

    /// Kills one of its processes, the one that writes pages. The server ends the others, with all connections, and recovers: until it has
    /// another one.
    pub fn crash(&self) {
        let known = self.writer().expect("it has a process that writes pages");
        send("KILL", known.parse().expect("it has a number"));
        while self.writer().is_none_or(|writer| writer == known) {
            std::thread::yield_now();
        }
    }

    /// The process that writes pages; none where the server does not say.
    fn writer(&self) -> Option<String> {
        let listed = self.ask("psql", &["-Atc", WRITER, "postgres"]);
        let listed = String::from_utf8(listed.stdout).expect("it is text").trim().to_owned();
        Some(listed).filter(|listed| !listed.is_empty())
    }

    /// Starts it again on what it has kept.
    pub fn begin(&self) {
        *self.server.lock().unwrap() = server(&self.programs, self.folder.path(), &self.settings);
        self.wait();
    }

    /// What one of PostgreSQL's own programs prints of a database.
    pub fn print(&self, program: &str, more: &[&str]) -> Vec<u8> {
        let asked = self.ask(program, more);
        assert!(asked.status.success(), "{}", String::from_utf8_lossy(&asked.stderr));
        asked.stdout
    }

    fn ask(&self, program: &str, more: &[&str]) -> Output {
        let mut asked = Command::new(self.programs.join(program));
        asked.arg("-h").arg(self.folder.path()).args(["-U", "sync", "-p", &self.port.to_string()]).args(more);
        asked.output().expect("it starts")
    }

    /// A new database: its name, and its URL at the local socket.
    pub fn database(&self) -> (String, String) {
        let name = format!("sync{}", self.databases.fetch_add(1, Ordering::Relaxed));
        self.print("createdb", &[&name]);
        let folder = self.folder.path().to_str().expect("its name is ASCII").replace('/', "%2F");
        let url = format!("postgres://sync@{folder}:{}/{name}", self.port);
        (name, url)
    }

    /// Waits until it takes connections. One whose predecessor was killed ends at once, for as long as that one's children live.
    fn wait(&self) {
        let mut asked = Command::new(self.programs.join("pg_isready"));
        asked.arg("-q").arg("-h").arg(self.folder.path()).args(["-p", &self.port.to_string()]);
        let mut attempts = 0;
        while !asked.status().expect("pg_isready starts").success() {
            let mut known = self.server.lock().unwrap();
            if known.try_wait().expect("it is a child").is_some() {
                attempts += 1;
                assert!(attempts < 1_000, "the server ends again and again");
                *known = server(&self.programs, self.folder.path(), &self.settings);
            }
        }
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        // A fast shutdown: sessions are ended.
        self.end("INT");
    }
}

/// Sends a signal to a process.
pub fn send(signal: &str, process: u32) {
    // One that has ended meanwhile needs none.
    let _ = Command::new("kill").args(["-s", signal, &process.to_string()]).output();
}

fn server(programs: &Path, folder: &Path, settings: &[String]) -> Child {
    let mut server = command(programs, "postgres", &[]);
    server.arg("-D").arg(folder.join("data")).arg("-k").arg(folder);
    server.args(["-c", "listen_addresses=", "-c", "max_connections=200", "-c", "shared_buffers=64MB"]);
    server.args(settings.iter().flat_map(|setting| ["-c", setting.as_str()]));
    server.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts")
}
