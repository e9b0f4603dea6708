//! Conversations with drivers that are small shell scripts: whatever a script does comes back as the right error, and
//! nothing of it is left running.

use rustix::process::{Pid, Signal, getpgrp, kill_process, setpgid};
use std::fs;
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::time::{Duration, Instant};
use tempfile::TempDir;
use touchstone::sample::Outcome;
use touchstone_protocol::{FailureKind, RecordKind, Reply, Request, Schema, Settings};
use touchstone_runner::session::{Manners, Session, SessionError};

/// Far more than any reply here takes.
const PATIENT: Duration = Duration::from_secs(100);

/// How often is looked whether a process is gone.
const LOOK_EVERY: Duration = Duration::from_millis(2);

/// Waits for a request and introduces itself.
const HELLO: &str = "read request; echo '{\"reply\":\"hello\",\"protocol\":1,\"kit\":\"sh\",\"subject\":\"script\",\
    \"version\":\"1\",\"engine\":\"none\",\"engine_source\":\"\",\"compile_options\":[],\"capabilities\":[],\
    \"clock\":{\"name\":\"none\",\"cost_ns\":1.0,\"resolution_ns\":1}}'\n";

/// Reads requests for ever and answers none.
const DEAF: &str = "while read request; do :; done";

/// A script with a folder of its own, where every process of it leaves its number.
struct Script {
    folder: TempDir,
    limit: Duration,
}

impl Script {
    /// Writes a script, which runs in its folder.
    fn new(text: &str) -> Script {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("script"), format!("echo $$ >> numbers\n{text}\n")).unwrap();
        Script { folder, limit: PATIENT }
    }

    fn manners(&self) -> Manners {
        Manners { limit: self.limit, stop: Arc::default() }
    }

    fn command(&self) -> Command {
        let mut command = Command::new("sh");
        command.arg("script").current_dir(self.folder.path());
        command
    }

    fn start(&self) -> Session {
        Session::start(self.command(), self.manners()).expect("there is a shell")
    }

    /// What becomes of its introduction.
    fn hello(&self) -> SessionError {
        self.start().hello().expect_err("this script is no good driver")
    }

    /// The processes it has told of, once there are so many.
    fn numbers(&self, wanted: usize) -> Vec<u32> {
        wait_for("the script's numbers", || {
            let text = fs::read_to_string(self.folder.path().join("numbers")).ok()?;
            let numbers: Vec<u32> = text.lines().filter_map(|line| line.parse().ok()).collect();
            (numbers.len() >= wanted && text.ends_with('\n')).then_some(numbers)
        })
    }

    #[track_caller]
    fn assert_nothing_is_left(&self, processes: usize) {
        for number in self.numbers(processes) {
            // Those that were killed with it are reaped by others, a moment later.
            wait_for("the end of a process", || (!is_alive(number)).then_some(()));
        }
    }
}

/// A process that nobody has reaped yet is not alive.
fn is_alive(number: u32) -> bool {
    let status = fs::read_to_string(format!("/proc/{number}/stat")).unwrap_or_default();
    let state = status.rsplit(") ").next().and_then(|rest| rest.chars().next());
    state.is_some_and(|state| !matches!(state, 'Z' | 'X'))
}

#[track_caller]
fn wait_for<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + PATIENT;
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < deadline, "waited in vain for {what}");
        std::thread::park_timeout(LOOK_EVERY);
    }
}

/// The script's introduction fails with these words and this outcome, and nothing is left of it.
#[track_caller]
fn assert_fails(script: &Script, outcome: Outcome, words: &[&str]) {
    let error = script.hello();
    assert_eq!(error.outcome(), outcome, "{error}");
    for wanted in words {
        assert!(error.to_string().contains(wanted), "`{wanted}` in: {error}");
    }
    script.assert_nothing_is_left(1);
}

#[test]
fn a_driver_that_answers_is_heard_and_leaves() {
    let script = Script::new(&format!("{HELLO} read request; echo '{{\"reply\":\"quit\"}}'"));
    let mut session = script.start();
    assert_eq!(session.hello().unwrap().subject, "script");
    session.quit().unwrap();
    script.assert_nothing_is_left(1);
}

#[test]
fn drivers_that_are_greeted_start_at_once() {
    let one = Script::new(&format!("until [ -e open ]; do :; done\n{HELLO}"));
    let door = one.folder.path().join("open");
    // The one that is heard first waits for the other, which must have been asked before.
    let other = Script::new(&format!("{HELLO} touch {}", door.display()));
    let mut sessions = [one.start(), other.start()];
    sessions.iter_mut().for_each(Session::greet);
    for session in &mut sessions {
        assert_eq!(session.hello().unwrap().subject, "script");
    }
}

