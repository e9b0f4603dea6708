//! Lock files: one for each workspace, one SQLite in each, no subject in the lab's, and one version of a library in all of them.

use crate::Findings;
use semver::Version;
use std::collections::{BTreeMap, BTreeSet};

/// The library that a program can link only once.
const SQLITE: &str = "libsqlite3-sys";

/// The packages in a lock file, by name; a name stands as often as it is locked.
pub fn packages<'l>(lock: &'l str) -> Vec<&'l str> {
    let name =
        |section: &'l str| section.lines().find_map(|line| line.strip_prefix("name = \"")?.strip_suffix('"'));
    lock.split("[[package]]").skip(1).filter_map(name).collect()
}

/// Checks that a workspace links at most one SQLite: its features are united over all members.
pub fn one_sqlite(path: &str, lock: &str) -> Findings {
    let linked = packages(lock).into_iter().filter(|name| *name == SQLITE).count();
    (linked > 1).then(|| format!("{path}: links SQLite {linked} times")).into_iter().collect()
}

/// The packages that a package needs, itself included, by name.
///
/// # Panics
/// When the text is no lock file.
pub fn closure(lock: &str, root: &str) -> BTreeSet<String> {
    let lock: toml::Table = lock.parse().expect("a lock file is TOML");
    let packages = lock.get("package").and_then(toml::Value::as_array).map_or(&[][..], Vec::as_slice);
    let mut found = BTreeSet::new();
    let mut next = vec![root.to_owned()];
    while let Some(name) = next.pop() {
        let named = packages.iter().filter(|package| package["name"].as_str() == Some(&name));
        let dependencies = named.filter_map(|package| package.get("dependencies")?.as_array()).flatten();
        // A dependency is a name, and a version behind it where there are several.
        let names = dependencies.filter_map(|dependency| dependency.as_str()?.split(' ').next());
        next.extend(names.filter(|name| !found.contains(*name)).map(str::to_owned));
        found.insert(name);
    }
    found
}

/// Checks that compatible versions of a library are one version in all lock files, each a path and its text. Tests of all workspaces
/// are built into one folder, where a second version of a library is compiled once more, with all that needs it.
///
/// # Panics
/// When a text is no lock file.
pub fn one_version<'l>(locks: impl IntoIterator<Item = (&'l str, &'l str)>) -> Findings {
    let mut newest: BTreeMap<(String, Version), Version> = BTreeMap::new();
    let mut locked = Vec::new();
    for (path, lock) in locks {
        for (name, version) in versions(lock) {
            let library = (name, first_compatible(&version));
            let known = newest.entry(library.clone()).or_insert_with(|| version.clone());
            if *known < version {
                *known = version.clone();
            }
            locked.push((path, library, version));
        }
    }
    let older = |(path, library, version): (&str, (String, Version), Version)| {
        let (name, newest) = (&library.0, &newest[&library]);
        let remedy = format!("cargo update --package {name}@{version} --precise {newest}");
        (version < *newest)
            .then(|| format!("{path}: has {name} {version}, another lock file {newest}: {remedy}"))
    };
    locked.into_iter().filter_map(older).collect()
}

/// The first version of those that may stand for each other without a change of a manifest, as Cargo has it.
fn first_compatible(version: &Version) -> Version {
    match *version {
        Version { major: 0, minor: 0, patch, .. } => Version::new(0, 0, patch),
        Version { major: 0, minor, .. } => Version::new(0, minor, 0),
        Version { major, .. } => Version::new(major, 0, 0),
    }
}

/// The packages of a lock file that come from a registry, each with its version.
fn versions(lock: &str) -> Vec<(String, Version)> {
    let lock: toml::Table = lock.parse().expect("a lock file is TOML");
    let packages = lock.get("package").and_then(toml::Value::as_array).map_or(&[][..], Vec::as_slice);
    let foreign = packages.iter().filter(|package| package.get("source").is_some());
    let text = |package: &toml::Value, key| {
        package[key].as_str().expect("a package has a name and a version").to_owned()
    };
    foreign
        .map(|package| {
            (text(package, "name"), text(package, "version").parse().expect("a version is Cargo's"))
        })
        .collect()
}

