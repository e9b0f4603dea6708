//! Builds drivers, as many side by side as there are processors: much of a build is one file that one processor compiles.

use super::{Project, sources_folder};
use crate::error::{Error, ErrorKind, Result};
use rustix::process::{Pid, Signal, kill_process};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::fs::{File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;
use touchstone::plan::Plan;

/// Lines of a tool's words that a failure tells.
const TOLD_LINES: usize = 20;

/// How often a build of another lab is asked whether it is over.
const ASK_EVERY: Duration = Duration::from_millis(50);

/// How often a tool is asked whether it has ended.
const ENDED_EVERY: Duration = Duration::from_millis(20);

/// The tool that lets no other process build into its folder meanwhile. Make, Maven and pip let it, and it finds half a file.
const CARGO: &str = "cargo";

/// The argument of cargo that names a program.
const PROGRAM: &str = "--bin";

impl Project {
    /// Builds every driver the plan needs; `say` is told what is being built, and at once what cannot be. Steps of one cargo folder
    /// wait for each other, and so do the steps of all other tools, also those of another lab; the rest is built side by side.
    /// When `stop` is set no step is begun any more, and nothing is said of the rest: the caller asks for it.
    ///
    /// # Errors
    /// When a build tool is missing or a build fails; the message ends with the tool's own words.
    pub fn build(&self, plan: &Plan, stop: &AtomicBool, say: impl FnMut(&str) + Send) -> Result<()> {
        let arms = plan.cases.iter().flat_map(|case| &case.arms).filter(|arm| arm.program.is_none());
        let wanted: BTreeSet<&str> = arms.map(|arm| arm.contender.subject.as_str()).collect();
        let rows = rows(wanted.into_iter().map(|name| self.step(name)).collect::<Result<_>>()?);
        let together = thread::available_parallelism().map_or(1, usize::from).min(rows.len());
        let (queue, say) = (Mutex::new(rows.into_iter()), Mutex::new(say));
        let failed = AtomicBool::new(false);
        let say = &|what: &str| say.lock().unwrap_or_else(PoisonError::into_inner)(what);
        let kits = self.root.join("kits");
        let build = |step: &Step| {
            let _alone = step.wait_for_others(&kits, stop, say);
            if stop.load(Ordering::Relaxed) || failed.load(Ordering::Relaxed) {
                return Ok(());
            }
            say(&format!("building {}", step.names()));
            step.run(stop).inspect_err(|_| {
                failed.store(true, Ordering::Relaxed);
                // Ctrl-C reaches the tools too, which then fail of it.
                if !stop.load(Ordering::Relaxed) {
                    say(&format!("cannot build {}", step.names()));
                }
            })
        };
        let build_next = || -> Result<()> {
            while let Some(steps) = next(&queue) {
                for step in steps {
                    // After a failure no step is begun any more.
                    if failed.load(Ordering::Relaxed) || stop.load(Ordering::Relaxed) {
                        return Ok(());
                    }
                    build(&step)?;
                }
            }
            Ok(())
        };
        thread::scope(|scope| {
            let builders: Vec<_> = (0..together).map(|_| scope.spawn(build_next)).collect();
            let ended =
                builders.into_iter().map(|builder| builder.join().expect("a build ends with a result"));
            ended.collect::<Vec<Result<()>>>().into_iter().collect()
        })
    }

    fn step(&self, name: &str) -> Result<Step> {
        let (folder, subject) = self.subject(name)?;
        let value = |variable: &String| Some((variable.clone(), env::var_os(variable)?));
        let sources = match subject.sources.as_ref().and_then(value) {
            // It may be relative, and the build has another current folder.
            Some((variable, value)) => {
                let language = self.kits.kit_of(name).map_or("", |kit| kit.kit.language.as_str());
                let folder = sources_folder(language, &variable, &value)?;
                Some((variable, folder))
            }
            None => None,
        };
        Ok(Step { subjects: vec![name.to_owned()], folder, command: subject.build.clone(), sources })
    }
}

/// A command that builds one subject or several.
struct Step {
    subjects: Vec<String>,
    folder: PathBuf,
    command: Vec<String>,
    /// The variable that names the library's sources, and their folder.
    sources: Option<(String, PathBuf)>,
}

impl Step {
    /// Steps with the same turn wait for each other: those of one folder that cargo builds into, and those of all other tools, for
    /// one kit's make may make a part of another kit, as FMDB's does.
    fn turn(&self) -> Option<PathBuf> {
        let target = self.command.iter().skip_while(|word| *word != "--target-dir").nth(1);
        self.is_cargo().then(|| self.folder.join(target.map_or("target", String::as_str)))
    }

    /// Waits until no other lab builds for these kits with a tool that does not see to it itself, or until it is stopped. No other
    /// begins as long as what is returned lives. Where the file system has no such locks nobody waits, and nobody waits for a tool
    /// whose lab was killed, or that was started without a lab.
    fn wait_for_others(&self, kits: &Path, stop: &AtomicBool, say: &impl Fn(&str)) -> Option<File> {
        let folder = File::open(kits).ok().filter(|_| !self.is_cargo())?;
        let mut told = false;
        while let Err(TryLockError::WouldBlock) = folder.try_lock() {
            if stop.load(Ordering::Relaxed) {
                return None;
            }
            if !told {
                say(&format!("waiting for another lab's build, then building {}", self.names()));
                told = true;
            }
            thread::park_timeout(ASK_EVERY);
        }
        Some(folder)
    }

    fn is_cargo(&self) -> bool {
        self.tool() == CARGO
    }

    /// Asks for another step's programs too, where cargo is asked for the same but for the programs: it compiles them side by side.
    /// A command without programs builds all of them, and words behind `--` are not cargo's own.
    fn join(&mut self, other: Step) -> Option<Step> {
        let same = |step: &Step| (step.folder.clone(), step.sources.clone(), step.without_programs());
        let names_programs =
            |step: &Step| !step.programs().is_empty() && !step.command.iter().any(|word| word == "--");
        let joins = self.is_cargo() && names_programs(self) && names_programs(&other);
        if !joins || same(self) != same(&other) {
            return Some(other);
        }
        self.command.extend(other.programs());
        self.subjects.extend(other.subjects);
        None
    }

    fn tool(&self) -> &str {
        self.command.first().expect("checked when the table was read")
    }

    /// `rusqlite, sqlite-c`
    fn names(&self) -> String {
        self.subjects.join(", ")
    }

    /// The words that name programs, and the programs.
    fn programs(&self) -> Vec<String> {
        self.command.windows(2).filter(|pair| pair[0] == PROGRAM).flatten().cloned().collect()
    }

    fn without_programs(&self) -> Vec<String> {
        let mut words = Vec::new();
        let mut command = self.command.iter();
        while let Some(word) = command.next() {
            if word == PROGRAM {
                command.next();
            } else {
                words.push(word.clone());
            }
        }
        words
    }

    /// Runs the tool, and ends it where the lab is to stop: a terminal's Ctrl-C reaches both, other requests the lab alone.
    fn run(&self, stop: &AtomicBool) -> Result<()> {
        let mut command = Command::new(self.tool());
        command.args(&self.command[1..]).current_dir(&self.folder);
        command.envs(self.sources.iter().cloned()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let tool = command.spawn().map_err(|error| self.missing(&error))?;
        let process = Pid::from_child(&tool);
        let output = thread::scope(|scope| {
            let waiting = scope.spawn(|| tool.wait_with_output());
            let mut is_told = false;
            while !waiting.is_finished() {
                if !is_told && stop.load(Ordering::Relaxed) {
                    is_told = true;
                    let _ = kill_process(process, Signal::TERM);
                }
                thread::park_timeout(ENDED_EVERY);
            }
            waiting.join().expect("to wait does not panic")
        });
        let output = output.map_err(|error| self.missing(&error))?;
        if output.status.success() { Ok(()) } else { Err(self.failure(&output)) }
    }

    fn missing(&self, error: &io::Error) -> Error {
        let (tool, names) = (self.tool(), self.names());
        let remedy = format!("cannot run `{tool}`, which builds {names}: {error}; install it and try again");
        Error::new(ErrorKind::Missing, remedy)
    }

    fn failure(&self, output: &Output) -> Error {
        let words = String::from_utf8_lossy(&output.stderr);
        let told = told(&words).join("\n  ");
        let (names, command, folder) = (self.names(), self.command.join(" "), self.folder.display());
        let message = format!("cannot build {names} with `{command}` in {folder}:\n  {told}");
        Error::new(ErrorKind::Build, message)
    }
}

/// The words that say what went wrong: from the first error on, for the warnings of other programs may follow, or else the last.
fn told(words: &str) -> Vec<&str> {
    let lines: Vec<&str> = words.lines().collect();
    let first = lines.iter().position(|line| line.starts_with("error") || line.starts_with("[ERROR]"));
    let from = first.unwrap_or(lines.len().saturating_sub(TOLD_LINES));
    lines[from..].iter().take(TOLD_LINES).copied().collect()
}

/// Steps in rows, of which each is built in order. The row of most programs is first, so that no processor waits for its end.
fn rows(steps: Vec<Step>) -> Vec<Vec<Step>> {
    let mut rows: BTreeMap<Option<PathBuf>, Vec<Step>> = BTreeMap::new();
    for step in steps {
        let row = rows.entry(step.turn()).or_default();
        let left = row.iter_mut().try_fold(step, |step, before| before.join(step));
        row.extend(left);
    }
    let mut rows: Vec<Vec<Step>> = rows.into_values().collect();
    rows.sort_by_key(|row| Reverse(row.iter().map(|step| step.subjects.len()).sum::<usize>()));
    rows
}

fn next<T>(queue: &Mutex<impl Iterator<Item = T>>) -> Option<T> {
    queue.lock().unwrap_or_else(PoisonError::into_inner).next()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kits::tests::planned;
    use std::fs;
    use std::sync::mpsc;

    fn step(subject: &str, kit: &str, command: &str) -> Step {
        Step {
            subjects: vec![subject.into()],
            folder: kit.into(),
            command: command.split(' ').map(str::to_owned).collect(),
            sources: None,
        }
    }

    /// The subjects of each step, by row.
    fn named(steps: Vec<Step>) -> Vec<Vec<String>> {
        rows(steps).iter().map(|row| row.iter().map(Step::names).collect()).collect()
    }

    #[test]
    fn steps_of_other_tools_than_cargo_wait_for_each_other_for_one_may_make_a_part_of_another() {
        assert_eq!(named(vec![step("a", "one", "make a"), step("b", "other", "mvn b")]), [["a", "b"]]);
        let apart = named(vec![step("a", "kit", "make a"), step("b", "kit", "cargo build")]);
        assert_eq!(apart, [["a"], ["b"]]);
    }

    /// A project whose one kit is built by this script.
    fn project(script: &str) -> (tempfile::TempDir, Project, Plan) {
        let folder = tempfile::tempdir().unwrap();
        let kit = folder.path().join("kits/k");
        fs::create_dir_all(&kit).unwrap();
        let kit_table = format!(
            "[kit]\nlanguage = \"k\"\n[[subject]]\nname = \"s\"\nsummary = \"s\"\nbuild = [\"sh\", \"-c\", \"{script}\"]\n\
             run = [\"r\"]\nprofile = [{{ name = \"p\", class = \"strict\" }}]"
        );
        fs::write(kit.join("kit.toml"), kit_table).unwrap();
        let project = Project::open(Some(folder.path())).unwrap();
        let plan = planned(&project.kits, "s@p", "\"s@p\"");
        (folder, project, plan)
    }

    /// Found by a test run on a new machine: Maven compiled against an archive that another build was writing.
    #[test]
    fn two_labs_do_not_build_with_make_at_once() {
        let (folder, project, plan) = project("mkdir alone && timeout 60 cat fifo && rmdir alone");
        let kit = folder.path().join("kits/k");
        assert!(Command::new("mkfifo").arg(kit.join("fifo")).status().unwrap().success());
        let end_one = || fs::write(kit.join("fifo"), "").unwrap();
        let going_on = AtomicBool::new(false);
        thread::scope(|scope| {
            let first = scope.spawn(|| project.build(&plan, &going_on, |_| ()));
            while !kit.join("alone").exists() {
                assert!(!first.is_finished(), "it builds");
                thread::yield_now();
            }
            let (said, says) = mpsc::channel();
            let second = scope
                .spawn(|| project.build(&plan, &going_on, move |what| said.send(what.to_owned()).unwrap()));
            assert_eq!(says.recv().unwrap(), "waiting for another lab's build, then building s");
            let stop = AtomicBool::new(false);
            let asked_to_stop = project.build(&plan, &stop, |what| {
                assert_ne!(what, "building s", "it was stopped");
                stop.store(true, Ordering::Relaxed);
            });
            asked_to_stop.unwrap();
            assert!(stop.into_inner(), "it had to wait");
            end_one();
            assert_eq!(says.recv().unwrap(), "building s");
            end_one();
            first.join().unwrap().unwrap();
            second.join().unwrap().unwrap();
        });
    }

    /// A request to end that reached the lab alone was heard when the build was over: after minutes.
    #[test]
    fn a_build_that_goes_on_is_ended_where_the_lab_is_to_stop() {
        let folder = tempfile::tempdir().unwrap();
        let begun = folder.path().join("begun");
        let step = Step {
            command: vec!["sh".into(), "-c".into(), "touch begun; exec tail -f begun".into()],
            folder: folder.path().to_owned(),
            ..step("endless", "a", "sh")
        };
        let stop = AtomicBool::new(false);
        thread::scope(|scope| {
            let building = scope.spawn(|| step.run(&stop));
            while !begun.exists() {
                thread::yield_now();
            }
            stop.store(true, Ordering::Relaxed);
            assert!(building.join().unwrap().is_err(), "it was ended");
        });
    }

    #[test]
    fn programs_that_cargo_builds_alike_are_asked_for_at_once() {
        let cargo = |subject: &str, features: &str| {
            let command = format!("cargo build --target-dir target --bin {subject} --features {features}");
            step(subject, "kit", &command)
        };
        let steps = vec![cargo("a", "x"), cargo("b", "y"), cargo("c", "x"), cargo("d", "x")];
        assert_eq!(
            rows(steps).remove(0).remove(0).command.join(" "),
            "cargo build --target-dir target --bin a --features x --bin c --bin d"
        );
        let steps = vec![cargo("a", "x"), cargo("b", "y"), cargo("c", "x")];
        assert_eq!(named(steps), [["a, c", "b"]], "features are compiled into what programs share");
        let all = || step("all", "kit", "cargo build --target-dir target");
        let one = || step("one", "kit", "cargo build --target-dir target --bin one");
        assert_eq!(
            named(vec![all(), one()]),
            [["all", "one"]],
            "a command without programs builds all of them"
        );
        assert_eq!(named(vec![one(), all()]), [["one", "all"]]);
        let rustc =
            |name: &str| step(name, "kit", &format!("cargo rustc --target-dir target --bin {name} -- -g"));
        assert_eq!(named(vec![rustc("a"), rustc("b")]), [["a", "b"]], "words behind `--` are the compiler's");
    }

    #[test]
    fn a_failure_tells_what_went_wrong_and_not_the_warnings_after_it() {
        let warnings = "warning: of another program\n".repeat(30);
        let words = format!("{warnings}error[E0308]: mismatched types\n --> beta.rs\n{warnings}");
        assert_eq!(told(&words)[..2], ["error[E0308]: mismatched types", " --> beta.rs"]);
        assert_eq!(told(&words).len(), TOLD_LINES);
        assert_eq!(told("one\ntwo"), ["one", "two"]);
        assert_eq!(told(&format!("{warnings}the last")).last(), Some(&"the last"));
    }

    #[test]
    fn the_row_of_most_programs_is_begun_first() {
        let cargo = |subject: &str, target: &str, features: &str| {
            let command = format!("cargo build --target-dir {target} --bin {subject} --features {features}");
            step(subject, "kit", &command)
        };
        let steps = vec![cargo("a", "one", "x"), cargo("b", "two", "y"), cargo("c", "two", "z")];
        assert_eq!(named(steps), [vec!["b", "c"], vec!["a"]]);
    }
}
