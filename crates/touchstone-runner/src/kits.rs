//! Finds the kits on disk, and gives the command that starts a driver.

mod apart;
mod building;

use crate::error::{Error, ErrorKind, Result};
use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use touchstone::kit::{Kit, Kits, Subject};
use touchstone::name::there_are;
use touchstone::plan::{Plan, PlannedArm, PlannedCase};
use touchstone::suite::{OrderKind, OrderPlan, Suite, Trace};

/// The longest trace that is read: a gigabyte, which is a hundred million gets.
const TRACE_BYTES_MAX: u64 = 1 << 30;

/// The project's folders: suites to ask, kits to measure.
#[derive(Clone, Debug)]
pub struct Project {
    /// The folder that holds `suites/` and `kits/`.
    pub root: PathBuf,
    /// Every kit found.
    pub kits: Kits,
    /// The copies that the arms of a gate between two programs run.
    apart: Vec<apart::Apart>,
}

impl Project {
    /// Opens the project at `root`, or without one the nearest at or above the current folder.
    ///
    /// # Errors
    /// When there is no project, or a kit's table is not one.
    pub fn open(root: Option<&Path>) -> Result<Project> {
        let root = match root {
            Some(root) => root.to_owned(),
            None => find_root()?,
        };
        // Drivers are started in their kit's folder, from where a relative root would mean another place.
        let root = root.canonicalize().map_err(|error| {
            Error::new(ErrorKind::Missing, format!("{}: there is no project here: {error}", root.display()))
        })?;
        let mut folders: Vec<PathBuf> = fs::read_dir(root.join("kits"))
            .map_err(|error| {
                let remedy = "run in the project or give its folder with --root";
                Error::new(ErrorKind::Missing, format!("{}: no kits here: {error}; {remedy}", root.display()))
            })?
            .filter_map(|entry| Some(entry.ok()?.path()))
            .filter(|folder| folder.join("kit.toml").exists())
            .collect();
        folders.sort();
        let mut kits = Kits::default();
        for folder in folders {
            let path = folder.join("kit.toml");
            kits.kits.push(Kit::parse(&read(&path)?, &path.display().to_string())?);
        }
        Ok(Project { root, kits, apart: Vec::new() })
    }

    /// Reads suites by name (`wcdb`) or by path; for no names, all that are not internal.
    ///
    /// # Errors
    /// When one is not there or is not a suite.
    pub fn suites(&self, names: &[String]) -> Result<Vec<Suite>> {
        let known = self.suite_names()?;
        if names.is_empty() {
            let all: Vec<Suite> = known.iter().map(|name| self.suite(name, &known)).collect::<Result<_>>()?;
            return Ok(all.into_iter().filter(|suite| !suite.internal).collect());
        }
        names.iter().map(|name| self.suite(name, &known)).collect()
    }

    /// The names of the suites at hand, in order.
    ///
    /// # Errors
    /// When the folder cannot be read.
    pub fn suite_names(&self) -> Result<Vec<String>> {
        let folder = self.root.join("suites");
        let entries = fs::read_dir(&folder).map_err(|error| Error::io(folder.display(), &error))?;
        let mut names: Vec<String> = entries
            .filter_map(|entry| Some(entry.ok()?.path()))
            .filter(|path| path.extension().is_some_and(|extension| extension == "toml"))
            .filter_map(|path| Some(path.file_stem()?.to_str()?.to_owned()))
            .collect();
        names.sort();
        Ok(names)
    }

    fn suite(&self, name: &str, known: &[String]) -> Result<Suite> {
        let by_path = Path::new(name);
        let path = if by_path.extension().is_some() {
            by_path.to_owned()
        } else {
            self.root.join("suites").join(format!("{name}.toml"))
        };
        if !path.exists() {
            let message = format!(
                "there is no suite `{name}` ({} is missing); {}",
                path.display(),
                there_are(name, known)
            );
            return Err(Error::new(ErrorKind::Input, message));
        }
        let mut suite = Suite::parse(&read(&path)?, &path.display().to_string())?;
        named_as_its_file(&suite.name, &path)?;
        read_traces(&mut suite, &path)?;
        Ok(suite)
    }