/// Checks that the command needs none of the libraries that are measured; the project's own store is one of them.
pub fn no_subject(path: &str, lock: &str, command: &str, libraries: &BTreeSet<String>) -> Findings {
    let linked = closure(lock, command).into_iter().filter(|name| libraries.contains(name));
    linked.map(|name| format!("{path}: {command} links {name}, which is measured")).collect()
}

/// Checks that a manifest beside the store's asks the bindings for no engine: the store brings its own, and features are
/// united over all members.
pub fn no_engine(path: &str, manifest: &str) -> Findings {
    let lines = manifest.lines().filter(|line| !line.trim_start().starts_with('#'));
    let asked = lines.filter(|line| line.contains("\"bundled"));
    asked.map(|line| format!("{path}: asks for a second SQLite beside the store's: {line}")).collect()
}

/// The libraries that a manifest links only on demand: those of its subjects.
///
/// # Panics
/// When the manifest is not one.
pub fn optional_dependencies(manifest: &str) -> BTreeSet<String> {
    let manifest: toml::Table = manifest.parse().expect("a manifest is TOML");
    let dependencies = manifest.get("dependencies").and_then(toml::Value::as_table);
    let optional = |value: &toml::Value| value.get("optional").and_then(toml::Value::as_bool) == Some(true);
    dependencies
        .into_iter()
        .flatten()
        .filter(|(_, value)| optional(value))
        .map(|(name, _)| name.clone())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOCK: &str = "version = 4\n\n[[package]]\nname = \"redb\"\nversion = \"4\"\n\n[[package]]\nname = \"libsqlite3-sys\"\n";

    #[test]
    fn a_second_sqlite_is_found() {
        assert_eq!(one_sqlite("Cargo.lock", LOCK).len(), 0);
        let twice = format!("{LOCK}\n[[package]]\nname = \"libsqlite3-sys\"\n");
        assert_eq!(one_sqlite("Cargo.lock", &twice).len(), 1);
    }

    #[test]
    fn an_older_version_than_in_another_lock_file_is_found() {
        let lock = |version: &str| {
            let source = if version == "0.9.9" { "" } else { "source = \"registry\"\n" };
            format!("version = 4\n\n[[package]]\nname = \"bytes\"\nversion = \"{version}\"\n{source}")
        };
        let beside = |one: &str, other: &str| {
            one_version([("a/Cargo.lock", &*lock(one)), ("b/Cargo.lock", &*lock(other))])
        };
        let older = "a/Cargo.lock: has bytes 1.9.1, another lock file 1.12.0: cargo update --package bytes@1.9.1 --precise 1.12.0";
        assert_eq!(beside("1.9.1", "1.12.0"), [older]);
        assert_eq!(beside("0.3.2", "0.3.1").len(), 1);
        assert!(beside("1.9.1", "1.9.1").is_empty());
        for (one, other) in [("1.9.1", "2.0.0"), ("0.3.1", "0.4.0"), ("0.0.1", "0.0.2")] {
            assert!(beside(one, other).is_empty(), "{one} and {other} are not compatible");
        }
        assert!(beside("0.9.8", "0.9.9").is_empty(), "a package of the project is of no registry");
    }

    #[test]
    fn an_engine_beside_the_stores_is_found() {
        let asks = "rusqlite = { version = \"1\", features = [\"bundled-full\"] }\n";
        assert_eq!(no_engine("crates/a/Cargo.toml", asks).len(), 1);
        assert_eq!(no_engine("crates/a/Cargo.toml", &format!("# {asks}")).len(), 0);
    }

    #[test]
    fn a_subject_in_the_lab_is_found() {
        let manifest = "[dependencies]\nredb = { version = \"4\", optional = true }\nlibc = \"0.2\"\n";
        let libraries = optional_dependencies(manifest);
        assert_eq!(libraries.iter().collect::<Vec<_>>(), ["redb"]);
        let lock = format!(
            "{LOCK}\n[[package]]\nname = \"lab\"\ndependencies = [\"between 1.0.0\"]\n\n[[package]]\nname = \"between\"\n\
             dependencies = [\"redb\"]\n\n[[package]]\nname = \"apart\"\n"
        );
        assert_eq!(no_subject("Cargo.lock", &lock, "lab", &libraries).len(), 1);
        assert_eq!(no_subject("Cargo.lock", &lock, "apart", &libraries).len(), 0);
    }
}
