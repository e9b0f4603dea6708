//! Commands on pages: taken out of their blocks, and cut to a size that a test can run.
//!
//! The rule is short. `touchstone` is run: a command that measures is run on the smallest case there is (the table in
//! [`reduced`]), all others as they stand. `make` is asked whether it knows the target, without doing it. `cargo` is
//! checked against the workspaces' packages, for it would run the tests that run it. Anything else has no place in a
//! block, because nothing would check it.

/// A command on a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    /// Its line on the page.
    pub line: usize,
    /// `NAME=value` before it.
    pub variables: Vec<(String, String)>,
    /// The program and its arguments.
    pub words: Vec<String>,
}

/// The commands of a block that begins on `line`: of `sh` every line, of `console` those after `$ `. A backslash at
/// the end joins lines; `#` begins a comment; `&&` joins commands.
///
/// # Errors
/// When a line needs more of a shell than this.
pub fn commands(language: &str, text: &str, line: usize) -> Result<Vec<Command>, String> {
    let mut commands = Vec::new();
    let mut joined = String::new();
    for (index, text) in text.lines().enumerate() {
        let number = line + 1 + index;
        let text = match (language, joined.is_empty()) {
            ("console", true) => match text.strip_prefix("$ ") {
                Some(command) => command,
                None => continue,
            },
            _ => text,
        };
        if let Some(part) = text.strip_suffix('\\') {
            joined.push_str(part);
            continue;
        }
        joined.push_str(text);
        for words in split(&std::mem::take(&mut joined)).map_err(|why| format!("line {number}: {why}"))? {
            commands.push(command(words, number));
        }
    }
    Ok(commands)
}

fn command(words: Vec<String>, line: usize) -> Command {
    let is_variable = |word: &String| {
        word.split_once('=').is_some_and(|(name, _)| {
            !name.is_empty() && name.chars().all(|c| c.is_ascii_uppercase() || c == '_')
        })
    };
    let count = words.iter().take_while(|word| is_variable(word)).count();
    let variable =
        |word: &String| word.split_once('=').map(|(name, value)| (name.to_owned(), value.to_owned()));
    Command {
        line,
        variables: words[..count].iter().filter_map(variable).collect(),
        words: words[count..].to_vec(),
    }
}

/// A line's commands, each as its words. Quotes are understood; what a shell would expand or redirect is refused.
fn split(line: &str) -> Result<Vec<Vec<String>>, String> {
    let mut commands = vec![Vec::new()];
    let (mut word, mut quote): (Option<String>, Option<char>) = (None, None);
    let end = |word: &mut Option<String>, commands: &mut Vec<Vec<String>>| {
        if let (Some(word), Some(last)) = (word.take(), commands.last_mut()) {
            last.push(word);
        }
    };
    let mut characters = line.chars().peekable();
    while let Some(character) = characters.next() {
        match (quote, character) {
            (Some(open), close) if open == close => quote = None,
            (Some(_), inside) => word.get_or_insert_default().push(inside),
            (None, '"' | '\'') => {
                quote = Some(character);
                word.get_or_insert_default();
            }
            (None, ' ') => end(&mut word, &mut commands),
            (None, '#') if word.is_none() => break,
            (None, '&') if characters.next_if_eq(&'&').is_some() => {
                end(&mut word, &mut commands);
                commands.push(Vec::new());
            }
            (None, '|' | '>' | '<' | '$' | '*' | ';' | '`' | '&') => {
                return Err(format!(
                    "`{character}` needs a shell, and a test would have to trust one: write it without"
                ));
            }
            (None, plain) => word.get_or_insert_default().push(plain),
        }
    }
    end(&mut word, &mut commands);
    commands.retain(|command| !command.is_empty());
    if quote.is_some() { Err("a quote is not closed".into()) } else { Ok(commands) }
}