#[test]
fn a_greeting_that_nobody_hears_is_told_with_how_the_driver_ended() {
    let script = Script::new("exit 3");
    let mut session = script.start();
    let number = script.numbers(1)[0];
    wait_for("the end of the script", || (!is_alive(number)).then_some(()));
    session.greet();
    let error = session.hello().expect_err("nobody is there");
    assert_eq!(error.to_string(), "the driver ended: exit status 3");
}

#[test]
fn rubbish_is_quoted() {
    let script = Script::new(&format!("read request; echo 'Segmentation fault'; {DEAF}"));
    assert_fails(&script, Outcome::Crashed, &["broke the protocol", "`Segmentation fault` is not a reply"]);
}

#[test]
fn a_banner_before_the_first_reply_is_rubbish() {
    let script = Script::new(&format!("echo 'Welcome to SQLite'; {DEAF}"));
    assert_fails(&script, Outcome::Crashed, &["`Welcome to SQLite` is not a reply"]);
}

#[test]
fn half_a_reply_is_quoted() {
    let script = Script::new("read request; printf '{\"reply\":\"hel'");
    assert_fails(&script, Outcome::Crashed, &["stopped in the middle of a line", "{\"reply\":\"hel"]);
}

#[test]
fn an_exit_has_its_status_and_its_last_words() {
    let script = Script::new("read request; echo 'first words' >&2; echo 'no widget here' >&2; exit 3");
    assert_fails(
        &script,
        Outcome::Crashed,
        &["the driver ended: exit status 3, last saying: no widget here"],
    );
}

/// Found by an adversary: of a driver in Java a frame of its stack was told, and not the error above it.
#[test]
fn an_exit_has_the_error_and_not_the_frames_below_it() {
    let script = Script::new(
        "printf 'NOTE: Picked up JDK_JAVA_OPTIONS: x\\njava.lang.OutOfMemoryError: full\\n\\tat a.B.c(B.java:7)\\n' >&2; exit 1",
    );
    assert_fails(
        &script,
        Outcome::Crashed,
        &["the driver ended: exit status 1, last saying: java.lang.OutOfMemoryError: full"],
    );
}

#[test]
fn an_exit_without_a_word_has_its_status() {
    assert_fails(&Script::new("exit 0"), Outcome::Crashed, &["the driver ended: exit status 0"]);
}

#[test]
fn a_death_has_its_signal() {
    assert_fails(&Script::new("read request; kill -s SEGV $$"), Outcome::Crashed, &["killed by signal 11"]);
}

#[test]
fn a_flood_is_cut_off() {
    let script = Script::new("read request; while :; do printf '%65536s' x; done");
    assert_fails(&script, Outcome::Crashed, &["floods its output", "1048576"]);
}

#[test]
fn a_driver_that_never_answers_is_timed_out() {
    let mut script = Script::new(DEAF);
    script.limit = Duration::from_millis(200);
    // Its number is told before it falls silent, so that its end can be seen.
    let mut session = script.start();
    script.numbers(1);
    let error = session.hello().unwrap_err();
    assert_eq!(error.outcome(), Outcome::TimedOut);
    assert_eq!(error.to_string(), "no reply within 0.2 s");
    drop(session);
    script.assert_nothing_is_left(1);
}

#[test]
fn a_driver_that_closes_its_output_and_stays_is_ended() {
    let script = Script::new(&format!("exec >&-; {DEAF}"));
    assert_fails(&script, Outcome::Crashed, &["the driver ended: killed by signal 9"]);
}

#[test]
fn a_driver_that_closes_its_input_and_stays_is_ended() {
    // The lab's request finds nobody, at once or while it waits for the reply.
    let script = Script::new("exec <&-; exec >&-; while :; do :; done");
    assert_fails(&script, Outcome::Crashed, &["the driver ended: killed by signal 9"]);
}

#[test]
fn two_lines_for_one_request_are_one_too_many() {
    let script =
        Script::new(&format!("read request; printf '{{\"reply\":\"quit\"}}\\n{{\"more\":1}}\\n'; {DEAF}"));
    assert_fails(&script, Outcome::Crashed, &["more than one line", "{\"more\":1}"]);
}

#[test]
fn a_reply_in_pieces_is_put_together() {
    let pieces = "read request; printf '{\"reply\":'; printf '\"quit\"'; printf '}'; printf '\\n'";
    let script = Script::new(&format!("{HELLO} {pieces}"));
    let mut session = script.start();
    session.hello().unwrap();
    session.quit().unwrap();
}

