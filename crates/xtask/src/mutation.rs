//! Mutations of the store: mistakes that are made in its code on purpose, to see whether its tests find them. What they
//! are stands in a list beside the tests; here it is read, checked against the code, and put into it, each mistake behind
//! a switch. Building and running what comes of it is the part of `src/bin/mutate.rs`.

use crate::Findings;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// The list.
pub const LIST: &str = "crates/touchstone-store/tests/oracle/mutations.toml";

/// The folder that the list's files are in.
pub const SOURCE: &str = "crates/touchstone-store/src";

/// What stands in a replacement for whether its mutation is on.
pub const MARK: &str = "MUTATED";

/// The test program of the unit tests, beside the code.
pub const UNIT_TESTS: &str = "lib";

/// The variable of the environment that says which mutation is on, by its number.
pub const VARIABLE: &str = "TOUCHSTONE_MUTATION";

/// A mistake.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mutation {
    /// What is wrong, in plain words.
    pub name: String,
    /// The file that it is made in, below [`SOURCE`].
    pub file: String,
    /// The code in whose place it comes.
    pub find: String,
    /// What comes there, with a [`MARK`].
    pub replace: String,
    /// What is to find it: a test program, which is [`UNIT_TESTS`] or one of `tests/`, and behind it words that the names of its
    /// tests have. Without it, it is a mistake of live queries, for the oracle.
    pub test: Option<String>,
}

/// Reads a list. A mutation's number is its place, counted from 1.
///
/// # Errors
/// When it is none: says why.
pub fn parse(text: &str) -> Result<Vec<Mutation>, String> {
    let list: toml::Table = text.parse().map_err(|error| format!("the list of mutations: {error}"))?;
    let entries = list.get("mutation").and_then(toml::Value::as_array).ok_or("there is no [[mutation]]")?;
    (1..).zip(entries).map(|(number, entry)| mutation(number, entry)).collect()
}

fn mutation(number: usize, entry: &toml::Value) -> Result<Mutation, String> {
    const KEYS: [&str; 5] = ["name", "file", "find", "replace", "test"];
    let unknown = entry.as_table().into_iter().flatten().find(|(key, _)| !KEYS.contains(&key.as_str()));
    if let Some((key, _)) = unknown {
        return Err(format!("mutation {number}: `{key}` is no part of a mutation"));
    }
    let text = |key: &str| {
        let value = entry.get(key).and_then(toml::Value::as_str);
        value.map(str::to_owned).ok_or_else(|| format!("mutation {number}: `{key}` is missing, or no text"))
    };
    Ok(Mutation {
        name: text("name")?,
        file: text("file")?,
        find: text("find")?,
        replace: text("replace")?,
        test: entry.get("test").map(|_| text("test")).transpose()?,
    })
}

/// Checks that every mutation can be made: what it replaces stands once in its file, apart from all others.
pub fn check(mutations: &[Mutation], source: impl Fn(&str) -> Option<String>) -> Findings {
    let mut findings = Findings::new();
    let mut names = BTreeSet::new();
    for (number, mutation) in (1..).zip(mutations) {
        if !names.insert(mutation.name.as_str()) {
            findings.push(format!("{LIST}: {number}: another mutation has the name `{}`", mutation.name));
        }
        if !mutation.replace.contains(MARK) {
            findings.push(format!("{LIST}: {number}: the replacement does not ask whether it is {MARK}"));
        }
    }
    findings.extend(mutated(mutations, source).err().into_iter().flatten());
    findings
}

/// The files of the store that have mutations, with all of them.
///
/// # Errors
/// When one cannot be made: says which, and why.
pub fn mutated(
    mutations: &[Mutation],
    source: impl Fn(&str) -> Option<String>,
) -> Result<BTreeMap<String, String>, Findings> {
    let mut by_file: BTreeMap<&str, Vec<(usize, &Mutation)>> = BTreeMap::new();
    for (number, mutation) in (1..).zip(mutations) {
        by_file.entry(&mutation.file).or_default().push((number, mutation));
    }
    let (mut files, mut findings) = (BTreeMap::new(), Findings::new());
    for (file, mutations) in by_file {
        match source(file) {
            Some(text) => match in_file(&text, &mutations) {
                Ok(text) => drop(files.insert(file.to_owned(), text)),
                Err(found) => findings.extend(found),
            },
            None => findings.push(format!("{LIST}: {}: there is no {SOURCE}/{file}", mutations[0].0)),
        }
    }
    if findings.is_empty() { Ok(files) } else { Err(findings) }
}