/// What a command that measures is run with in place of what chooses how much: options, and the values they get.
/// An option of the page's that is not here stays as it is, so that every one of them is tried.
const SMALLEST: [(&str, &[(&str, &str)]); 4] = [
    (
        "bench",
        &[
            ("--suite", "smoke"),
            ("--case", "get"),
            ("--contender", "sqlite-c@wal-normal"),
            ("--size", "quick"),
        ],
    ),
    (
        "plan",
        &[
            ("--suite", "smoke"),
            ("--case", "get"),
            ("--contender", "sqlite-c@wal-normal"),
            ("--size", "quick"),
        ],
    ),
    (
        "gate",
        &[
            ("--case", "smoke/get"),
            ("--baseline", "rusqlite@wal-normal"),
            ("--candidate", "sqlite-c@wal-normal"),
        ],
    ),
    ("calibrate", &[("--comparisons", "1"), ("--power", "0")]),
];

/// Options of the page's that say where drivers are: the smallest case is played by the kit's own.
const LEFT_OUT: [&str; 2] = ["--baseline-program", "--candidate-program"];

/// An option that names a case in its value: it is tried on the smallest one.
const OF_A_CASE: (&str, &str) = ("--set", "smoke/get.blocks=3");

/// The arguments of a `touchstone` command as a test runs it: as they stand, unless the verb measures. Then every
/// option of the table above is replaced, and added where the page leaves it to its default.
pub fn reduced(arguments: &[String]) -> Vec<String> {
    let Some(verb) = arguments.first() else { return Vec::new() };
    let Some((_, smallest)) = SMALLEST.iter().find(|(known, _)| known == verb) else {
        return arguments.to_vec();
    };
    let mut kept = vec![verb.clone()];
    let mut rest = arguments[1..].iter();
    while let Some(argument) = rest.next() {
        let name = argument.split('=').next().unwrap_or(argument);
        if smallest.iter().any(|(option, _)| *option == name) || LEFT_OUT.contains(&name) {
            if !argument.contains('=') {
                rest.next();
            }
        } else if name == OF_A_CASE.0 {
            rest.next();
            // A number is set once, whichever the page sets.
            if !kept.iter().any(|known| known == OF_A_CASE.0) {
                kept.extend([OF_A_CASE.0, OF_A_CASE.1].map(str::to_owned));
            }
        } else {
            kept.push(argument.clone());
        }
    }
    kept.extend(smallest.iter().flat_map(|(option, value)| [(*option).to_owned(), (*value).to_owned()]));
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split(' ').map(str::to_owned).collect()
    }

    #[test]
    fn commands_are_taken_out_of_both_kinds_of_blocks() {
        let block = "# first\nUPDATE=1 cargo test -p xtask && make test\ntouchstone plan \\\n  --out 'a b'\n";
        let found = commands("sh", block, 10).unwrap();
        assert_eq!(found.iter().map(|command| command.line).collect::<Vec<_>>(), [12, 12, 14]);
        assert_eq!(found[0].variables, [("UPDATE".to_owned(), "1".to_owned())]);
        assert_eq!(found[2].words, ["touchstone", "plan", "--out", "a b"]);
        let console = commands("console", "$ make bench\nbuilding redb\n", 1).unwrap();
        assert_eq!(console.len(), 1);
    }

    #[test]
    fn what_needs_a_shell_is_refused() {
        for bad in ["a | b", "a > b", "a $HOME", "a *", "a; b", "a 'b"] {
            assert!(commands("sh", bad, 1).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_command_that_measures_is_cut_to_the_smallest_case() {
        let small = reduced(&words("bench --suite wcdb --size=full --json"));
        assert_eq!(small[..2], ["bench", "--json"]);
        assert!(small.windows(2).any(|pair| pair == ["--suite", "smoke"]), "{small:?}");
        assert!(
            !small.contains(&"wcdb".to_owned()) && !small.contains(&"--size=full".to_owned()),
            "{small:?}"
        );
        let set = reduced(&words("bench --set couch/get.records=2000 --json"));
        assert_eq!(set[..4], ["bench", "--set", "smoke/get.blocks=3", "--json"]);
        let twice = reduced(&words("bench --set couch/get.records=2000 --set couch/get.blocks=4 --json"));
        assert_eq!(twice[..4], set[..4], "a number is set once");
        assert_eq!(reduced(&words("judge record")), ["judge", "record"]);
    }
}
