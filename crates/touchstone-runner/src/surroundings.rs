//! What a driver's process finds around it: a home and a temporary folder of its own, empty when it starts, and an
//! environment that is the same in every pass. So it keeps nothing from one process to the next, and cannot tell what it
//! is asked for: a template, a launch, or a count of its syncs.

use crate::error::{Error, Result};
use crate::place::Place;
use crate::random::Stream;
use rand::RngExt;
use std::env;
use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The most bytes a process's environment is padded with, so that the stack starts somewhere else in every launch.
const PADDING_BYTES_MAX: usize = 4096;

/// What names the temporary folder: SQLite has a variable of its own beside the system's.
const TEMPORARIES: [&str; 4] = ["TMPDIR", "TMP", "TEMP", "SQLITE_TMPDIR"];

/// What Java's launcher reads more options from; the user's own stay.
const JAVA: &str = "JDK_JAVA_OPTIONS";

/// Where the XDG base directories are in a home, by their variables. As in the home of a new user none is there: a program makes those
/// that it writes to.
const XDG_HOMES: [(&str, &str); 4] = [
    ("XDG_CACHE_HOME", ".cache"),
    ("XDG_CONFIG_HOME", ".config"),
    ("XDG_DATA_HOME", ".local/share"),
    ("XDG_STATE_HOME", ".local/state"),
];

/// The XDG directory that a program may expect to be there.
const XDG_RUNTIME: &str = "XDG_RUNTIME_DIR";

/// The surroundings of a driver's processes in one pass. They lie on the disk that is measured and are removed when dropped.
pub struct Surroundings {
    place: Place,
    padding: String,
}

impl Surroundings {
    /// Makes them in `scratch`, beside the database.
    ///
    /// # Errors
    /// When a folder cannot be made.
    pub fn new(scratch: &Path, random: &mut Stream) -> Result<Surroundings> {
        let place = Place::new(scratch.join(nameless(random)))?;
        Ok(Surroundings { place, padding: "x".repeat(random.random_range(0..PADDING_BYTES_MAX)) })
    }

    /// Surrounds a process that is about to be started. What an earlier one has left there is removed.
    ///
    /// # Errors
    /// When a folder cannot be made.
    pub fn around(&self, mut command: Command) -> Result<Command> {
        self.place.empty()?;
        let home = self.folder("home")?;
        let temporary = self.folder("temporary")?;
        command.env("HOME", &home).envs(TEMPORARIES.map(|name| (name, &temporary)));
        command.envs(XDG_HOMES.map(|(name, folder)| (name, home.join(folder))));
        command.env(XDG_RUNTIME, self.folder("runtime")?);
        // Java asks the system for the one and takes /tmp for the other, whatever the variables say.
        let java = format!(
            "{} \"-Djava.io.tmpdir={}\" \"-Duser.home={}\"",
            env::var(JAVA).unwrap_or_default(),
            temporary.display(),
            home.display()
        );
        command.env(JAVA, java).env("TOUCHSTONE_PADDING", &self.padding);
        Ok(command)
    }

    fn folder(&self, name: &str) -> Result<PathBuf> {
        let path = self.place.path().join(name);
        // A folder for what a program runs with is refused where others can look into it.
        DirBuilder::new()
            .mode(0o700)
            .create(&path)
            .map_err(|error| Error::io(format_args!("cannot make {}", path.display()), &error))?;
        Ok(path)
    }
}

/// A folder's name that says nothing of what is done there.
pub fn nameless(random: &mut Stream) -> String {
    format!("{:08x}", random.random::<u32>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::stream;
    use std::collections::BTreeMap;
    use std::fs;
    use std::os::unix::fs::MetadataExt;

    fn variables(command: &Command) -> BTreeMap<String, PathBuf> {
        let set = |(name, value): (&std::ffi::OsStr, Option<&std::ffi::OsStr>)| {
            Some((name.to_str()?.to_owned(), PathBuf::from(value?)))
        };
        command.get_envs().filter_map(set).collect()
    }

    #[test]
    fn every_process_finds_empty_folders_of_its_own() {
        let scratch = tempfile::tempdir().unwrap();
        let mut random = stream(42, "test");
        let surroundings = Surroundings::new(scratch.path(), &mut random).unwrap();
        let set = variables(&surroundings.around(Command::new("driver")).unwrap());
        for name in ["HOME", "TMPDIR", "TMP", "TEMP", "SQLITE_TMPDIR", "XDG_RUNTIME_DIR"] {
            let folder = &set[name];
            assert!(folder.starts_with(scratch.path()), "{name}");
            assert_eq!(fs::metadata(folder).unwrap().mode() & 0o777, 0o700, "{name}");
            fs::write(folder.join(name), "an answer").unwrap();
        }
        assert_ne!(set["HOME"], set["TMPDIR"]);
        for (name, folder) in XDG_HOMES {
            assert_eq!(set[name], set["HOME"].join(folder), "{name}");
        }
        let again = variables(&surroundings.around(Command::new("driver")).unwrap());
        assert_eq!(again, set);
        assert!(fs::read_dir(&set["HOME"]).unwrap().next().is_none(), "nothing is kept");
        drop(surroundings);
        assert!(fs::read_dir(scratch.path()).unwrap().next().is_none());
    }

    #[test]
    fn every_pass_has_the_same_variables_and_other_values() {
        let scratch = tempfile::tempdir().unwrap();
        let mut random = stream(42, "test");
        let [one, other] = [(); 2].map(|()| {
            let surroundings = Surroundings::new(scratch.path(), &mut random).unwrap();
            variables(&surroundings.around(Command::new("driver")).unwrap())
        });
        assert!(one.keys().eq(other.keys()));
        assert!(one.iter().zip(&other).all(|(one, other)| one != other));
    }
}