    /// The plan without the arms of which something is not on this machine, and with what is to be said of those: a line for
    /// each thing that is missing. That is a program that a kit needs, or the sources of a subject which no variable names.
    ///
    /// # Errors
    /// When one of them is a case's baseline or its floor, which others are compared with, when nothing is left to compare
    /// with those, and when a variable names no folder.
    pub fn at_hand(&self, plan: &Plan) -> Result<Plan> {
        let path = env::var_os("PATH").unwrap_or_default();
        let is_there = |program: &str| env::split_paths(&path).any(|folder| folder.join(program).is_file());
        self.within(plan, is_there, |variable| env::var_os(variable))
    }

    fn within(
        &self,
        plan: &Plan,
        is_there: impl Fn(&str) -> bool,
        value: impl Fn(&str) -> Option<OsString>,
    ) -> Result<Plan> {
        let mut plan = plan.clone();
        let mut left_out: BTreeMap<Lack<'_>, BTreeSet<String>> = BTreeMap::new();
        // A case of services whose baseline cannot be had is none: a bench of all suites does without it.
        for case in std::mem::take(&mut plan.cases) {
            let is_baseline = |arm: &&PlannedArm| case.load.is_some() && arm.name == case.baseline;
            let lack = match case.arms.iter().find(is_baseline) {
                Some(arm) => self.lack(arm, &is_there, &value)?,
                None => None,
            };
            let Some(lack) = lack else {
                plan.cases.push(case);
                continue;
            };
            let contenders = case.arms.iter().map(|arm| arm.contender.to_string());
            left_out.entry(lack).or_default().extend(contenders);
        }
        for case in &mut plan.cases {
            let mut kept = Vec::new();
            for arm in std::mem::take(&mut case.arms) {
                let Some(lack) = self.lack(&arm, &is_there, &value)? else {
                    kept.push(arm);
                    continue;
                };
                if arm.name == case.baseline || Some(&arm.name) == case.floor.as_ref() {
                    let (name, case, remedy) = (&arm.name, &case.id, lack.remedy());
                    let message = format!("{lack}, and others are compared with {name} in {case}: {remedy}");
                    return Err(Error::new(ErrorKind::Missing, message));
                }
                left_out.entry(lack).or_default().insert(arm.contender.to_string());
            }
            case.arms = kept;
        }
        let say = |(lack, contenders): (Lack<'_>, BTreeSet<String>)| {
            let contenders: Vec<String> = contenders.into_iter().collect();
            let told = format!("{}; {lack}", contenders.join(", "));
            if matches!(lack, Lack::Sources { .. }) { format!("{told} ({})", lack.remedy()) } else { told }
        };
        plan.left_out = left_out.into_iter().map(say).collect();
        if !plan.left_out.is_empty() && plan.cases.iter().all(compares_nothing) {
            let message = format!("nothing is left to compare: {}", plan.left_out.join("; "));
            return Err(Error::new(ErrorKind::Missing, message));
        }
        Ok(plan)
    }

    /// What an arm's driver cannot be built and run without, if it is not on this machine.
    fn lack(
        &self,
        arm: &PlannedArm,
        is_there: impl Fn(&str) -> bool,
        value: impl Fn(&str) -> Option<OsString>,
    ) -> Result<Option<Lack<'_>>> {
        let name = &arm.contender.subject;
        let Some(kit) = self.kits.kit_of(name).filter(|_| arm.program.is_none()) else { return Ok(None) };
        let language = kit.kit.language.as_str();
        if let Some(program) = kit.kit.needs.iter().find(|program| !is_there(program)) {
            return Ok(Some(Lack::Program { language, program }));
        }
        let subject = kit.subjects.iter().find(|subject| subject.name == *name);
        let Some(variable) = subject.and_then(|subject| subject.sources.as_deref()) else { return Ok(None) };
        match value(variable).filter(|value| !value.is_empty()) {
            None => Ok(Some(Lack::Sources { language, variable })),
            Some(folder) => sources_folder(language, variable, &folder).map(|_| None),
        }
    }

    /// The driver program of an arm.
    ///
    /// # Errors
    /// When the kit has no such subject.
    pub fn program(&self, arm: &PlannedArm) -> Result<PathBuf> {
        if let Some(program) = &arm.program {
            return Ok(PathBuf::from(program));
        }
        let (folder, subject) = self.subject(&arm.contender.subject)?;
        let program = &subject.run[0];
        // A bare name is looked up in PATH, as `python3`; a path is the kit's own.
        Ok(if program.contains('/') { folder.join(program) } else { PathBuf::from(program) })
    }

    /// The file that an arm's driver is in: the program, or where that is looked up in `PATH` and runs another, the first
    /// file among its arguments.
    ///
    /// # Errors
    /// When the kit has no such subject.
    pub fn program_file(&self, arm: &PlannedArm) -> Result<PathBuf> {
        let program = self.started(arm)?;
        if program.components().count() > 1 {
            return Ok(program);
        }
        let (folder, subject) = self.subject(&arm.contender.subject)?;
        let mut files = subject.run[1..].iter().map(|argument| folder.join(argument));
        Ok(files.find(|file| file.is_file()).unwrap_or(program))
    }

    /// The command that starts an arm's driver.
    ///
    /// # Errors
    /// When the kit has no such subject.
    pub fn command(&self, arm: &PlannedArm) -> Result<Command> {
        let (folder, subject) = self.subject(&arm.contender.subject)?;
        let mut command = Command::new(self.started(arm)?);
        command.args(&subject.run[1..]).current_dir(folder);
        Ok(command)
    }

    fn subject(&self, name: &str) -> Result<(PathBuf, &Subject)> {
        let (language, subject) = self
            .kits
            .subject(name)
            .ok_or_else(|| Error::new(ErrorKind::Missing, format!("no kit has a subject `{name}`")))?;
        Ok((self.root.join("kits").join(language), subject))
    }
}

