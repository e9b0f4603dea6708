//! Reading what people write in TOML. What is wrong is told in plain words: on which line and at what, and what may stand there. The
//! words of the libraries that read it are for programmers who use them.

mod place;

pub(crate) use place::{Item, Mistake, Origin};

use crate::name::{is_unreadable, there_are};
use serde::de::DeserializeOwned;
use std::borrow::Cow;
use std::ops::Range;

/// Letters of a line that are shown.
const LINE_LETTERS_MOST: usize = 80;

/// Reads a file. `origin` names it in errors.
///
/// # Errors
/// When it is no TOML, or something in it is not what is read.
pub fn read<T: DeserializeOwned>(text: &str, origin: &str) -> Result<T, String> {
    toml::from_str(text).map_err(|error: toml::de::Error| {
        let is_toml = text.parse::<toml::Table>().is_ok();
        let what = plainly(error.message());
        let what = if is_toml { what } else { format!("this is no TOML: {what}") };
        let place = error.span().and_then(|span| place(text, span)).unwrap_or_default();
        format!("{origin}{place}: {what}").replace(is_unreadable, " ")
    })
}

/// The line where something is wrong, by its number and its words; of a long line, the key and what stands there. None where that is
/// the whole file.
fn place(text: &str, span: Range<usize>) -> Option<String> {
    let before = text.get(..span.start)?;
    if span.start == 0 && (span.end == 0 || span.end >= text.trim_end().len()) {
        return None;
    }
    let number = before.matches('\n').count() + 1;
    let begins = before.rfind('\n').map_or(0, |at| at + 1);
    let line = text[begins..].lines().next().unwrap_or_default();
    let is_long = line.trim().chars().count() > LINE_LETTERS_MOST;
    let shown = if is_long { at_it(line, span.start - begins, span.len()) } else { line }.trim();
    let letters = shown.chars().count();
    let shown: String = shown.chars().take(LINE_LETTERS_MOST).collect();
    let more = if letters > LINE_LETTERS_MOST { "…" } else { "" };
    Some(if shown.is_empty() {
        format!(", line {number}")
    } else {
        format!(", line {number} (`{shown}{more}`)")
    })
}

/// The part of a line from the key of what is wrong to its end.
fn at_it(line: &str, from: usize, length: usize) -> &str {
    let begins = line.get(..from).and_then(|before| before.rfind(['{', ',', '['])).map_or(0, |at| at + 1);
    line.get(begins..from + length).unwrap_or(line)
}

/// What serde and its formats say of a value, in plain words. What they do not say themselves stays as it is.
///
/// ```
/// # use touchstone::written::plainly;
/// assert_eq!(plainly("missing field `id`"), "the key `id` is missing");
/// assert_eq!(plainly("unknown field `lop`, expected `loop`"), "there is no key `lop` here: did you mean `loop`? There are loop");
/// assert_eq!(plainly("invalid type: map, expected a sequence"), "a table stands where a list is wanted");
/// ```
pub fn plainly(message: &str) -> String {
    let message = message.trim_end();
    // A value that was read twice has its keys on a line below.
    if let Some((first, keys)) = message.split_once("\nin `") {
        return format!("{} (in `{keys})", plainly(first));
    }
    if message == "duplicate key" {
        return "this key stands twice".into();
    }
    let said = unknown(message, "unknown field `", |name| format!("there is no key `{name}` here"))
        .or_else(|| unknown(message, "unknown variant `", |word| format!("`{word}` is not possible here")))
        .or_else(|| between(message, "missing field `", "`").map(|key| format!("the key `{key}` is missing")))
        .or_else(|| {
            between(message, "duplicate field `", "`").map(|key| format!("the key `{key}` stands twice"))
        })
        .or_else(|| {
            let (found, wanted) = found_and_wanted(message, "invalid type: ")?;
            Some(format!("{} stands where {} is wanted", thing(found), thing(wanted)))
        })
        .or_else(|| {
            let (found, wanted) = found_and_wanted(message, "invalid value: ")?;
            Some(format!("{} is not possible here: {} is wanted", thing(found), thing(wanted)))
        })
        .or_else(|| {
            let (length, wanted) = found_and_wanted(message, "invalid length ")?;
            Some(format!("there are {length} items, and {} is wanted", thing(wanted)))
        })
        .or_else(|| message.strip_prefix("wanted ").map(|wanted| format!("{} is wanted", thing(wanted))));
    said.unwrap_or_else(|| message.to_owned())
}

fn between<'m>(message: &'m str, head: &str, tail: &str) -> Option<&'m str> {
    message.strip_prefix(head)?.strip_suffix(tail)
}

fn found_and_wanted<'m>(message: &'m str, head: &str) -> Option<(&'m str, &'m str)> {
    message.strip_prefix(head)?.rsplit_once(", expected ")
}

/// A name that is none of those there are, which stand behind it in backticks.
fn unknown(message: &str, head: &str, said: impl Fn(&str) -> String) -> Option<String> {
    let rest = message.strip_prefix(head)?;
    let (name, names) = rest.rsplit_once("`, expected ").or_else(|| rest.rsplit_once("`, there are "))?;
    let known: Vec<&str> = names.split('`').skip(1).step_by(2).collect();
    let said = said(name);
    Some(if known.is_empty() {
        format!("{said}, and there are none")
    } else {
        format!("{said}: {}", there_are(name, known))
    })
}

