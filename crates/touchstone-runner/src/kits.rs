//! Finds the kits on disk, builds the drivers a plan needs, and gives the command that starts one.

use crate::error::{Error, ErrorKind, Result};
use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use touchstone::kit::{Kit, Kits, Subject};
use touchstone::plan::{Plan, PlannedArm};
use touchstone::suite::Suite;

/// The project's folders: suites to ask, kits to measure.
#[derive(Clone, Debug)]
pub struct Project {
    /// The folder that holds `suites/` and `kits/`.
    pub root: PathBuf,
    /// Every kit found.
    pub kits: Kits,
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
        Ok(Project { root, kits })
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
            let known = known.join(", ");
            return Err(Error::new(
                ErrorKind::Input,
                format!("there is no suite `{name}` ({} is missing); there are {known}", path.display()),
            ));
        }
        let suite = Suite::parse(&read(&path)?, &path.display().to_string())?;
        named_as_its_file(&suite.name, &path)?;
        Ok(suite)
    }

    /// The plan without the arms of kits that need a program which is not there, and what is to be said of those: a line
    /// for each kit.
    ///
    /// # Errors
    /// When one of them is a case's baseline or its floor, which others are compared with.
    pub fn at_hand(&self, plan: &Plan) -> Result<(Plan, Vec<String>)> {
        let path = env::var_os("PATH").unwrap_or_default();
        self.within(plan, |program| env::split_paths(&path).any(|folder| folder.join(program).is_file()))
    }

    fn within(&self, plan: &Plan, is_there: impl Fn(&str) -> bool) -> Result<(Plan, Vec<String>)> {
        let lacking = |arm: &PlannedArm| {
            let kit = self.kits.kit_of(&arm.contender.subject).filter(|_| arm.program.is_none())?;
            let program = kit.kit.needs.iter().find(|program| !is_there(program))?;
            Some((kit.kit.language.as_str(), program.as_str()))
        };
        let mut plan = plan.clone();
        let mut left_out: BTreeMap<(&str, &str), BTreeSet<String>> = BTreeMap::new();
        for case in &mut plan.cases {
            for (arm, (language, program)) in case.arms.iter().filter_map(|arm| Some((arm, lacking(arm)?))) {
                if arm.name == case.baseline || Some(&arm.name) == case.floor.as_ref() {
                    let message = format!(
                        "`{program}` is not in PATH, which the kit for {language} needs, and others are compared with \
                         {} in {}: install it",
                        arm.name, case.id
                    );
                    return Err(Error::new(ErrorKind::Missing, message));
                }
                left_out.entry((language, program)).or_default().insert(arm.contender.to_string());
            }
            case.arms.retain(|arm| lacking(arm).is_none());
        }
        let say = |((language, program), contenders): ((&str, &str), BTreeSet<String>)| {
            let contenders: Vec<String> = contenders.into_iter().collect();
            let contenders = contenders.join(", ");
            format!("left out: {contenders}; `{program}` is not in PATH, which the kit for {language} needs")
        };
        Ok((plan, left_out.into_iter().map(say).collect()))
    }

    /// Builds every driver the plan needs, one after the other; `say` is told what is being built.
    ///
    /// # Errors
    /// When a build tool is missing or a build fails; the message ends with the tool's own last words.
    pub fn build(&self, plan: &Plan, mut say: impl FnMut(&str)) -> Result<()> {
        let arms = plan.cases.iter().flat_map(|case| &case.arms).filter(|arm| arm.program.is_none());
        let wanted: BTreeSet<&str> = arms.map(|arm| arm.contender.subject.as_str()).collect();
        for name in wanted {
            say(name);
            self.build_subject(name)?;
        }
        Ok(())
    }

    fn build_subject(&self, name: &str) -> Result<()> {
        let (folder, subject) = self.subject(name)?;
        let (tool, arguments) = subject.build.split_first().expect("checked when the table was read");
        let output = Command::new(tool).args(arguments).current_dir(&folder).output().map_err(|error| {
            let remedy =
                format!("cannot run `{tool}`, which builds {name}: {error}; install it and try again");
            Error::new(ErrorKind::Missing, remedy)
        })?;
        if output.status.success() {
            return Ok(());
        }
        let words = String::from_utf8_lossy(&output.stderr);
        let lines: Vec<&str> = words.lines().collect();
        let last = lines[lines.len().saturating_sub(20)..].join("\n  ");
        let command = subject.build.join(" ");
        Err(Error::new(
            ErrorKind::Build,
            format!("cannot build {name} with `{command}` in {}:\n  {last}", folder.display()),
        ))
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
        let program = self.program(arm)?;
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
        let mut command = Command::new(self.program(arm)?);
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
        baseline = "BASELINE"
        arms = ["here@p", "there@p", { contender = "there@p", variant = "again" }]
    "#;

    fn project() -> Project {
        let kit = |language: &str, needs: &str, subject: &str| {
            let text = format!(
                "[kit]\nlanguage = \"{language}\"\n{needs}\n[[subject]]\nname = \"{subject}\"\nsummary = \"s\"\n\
                 build = [\"b\"]\nrun = [\"r\"]\nprofile = [{{ name = \"p\", class = \"strict\" }}]"
            );
            Kit::parse(&text, "kit.toml").unwrap()
        };
        let kits = vec![kit("a", "", "here"), kit("b", "needs = [\"one\", \"two\"]", "there")];
        Project { root: PathBuf::new(), kits: Kits { kits } }
    }

    fn plan(baseline: &str) -> Plan {
        let suite = Suite::parse(&SUITE.replace("BASELINE", baseline), "s.toml").unwrap();
        let choice = Choice { cases: vec![], contenders: vec![], size: Size::Quick, seed: 1, looks: vec![1] };
        Plan::new(&[suite], &project().kits, &choice).unwrap()
    }

    #[test]
    fn arms_of_a_kit_that_lacks_a_program_are_left_out_and_named_once() {
        let (whole, nothing) = project().within(&plan("here@p"), |_| true).unwrap();
        assert_eq!((whole.cases[0].arms.len(), nothing.len()), (3, 0));
        let (rest, said) = project().within(&plan("here@p"), |program| program != "two").unwrap();
        let arms: Vec<&str> = rest.cases[0].arms.iter().map(|arm| arm.name.as_str()).collect();
        assert_eq!(arms, ["here@p"]);
        assert_eq!(said, ["left out: there@p; `two` is not in PATH, which the kit for b needs"]);
    }

    #[test]
    fn a_baseline_is_not_left_out() {
        let error = project().within(&plan("there@p"), |_| false).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Missing);
        assert!(error.to_string().contains("`one` is not in PATH"), "{error}");
    }
}