fn in_file(text: &str, mutations: &[(usize, &Mutation)]) -> Result<String, Findings> {
    let mut findings = Findings::new();
    let mut places: Vec<(Range<usize>, usize, &Mutation)> = Vec::new();
    for (number, mutation) in mutations {
        match text.match_indices(&mutation.find).collect::<Vec<_>>()[..] {
            [(at, found)] => places.push((at..at + found.len(), *number, mutation)),
            ref all => findings.push(format!(
                "{LIST}: {number} ({}): what it replaces stands {} times in {}, not once",
                mutation.name,
                all.len(),
                mutation.file
            )),
        }
    }
    places.sort_by_key(|(place, ..)| place.start);
    let (mut mutated, mut at) = (String::with_capacity(text.len() * 2), 0);
    for (place, number, mutation) in places {
        if place.start < at {
            findings.push(format!("{LIST}: {number} ({}): another mutation is there too", mutation.name));
            continue;
        }
        mutated += &text[at..place.start];
        mutated += &mutation.replace.replace(MARK, &format!("crate::is_mutated({number})"));
        at = place.end;
    }
    mutated += &text[at..];
    if findings.is_empty() { Ok(mutated) } else { Err(findings) }
}

/// What the root of the store's crate begins with besides: a mutation may leave something unused, or make a comparison
/// pointless.
pub const PREAMBLE: &str = "#![allow(warnings)]\n";

/// What the root of the store's crate ends with besides: the switch.
pub fn switch() -> String {
    format!(
        "\n/// Whether that mutation is on.\npub(crate) fn is_mutated(number: u32) -> bool {{\n    \
         static ON: std::sync::LazyLock<Option<u32>> =\n        \
         std::sync::LazyLock::new(|| std::env::var(\"{VARIABLE}\").ok()?.parse().ok());\n    \
         *ON == Some(number)\n}}\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: &str = "[[mutation]]\nname = 'n'\nfile = 'a.rs'\nfind = 'b'\nreplace = 'if MUTATED { c }'\n";

    fn source(text: &str) -> impl Fn(&str) -> Option<String> {
        move |file| (file == "a.rs").then(|| text.to_owned())
    }

    #[test]
    fn mutations_are_put_into_the_code_behind_their_switches() {
        let two = format!("{ONE}[[mutation]]\nname = 'o'\nfile = 'a.rs'\nfind = 'a'\nreplace = 'MUTATED'\n");
        let mutations = parse(&two).unwrap();
        assert_eq!(check(&mutations, source("(a, b)")), Findings::new());
        let files = mutated(&mutations, source("(a, b)")).unwrap();
        assert_eq!(files["a.rs"], "(crate::is_mutated(2), if crate::is_mutated(1) { c })");
    }

    #[test]
    fn a_mutation_that_cannot_be_made_is_found() {
        let one = parse(ONE).unwrap();
        assert_eq!(check(&one, source("x")).len(), 1, "it is nowhere");
        assert_eq!(check(&one, source("bb")).len(), 1, "it is there twice");
        assert_eq!(check(&one, |_| None).len(), 1, "there is no file");
        let same = [one[0].clone(), one[0].clone()];
        assert_eq!(check(&same, source("b")).len(), 2, "one name, and one place");
        assert_eq!(one[0].test, None);
        let of_file = parse(&format!("{ONE}test = 'file'\n")).unwrap();
        assert_eq!(of_file[0].test.as_deref(), Some("file"));
        let never = [Mutation { replace: "c".into(), ..one[0].clone() }];
        assert_eq!(check(&never, source("b")).len(), 1, "no switch");
    }

    #[test]
    fn what_is_no_list_is_refused() {
        assert!(parse("").is_err());
        assert!(parse("[[mutation]]\nname = 'n'\n").is_err());
        assert!(parse(&format!("{ONE}why = 'x'\n")).is_err());
    }
}