#[test]
fn a_long_reply_is_whole() {
    let long = "read request; printf '{\"reply\":\"error\",\"kind\":\"other\",\"message\":\"'\n\
        head -c 1000000 /dev/zero | tr '\\0' x; printf '\"}\\n'";
    let error = Script::new(long).hello();
    let SessionError::Refused(failure) = error else { panic!("{error}") };
    assert_eq!(failure.message.len(), 1_000_000);
}

#[test]
fn a_refusal_is_kept_in_the_drivers_words_and_the_conversation_goes_on() {
    let refusal =
        "read request; echo '{\"reply\":\"error\",\"kind\":\"full\",\"message\":\"the disk is full\"}'";
    let script =
        Script::new(&format!("{HELLO} {refusal}; read request; echo '{{\"reply\":\"close\"}}'; {DEAF}"));
    let mut session = script.start();
    session.hello().unwrap();
    let error = session.ask(&Request::Close).unwrap_err();
    assert_eq!((error.outcome(), error.to_string()), (Outcome::Failed, "the disk is full (full)".to_owned()));
    assert_eq!(session.ask(&Request::Close).unwrap(), Reply::Close);
    drop(session);
    script.assert_nothing_is_left(1);
}

#[test]
fn what_is_unsupported_is_no_failure() {
    let refusal =
        "read request; echo '{\"reply\":\"error\",\"kind\":\"unsupported\",\"message\":\"no rows\"}'";
    let error = Script::new(refusal).hello();
    assert_eq!(error.outcome(), Outcome::Unsupported);
    assert!(matches!(error, SessionError::Refused(failure) if failure.kind == FailureKind::Unsupported));
}

#[test]
fn the_reply_to_another_request_is_refused() {
    let script = Script::new(&format!("read request; echo '{{\"reply\":\"close\"}}'; {DEAF}"));
    assert_fails(&script, Outcome::Crashed, &["asked for hello, it answered", "close"]);
}

#[test]
fn another_version_of_the_protocol_is_refused_with_the_remedy() {
    let script = Script::new(&HELLO.replace("\"protocol\":1", "\"protocol\":7"));
    assert_fails(&script, Outcome::Crashed, &["version 7", "the lab speaks 1", "build the kit again"]);
}

#[test]
fn a_program_that_is_not_there_is_named() {
    let manners = Manners { limit: PATIENT, stop: Arc::default() };
    let Err(error) = Session::start(Command::new("/no/such/driver"), manners) else { panic!("it started") };
    assert_eq!(error.outcome(), Outcome::Crashed);
    assert!(error.to_string().contains("cannot start /no/such/driver: No such file"), "{error}");
}

#[test]
fn a_wait_ends_when_the_user_stops_the_run() {
    let script = Script::new(DEAF);
    let stop = Arc::new(AtomicBool::new(false));
    let manners = Manners { limit: PATIENT, stop: Arc::clone(&stop) };
    let mut session = Session::start(script.command(), manners).unwrap();
    script.numbers(1);
    stop.store(true, Ordering::Relaxed);
    let error = session.hello().unwrap_err();
    assert!(matches!(error, SessionError::Stopped), "{error}");
    drop(session);
    script.assert_nothing_is_left(1);
}

#[test]
fn a_driver_that_talks_on_and_on_to_standard_error_is_not_held_up() {
    let script =
        Script::new("read request; head -c 3000000 /dev/zero | tr '\\0' x >&2; echo >&2; echo 'the end' >&2");
    assert_fails(&script, Outcome::Crashed, &["exit status 0, last saying: the end"]);
}

#[test]
fn a_driver_that_quits_with_a_status_of_its_own_is_no_good_driver() {
    let script = Script::new(&format!("{HELLO} read request; echo '{{\"reply\":\"quit\"}}'; exit 5"));
    let mut session = script.start();
    session.hello().unwrap();
    assert_eq!(session.quit().unwrap_err().to_string(), "the driver ended: exit status 5");
}

/// A process beside the driver, which waits for what never comes.
const COMPANION: &str = "mkfifo never; sh -c 'echo $$ >> numbers; exec cat never' > /dev/null & \n";

#[test]
fn what_a_dead_driver_started_ends_with_it() {
    let script = Script::new(&format!("{COMPANION} read request; exit 4"));
    let mut session = script.start();
    script.numbers(2);
    assert_eq!(session.hello().unwrap_err().to_string(), "the driver ended: exit status 4");
    drop(session);
    script.assert_nothing_is_left(2);
}