/// Reads the traces that a suite's orders name, which lie at paths from its own file on.
fn read_traces(suite: &mut Suite, path: &Path) -> Result<()> {
    for place in 0..suite.cases.len() {
        let case = &mut suite.cases[place];
        let Some(order) = case.order.as_mut().filter(|order| order.kind == OrderKind::Trace) else {
            continue;
        };
        if let Err(why) = read_trace(order, path) {
            let id = &suite.cases[place].id;
            let message = format!("{}: case `{id}`: {why}", suite.place_of_case(id));
            return Err(Error::new(ErrorKind::Input, message));
        }
    }
    Ok(())
}

/// Reads the trace that an order of the suite at `path` names, if it names one.
fn read_trace(order: &mut OrderPlan, path: &Path) -> std::result::Result<(), String> {
    let Some(file) = &order.file else { return Ok(()) };
    let trace = path.with_file_name("").join(file);
    let told = |why: String| format!("its trace {}: {why}", trace.display());
    if order.among.is_some() {
        return Err(told("it says itself how many records there are: leave out `among`".into()));
    }
    let text = trace_text(&trace)
        .map_err(|error| told(format!("{error}: record one as docs/traces.md says, or name another")))?;
    order.record(Trace::parse(&text).map_err(told)?);
    Ok(())
}

/// Of a pipe or a device nobody would ever see the end.
fn trace_text(trace: &Path) -> io::Result<String> {
    let there = fs::metadata(trace)?;
    if !there.is_file() {
        return Err(io::Error::other("it is no file"));
    }
    if there.len() > TRACE_BYTES_MAX {
        return Err(io::Error::other(format!(
            "it has {} bytes, and {TRACE_BYTES_MAX} at most are read",
            there.len()
        )));
    }
    fs::read_to_string(trace)
}

/// A suite is asked for by its file's name, and its cases are known by its own: it would be looked for in vain.
fn named_as_its_file(name: &str, path: &Path) -> Result<()> {
    let stem = path.file_stem().map(|stem| stem.to_string_lossy()).unwrap_or_default();
    if stem == name {
        return Ok(());
    }
    let path = path.display();
    let message = format!(
        "{path}: its name is `{name}`, a suite's is that of its file: write name = \"{stem}\", or call the file \
         {name}.toml"
    );
    Err(Error::new(ErrorKind::Input, message))
}

/// What an arm is left out for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Lack<'k> {
    /// A program that its kit needs.
    Program { language: &'k str, program: &'k str },
    /// Its sources: the variable that would name them is not set.
    Sources { language: &'k str, variable: &'k str },
}

impl Lack<'_> {
    fn remedy(&self) -> String {
        match self {
            Lack::Program { .. } => "install it".into(),
            Lack::Sources { language, .. } => format!("kits/{language}/README.md says how"),
        }
    }
}

impl fmt::Display for Lack<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Lack::Program { language, program } => {
                write!(formatter, "`{program}` is not in PATH, which the kit for {language} needs")
            }
            Lack::Sources { variable, .. } => {
                write!(formatter, "{variable} names no folder with its sources")
            }
        }
    }
}