/// A value, or a kind of values, by the name that files' readers know it by.
fn thing(name: &str) -> Cow<'_, str> {
    let named = match name {
        "a string" | "string" | "a borrowed string" | "a character" => "a text",
        "a sequence" | "sequence" => "a list",
        "a map" | "map" => "a table",
        "string or table" => "a text or a table",
        "a boolean" => "true or false",
        "u8" => "a whole number from 0 to 255",
        "u16" => "a whole number from 0 to 65535",
        "u32" => "a whole number from 0 to 4294967295",
        "u64" | "usize" | "nonzero u64" => "a whole number that is not negative",
        "i8" | "i16" | "i32" | "i64" => "a whole number",
        "f32" | "f64" => "a number",
        _ => return thing_with_value(name),
    };
    named.into()
}

fn thing_with_value(name: &str) -> Cow<'_, str> {
    let number = ["integer `", "floating point `"].iter().find_map(|head| between(name, head, "`"));
    let tuple =
        ["a tuple of size ", "tuple struct ", "tuple variant "].iter().find(|head| name.starts_with(*head));
    let size =
        tuple.and_then(|_| name.split(' ').find(|word| word.bytes().all(|byte| byte.is_ascii_digit())));
    if let Some(number) = number {
        format!("the number {number}").into()
    } else if let Some(text) = name.strip_prefix("string ") {
        format!("the text {text}").into()
    } else if let Some(truth) = between(name, "boolean `", "`") {
        truth.into()
    } else if let Some(size) = size {
        format!("a list of {size}").into()
    } else if name.starts_with("struct ") {
        "a table".into()
    } else {
        name.into()
    }
}

#[cfg(test)]
mod tests {
    use super::{plainly, read};
    use serde::Deserialize;

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    #[allow(dead_code, reason = "only what cannot be read is looked at")]
    struct File {
        name: String,
        count: u8,
        share: Option<f64>,
        words: Option<Vec<String>>,
        is_on: Option<bool>,
        pair: Option<(u64, u64)>,
        part: Option<Vec<Part>>,
        kind: Option<Kind>,
    }

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    #[allow(dead_code, reason = "only what cannot be read is looked at")]
    struct Part {
        id: i64,
    }

    #[derive(Debug, Deserialize)]
    #[serde(rename_all = "lowercase")]
    enum Kind {
        Row,
        Doc,
    }

    #[track_caller]
    fn told(text: &str, expected: &str) {
        assert_eq!(read::<File>(text, "a.toml").map(|_| ()), Err(expected.to_owned()), "{text}");
    }

    #[test]
    fn a_mistake_is_told_with_its_line_and_what_may_stand_there() {
        let with = |line: &str| format!("name = \"a\"\ncount = 1\n{line}\n");
        for (line, expected) in [
            (
                "cuont = 2",
                "there is no key `cuont` here: did you mean `count`? There are name, count, share, words, is_on, pair, part, kind",
            ),
            ("words = { a = 1 }", "a table stands where a list is wanted"),
            ("words = \"a\"", "the text \"a\" stands where a list is wanted"),
            ("words = [1]", "the number 1 stands where a text is wanted"),
            ("share = \"1\"", "the text \"1\" stands where a number is wanted"),
            ("is_on = 1", "the number 1 stands where true or false is wanted"),
            ("pair = [1]", "there are 1 items, and a list of 2 is wanted"),
            ("part = [{}]", "the key `id` is missing"),
            ("part = [1]", "the number 1 stands where a table is wanted"),
            ("kind = \"rwo\"", "`rwo` is not possible here: did you mean `row`? There are row, doc"),
            ("kind = 3", "a text or a table is wanted"),
            ("name = \"b\"", "this is no TOML: this key stands twice"),
            ("is_on = yes", "this is no TOML: string values must be quoted, expected literal string"),
        ] {
            told(&with(line), &format!("a.toml, line 3 (`{line}`): {expected}"));
        }
    }

    #[test]
    fn what_is_missing_in_the_file_has_no_line() {
        told("name = \"a\"\n", "a.toml: the key `count` is missing");
        told("", "a.toml: the key `name` is missing");
        told("name = \"a\"\ncount = 1\n\n[[part]]\n", "a.toml, line 4 (`[[part]]`): the key `id` is missing");
        told(
            "name = \"a\"\ncount = 300",
            "a.toml, line 2 (`count = 300`): the number 300 is not possible here: a whole number from 0 to 255 is wanted",
        );
        told(
            "name = \"a\"\ncount = -1",
            "a.toml, line 2 (`count = -1`): the number -1 is not possible here: a whole number from 0 to 255 is wanted",
        );
    }

    #[test]
    fn of_a_long_line_the_key_is_shown() {
        let long = format!(
            "name = \"a\"\ncount = 1\npart = [{{ id = 1 }}, {}{{ id = \"x\" }}]",
            "{ id = 2 }, ".repeat(20)
        );
        told(&long, "a.toml, line 3 (`id = \"x\"`): the text \"x\" stands where a whole number is wanted");
    }

    #[test]
    fn words_of_a_file_move_no_terminal_and_fill_no_page() {
        let long = format!("name = \"a\"\n\"x\\u001b{}\" = 1", "y".repeat(200));
        let told = read::<File>(&long, "a.toml").expect_err("there is no such key");
        assert!(!told.contains('\u{1b}') && told.contains("yyy…`)"), "{told}");
    }

    #[test]
    fn words_of_ours_stay() {
        assert_eq!(plainly("`1` is no duration"), "`1` is no duration");
        assert_eq!(
            plainly("missing field `id`\nin `arms.lanes`\n"),
            "the key `id` is missing (in `arms.lanes`)"
        );
    }
}