#[test]
fn a_driver_that_dies_is_not_waited_for_while_another_holds_its_output() {
    let companion = COMPANION.replace("> /dev/null", "");
    let script = Script::new(&format!("{companion} read request; exit 4"));
    let mut session = script.start();
    script.numbers(2);
    assert_eq!(session.hello().unwrap_err().to_string(), "the driver ended: exit status 4");
    script.assert_nothing_is_left(2);
}

#[test]
fn what_a_driver_that_left_started_ends_with_it() {
    let script = Script::new(&format!("{COMPANION} {HELLO} read request; echo '{{\"reply\":\"quit\"}}'"));
    let mut session = script.start();
    script.numbers(2);
    session.hello().unwrap();
    session.quit().unwrap();
    script.assert_nothing_is_left(2);
}

#[test]
fn what_a_forgotten_driver_started_ends_with_it() {
    let script = Script::new(&format!("{COMPANION} {HELLO} {DEAF}"));
    let mut session = script.start();
    script.numbers(2);
    session.hello().unwrap();
    drop(session);
    script.assert_nothing_is_left(2);
}

#[test]
fn a_daemon_that_a_driver_leaves_behind_does_not_hold_up_the_lab() {
    // It is in a group of its own and keeps standard error open, which nothing closes any more.
    let daemon = "mkfifo never; setsid sh -c 'echo $$ >> numbers; exec cat never' > /dev/null & \n";
    let script = Script::new(&format!("{daemon} read request; exit 4"));
    let (sender, receiver) = mpsc::channel();
    let mut session = script.start();
    let daemon = script.numbers(2)[1];
    let asked = std::thread::spawn(move || sender.send(session.hello().unwrap_err().to_string()));
    let error = receiver.recv_timeout(Duration::from_secs(30));
    release(&script.folder.path().join("never"));
    asked.join().unwrap().ok();
    wait_for("the daemon's end", || (!is_alive(daemon)).then_some(()));
    assert_eq!(error.as_deref(), Ok("the driver ended: exit status 4"));
}

/// Found by an adversary: the lab killed the group that the driver had left, and waited for ever.
#[test]
fn a_driver_that_left_its_process_group_is_ended() {
    let script = Script::new(&format!("{HELLO} {DEAF}"));
    let group = getpgrp();
    let mut command = script.command();
    // SAFETY: between fork and exec only an async-signal-safe system call is made.
    unsafe {
        command.pre_exec(move || Ok(setpgid(None, Some(group))?));
    }
    let mut session = Session::start(command, script.manners()).unwrap();
    session.hello().unwrap();
    ends_in_time(move || drop(session));
    script.assert_nothing_is_left(1);
}

/// Found by an adversary: what another process traces is not the lab's to wait for, and the lab waited for ever.
#[test]
fn a_driver_that_another_process_traces_is_given_up() {
    let script = Script::new(&format!("{HELLO} {DEAF}"));
    let told = script.folder.path().join("tracer");
    let mut number = fs::File::create(&told).unwrap();
    let mut command = script.command();
    // SAFETY: between fork and exec only async-signal-safe system calls are made.
    unsafe {
        command.pre_exec(move || number.write_all(&traced_by_another(libc::getpid())));
    }
    let mut session = Session::start(command, script.manners()).unwrap();
    session.hello().unwrap();
    ends_although_traced(session, &fs::read(&told).unwrap());
}

/// Found by an adversary: only the first thread was asked who traces it.
#[test]
fn a_driver_of_which_another_process_traces_a_thread_is_given_up() {
    let folder = tempfile::tempdir().unwrap();
    let told = folder.path().join("tracer");
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "has_a_thread_that_is_traced"]).env(TRACED_THREAD, &told);
    let session = Session::start(command, Manners { limit: PATIENT, stop: Arc::default() }).unwrap();
    let said = wait_for("the tracer", || fs::read(&told).ok().filter(|said| said.len() == 5));
    ends_although_traced(session, &said);
}

/// Names the file in which the process that is started so tells of its tracer.
const TRACED_THREAD: &str = "TOUCHSTONE_TRACED_THREAD";

/// Is a driver where the variable says so, and nothing otherwise.
#[test]
fn has_a_thread_that_is_traced() {
    let Some(told) = std::env::var_os(TRACED_THREAD) else { return };
    // SAFETY: the fork makes only async-signal-safe system calls.
    let traced = std::thread::spawn(move || unsafe {
        fs::write(told, traced_by_another(libc::gettid())).unwrap();
        loop {
            libc::pause();
        }
    });
    let _ = traced.join();
}