/// Whether only those are left that others are compared with.
fn compares_nothing(case: &PlannedCase) -> bool {
    let is_role = |arm: &PlannedArm| arm.name == case.baseline || Some(&arm.name) == case.floor.as_ref();
    case.arms.iter().all(is_role)
}

/// The folder that a variable names, from the root.
fn sources_folder(language: &str, variable: &str, folder: &OsStr) -> Result<PathBuf> {
    let folder = Path::new(folder);
    folder.canonicalize().ok().filter(|folder| folder.is_dir()).ok_or_else(|| {
        let message = format!(
            "{variable} names {}, where no folder is: kits/{language}/README.md says how to get the sources",
            folder.display()
        );
        Error::new(ErrorKind::Missing, message)
    })
}

fn find_root() -> Result<PathBuf> {
    let start = env::current_dir().map_err(|error| Error::io("cannot tell the current folder", &error))?;
    let found =
        start.ancestors().find(|folder| folder.join("kits").is_dir() && folder.join("suites").is_dir());
    found.map(Path::to_owned).ok_or_else(|| {
        Error::new(
            ErrorKind::Missing,
            format!(
                "no kits/ and suites/ at or above {}: run in the project or give --root",
                start.display()
            ),
        )
    })
}

fn read(path: &Path) -> Result<String> {
    fs::read_to_string(path)
        .map_err(|error| Error::io(format_args!("cannot read {}", path.display()), &error))
}

#[cfg(test)]
mod tests {
    use super::*;
    use touchstone::plan::Choice;
    use touchstone::suite::Size;

    const SUITE: &str = r#"
        name = "s"
        title = "t"
        source = "s"
        device = "d"
        dataset = [{ name = "rows", record = "row", value_bytes = 10, records = 10 }]
        [[case]]
        id = "read"
        title = "t"
        dataset = "rows"
        lanes = [{ verb = "read-all" }]
        blocks = 1
    "#;

    /// The plan of one case of these arms.
    pub(super) fn planned(kits: &Kits, baseline: &str, arms: &str) -> Plan {
        let suite = format!("{SUITE}baseline = \"{baseline}\"\narms = [{arms}]\n");
        let suite = Suite::parse(&suite, "s.toml").unwrap();
        let choice = Choice { cases: vec![], contenders: vec![], size: Size::Quick, seed: 1, looks: vec![1] };
        Plan::new(&[suite], kits, &choice).unwrap()
    }

    fn project() -> Project {
        let kit = |language: &str, needs: &str, subject: &str, sources: &str| {
            let text = format!(
                "[kit]\nlanguage = \"{language}\"\n{needs}\n[[subject]]\nname = \"{subject}\"\nsummary = \"s\"\n\
                 build = [\"b\"]\nrun = [\"r\"]\n{sources}\nprofile = [{{ name = \"p\", class = \"strict\" }}]"
            );
            Kit::parse(&text, "kit.toml").unwrap()
        };
        let kits = vec![
            kit("a", "", "here", ""),
            kit("b", "needs = [\"one\", \"two\"]", "there", "sources = \"ITS_SOURCES\""),
        ];
        Project { root: PathBuf::new(), kits: Kits { kits }, apart: Vec::new() }
    }

    fn plan(baseline: &str) -> Plan {
        let arms = r#""here@p", { contender = "here@p", variant = "again" }, "there@p""#;
        planned(&project().kits, baseline, arms)
    }

