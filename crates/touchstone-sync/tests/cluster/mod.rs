//! A PostgreSQL of its own: installed by the system's packages, started by an unprivileged user in a temporary directory, on a local
//! socket alone.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use tempfile::TempDir;

/// The user and the group that own nothing, in whose name it runs where the tests are the superuser's: it refuses to run in that one.
const NOBODY: u32 = 65_534;

/// A server, and where it keeps its data.
pub struct Cluster {
    server: Child,
    folder: TempDir,
    programs: PathBuf,
    databases: AtomicU32,
}

impl Cluster {
    /// Starts one; none where PostgreSQL is not installed.
    pub fn start() -> Option<Cluster> {
        let programs = programs()?;
        let folder = tempfile::Builder::new().prefix("pg").tempdir_in("/tmp").expect("there is room");
        let data = folder.path().join("data");
        fs::create_dir(&data).unwrap();
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o777)).unwrap();
        if is_root() {
            chown(&data, Some(NOBODY), Some(NOBODY)).expect("the superuser may");
        }
        fs::set_permissions(&data, fs::Permissions::from_mode(0o700)).unwrap();
        let mut made = command(&programs, "initdb");
        made.args(["--auth=trust", "--username=sync", "--no-sync", "--locale=C", "--encoding=UTF8", "-D"])
            .arg(&data);
        let made = made.current_dir("/").output().expect("initdb starts");
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        let mut server = command(&programs, "postgres");
        server.arg("-D").arg(&data).arg("-k").arg(folder.path()).args(["-c", "listen_addresses="]);
        server.args(["-c", "max_connections=200", "-c", "shared_buffers=64MB"]);
        let server =
            server.current_dir("/").stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts");
        let mut cluster = Cluster { server, folder, programs, databases: AtomicU32::new(0) };
        cluster.wait();
        Some(cluster)
    }

    /// The URL of a new database.
    pub fn database(&self) -> String {
        let name = format!("sync{}", self.databases.fetch_add(1, Ordering::Relaxed));
        let mut made = Command::new(self.programs.join("createdb"));
        made.arg("-h").arg(self.folder.path()).args(["-U", "sync", &name]);
        assert!(made.status().expect("createdb starts").success());
        format!("host={} user=sync dbname={name}", self.folder.path().display())
    }

    fn wait(&mut self) {
        let mut asked = Command::new(self.programs.join("pg_isready"));
        asked.arg("-q").arg("-h").arg(self.folder.path());
        while !asked.status().expect("pg_isready starts").success() {
            assert_eq!(self.server.try_wait().expect("it is a child"), None, "the server has ended");
        }
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        // A fast shutdown: sessions are ended.
        let _ = Command::new("kill").args(["-s", "INT", &self.server.id().to_string()]).status();
        let _ = self.server.wait();
    }
}

fn is_root() -> bool {
    let user = Command::new("id").arg("-u").output().expect("there is an id");
    user.stdout == b"0\n"
}

fn command(programs: &Path, name: &str) -> Command {
    let program = programs.join(name);
    if !is_root() {
        return Command::new(program);
    }
    let mut command = Command::new("setpriv");
    command
        .args(["--reuid", &NOBODY.to_string(), "--regid", &NOBODY.to_string(), "--clear-groups"])
        .arg(program);
    command
}

/// Where the newest server's programs lie: Debian puts them outside of the path.
fn programs() -> Option<PathBuf> {
    let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let mut found: Vec<PathBuf> = versions.map(|version| version.path().join("bin")).collect();
    found.sort();
    let on_path = std::env::var_os("PATH")
        .into_iter()
        .flat_map(|path| std::env::split_paths(&path).collect::<Vec<_>>());
    found.into_iter().rev().chain(on_path).find(|folder| folder.join("initdb").exists())
}