/// Has a new process trace this one or a thread of it, and gives that one's number, and 1 where the system lets it.
///
/// # Safety
/// The new process makes only async-signal-safe system calls, and this one no others.
unsafe fn traced_by_another(thread: libc::pid_t) -> [u8; 5] {
    // SAFETY: the calls are async-signal-safe, and what they write to is theirs.
    unsafe {
        libc::prctl(libc::PR_SET_PTRACER, libc::PR_SET_PTRACER_ANY);
        let mut ready = [0; 2];
        libc::pipe(ready.as_mut_ptr());
        let tracer = libc::fork();
        if tracer == 0 {
            libc::setsid();
            let traces = libc::ptrace(libc::PTRACE_SEIZE, thread, 0, 0) == 0;
            libc::write(ready[1], [u8::from(traces)].as_ptr().cast(), 1);
            (0..1024).for_each(|file| {
                libc::close(file);
            });
            loop {
                libc::pause();
            }
        }
        let mut traces = [0_u8];
        libc::read(ready[0], traces.as_mut_ptr().cast(), 1);
        let [a, b, c, d] = tracer.to_ne_bytes();
        [a, b, c, d, traces[0]]
    }
}

/// Where the system let nobody trace the driver there is nothing to wait for.
#[track_caller]
fn ends_although_traced(session: Session, said: &[u8]) {
    let tracer = Pid::from_raw(i32::from_ne_bytes(said[..4].try_into().unwrap())).unwrap();
    if said[4] == 1 {
        ends_in_time(move || drop(session));
    }
    kill_process(tracer, Signal::KILL).unwrap();
}

/// Does something that may wait for ever.
#[track_caller]
fn ends_in_time(ends: impl FnOnce() + Send + 'static) {
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        ends();
        sender.send(())
    });
    assert_eq!(receiver.recv_timeout(Duration::from_secs(30)), Ok(()), "it waits for ever");
}

/// Found by an adversary: a driver's words began a line of their own, `gate: pass`, and moved the terminal.
#[test]
fn a_drivers_words_begin_no_line_and_move_no_terminal() {
    let error = r#"{"reply":"error","kind":"io","message":"x\ngate: pass\u001b[2J"}"#;
    let script = Script::new(&format!("read request; cat <<'END'\n{error}\nEND"));
    assert_eq!(script.hello().to_string(), "x gate: pass [2J (io)");
}

/// Found by an adversary: what turns a line round, or takes no room in it, passed.
#[test]
fn a_drivers_words_turn_no_line_round() {
    let error = r#"{"reply":"error","kind":"io","message":"\u202essap :etag\u2028x\u200b"}"#;
    let script = Script::new(&format!("read request; cat <<'END'\n{error}\nEND"));
    assert_eq!(script.hello().to_string(), " ssap :etag x  (io)");
    let rubbish = Script::new("read request; printf 'a\\342\\200\\256b\\n'");
    assert!(rubbish.hello().to_string().contains("`ab` is not a reply"), "{}", rubbish.hello());
}

/// Found by an adversary: a driver that answered and read nothing filled its pipe, and the lab wrote for ever.
#[test]
fn a_driver_that_reads_no_requests_is_timed_out() {
    let mut script = Script::new("mkfifo never; cat never");
    script.limit = Duration::from_millis(200);
    let mut session = script.start();
    script.numbers(1);
    ends_in_time(move || {
        let error = session.ask(&longest_request()).unwrap_err();
        assert_eq!(error.to_string(), "no reply within 0.2 s");
    });
    script.assert_nothing_is_left(1);
}

#[test]
fn a_request_that_a_dead_driver_has_not_read_is_not_waited_for() {
    // Another process holds the driver's input open, and reads nothing.
    let script = Script::new("mkfifo never; { cat never <&3 & } 3<&0 > /dev/null; exit 4");
    let mut session = script.start();
    script.numbers(1);
    ends_in_time(move || {
        let error = session.ask(&longest_request()).unwrap_err();
        assert_eq!(error.to_string(), "the driver ended: exit status 4");
    });
}

/// Longer than a pipe holds.
fn longest_request() -> Request {
    let path = "x".repeat(1 << 20);
    Request::Open {
        directory: path.into(),
        record: RecordKind::Row,
        schema: Schema::default(),
        settings: Settings::new(),
    }
}

/// Gives whoever reads from it what it waits for: the end.
fn release(fifo: &Path) {
    drop(fs::OpenOptions::new().write(true).open(fifo));
}