    #[test]
    fn a_trace_lies_at_its_path_from_the_suites_file_on_and_is_one() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s.toml");
        let text = format!(
            "{SUITE}order = {{ kind = \"trace\", file = \"traces/a.trace\" }}\nbaseline = \"here@p\"\narms = [\"here@p\"]\n"
        );
        fs::write(&path, &text).unwrap();
        let project = Project { root: folder.path().to_owned(), ..project() };
        let read = || project.suites(&[path.display().to_string()]);
        let told = |wanted: &str| {
            let error = read().unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Input);
            let message = error.to_string();
            for wanted in ["case `read`", "traces/a.trace", wanted] {
                assert!(message.contains(wanted), "{message}");
            }
        };
        fs::create_dir(folder.path().join("suites")).unwrap();
        told("docs/traces.md");
        fs::create_dir(folder.path().join("traces")).unwrap();
        let trace = folder.path().join("traces/a.trace");
        // Found by an adversary: whoever planned such a suite read for ever.
        std::os::unix::fs::symlink("/dev/zero", &trace).unwrap();
        told("it is no file");
        fs::remove_file(&trace).unwrap();
        fs::File::create(&trace).unwrap().set_len(1 << 40).unwrap();
        told("1099511627776 bytes");
        fs::write(&trace, "").unwrap();
        told("does not begin");
        fs::write(&trace, "touchstone-trace 1\npages 9\ngets 3\n8 0\n").unwrap();
        told("cut short");
        fs::write(&trace, "touchstone-trace 1\npages 1,000\ngets 1\n0\n").unwrap();
        told("its line 2: `1,000`");
        told("s.toml, line 8: case");
        fs::write(&trace, b"touchstone-trace 1\npages 9\ngets 1\n\xff\n").unwrap();
        told("UTF-8");
        fs::write(&trace, "touchstone-trace 1\npages 9\ngets 3\n8 0 3\n").unwrap();
        assert_eq!(read().unwrap()[0].cases[0].order.as_ref().unwrap().recorded().gets, [8, 0, 3]);
        fs::write(&path, text.replace("kind = \"trace\"", "kind = \"trace\", among = 9")).unwrap();
        told("leave out `among`");
    }

    /// Every program is there, and the variable has this value.
    fn with_sources(plan: &Plan, value: Option<&str>) -> Result<Plan> {
        project().within(
            plan,
            |_| true,
            |variable| {
                assert_eq!(variable, "ITS_SOURCES");
                value.map(OsString::from)
            },
        )
    }

    #[test]
    fn arms_of_a_kit_that_lacks_a_program_are_left_out_and_named_once() {
        let whole = with_sources(&plan("here@p"), Some(".")).unwrap();
        assert_eq!((whole.cases[0].arms.len(), whole.left_out.len()), (3, 0));
        let rest = project().within(&plan("here@p"), |program| program != "two", |_| None).unwrap();
        let arms: Vec<&str> = rest.cases[0].arms.iter().map(|arm| arm.name.as_str()).collect();
        assert_eq!(arms, ["here@p", "here@p#again"]);
        assert_eq!(rest.left_out, ["there@p; `two` is not in PATH, which the kit for b needs"]);
    }

    #[test]
    fn arms_of_a_subject_whose_sources_are_not_named_are_left_out_and_named_once() {
        for unset in [None, Some("")] {
            let rest = with_sources(&plan("here@p"), unset).unwrap();
            let arms: Vec<&str> = rest.cases[0].arms.iter().map(|arm| arm.name.as_str()).collect();
            assert_eq!(arms, ["here@p", "here@p#again"]);
            let line = "there@p; ITS_SOURCES names no folder with its sources (kits/b/README.md says how)";
            assert_eq!(rest.left_out, [line]);
        }
    }

    #[test]
    fn sources_that_are_not_where_they_are_said_to_be_are_an_error() {
        let error = with_sources(&plan("here@p"), Some("/no/such/folder")).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Missing);
        let message = "ITS_SOURCES names /no/such/folder, where no folder is: kits/b/README.md says how to get the sources";
        assert_eq!(error.to_string(), message);
    }

    /// Found by a user: with `--contender` of a library whose sources are elsewhere, baselines ran alone and all seemed well.
    #[test]
    fn a_run_in_which_nothing_is_left_to_compare_is_refused() {
        let mut plan = plan("here@p");
        plan.cases[0].arms.retain(|arm| arm.name != "here@p#again");
        let error = with_sources(&plan, None).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Missing);
        let message = "nothing is left to compare: there@p; ITS_SOURCES names no folder with its sources (kits/b/README.md says how)";
        assert_eq!(error.to_string(), message);
        let whole = with_sources(&plan, Some(".")).unwrap();
        assert_eq!(whole.cases[0].arms.len(), 2);
    }

    #[test]
    fn a_baseline_is_not_left_out() {
        let error = project().within(&plan("there@p"), |_| false, |_| None).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Missing);
        assert!(error.to_string().contains("`one` is not in PATH"), "{error}");
        let error = with_sources(&plan("there@p"), None).unwrap_err();
        let message = "ITS_SOURCES names no folder with its sources, and others are compared with there@p in s/read: \
                       kits/b/README.md says how";
        assert_eq!(error.to_string(), message);
    }
}
