//! Names and words that people write: a name stands once, those that become file names lead nowhere else, and no word
//! commands a terminal.

use std::collections::BTreeSet;

/// Refuses a name that stands twice. `what` says what is named.
pub(crate) fn unique<N: AsRef<str>>(what: &str, names: impl IntoIterator<Item = N>) -> Result<(), String> {
    let mut seen = BTreeSet::new();
    for name in names {
        let name = name.as_ref().to_owned();
        if seen.contains(&name) {
            return Err(format!("{what} `{name}` stands twice; rename one or leave it out"));
        }
        seen.insert(name);
    }
    Ok(())
}

/// What is said where a name is not among those there are: the nearest one, if one is near, and all of them.
///
/// ```
/// # use touchstone::name::there_are;
/// assert_eq!(there_are("cuoch", ["couch", "wcdb"]), "did you mean `couch`? There are couch, wcdb");
/// assert_eq!(there_are("realm", ["couch", "wcdb"]), "there are couch, wcdb");
/// ```
pub fn there_are<N: AsRef<str>>(wanted: &str, known: impl IntoIterator<Item = N>) -> String {
    let known: Vec<N> = known.into_iter().collect();
    let all = known.iter().map(AsRef::as_ref).collect::<Vec<&str>>();
    meant(nearest(wanted, all.iter().copied()), &format!("there are {}", all.join(", ")))
}

/// A name that was probably meant, before what is said in any case.
pub(crate) fn meant(name: Option<&str>, said: &str) -> String {
    let Some(name) = name else { return said.to_owned() };
    let mut letters = said.chars();
    let first = letters.next().map(|letter| letter.to_uppercase().to_string()).unwrap_or_default();
    format!("did you mean `{name}`? {first}{}", letters.as_str())
}

/// The name that was most likely meant: at most a third of its letters are others, missing or in another order.
pub fn nearest<'n>(wanted: &str, known: impl IntoIterator<Item = &'n str>) -> Option<&'n str> {
    let letters_wrong_max = |name: &str| (name.chars().count().max(wanted.chars().count()) / 3).clamp(1, 4);
    known
        .into_iter()
        .map(|name| (strsim::damerau_levenshtein(wanted, name), name))
        .filter(|(wrong, name)| *wrong <= letters_wrong_max(name))
        .min_by_key(|(wrong, _)| *wrong)
        .map(|(_, name)| name)
}

/// The suite of a planned case's name, `suite/case`.
pub(crate) fn suite_of(case: &str) -> &str {
    case.split('/').next().unwrap_or_default()
}

/// The subject of an arm's name, `subject@profile` or `subject@profile#variant`.
pub(crate) fn subject_of(arm: &str) -> &str {
    arm.split('@').next().unwrap_or_default()
}

/// Refuses words that would do something where they are shown: control characters, line breaks among them, and those that turn
/// the direction of what follows. `said` is a file's content, every text of which is looked at.
pub(crate) fn plain_words(said: &serde_json::Value) -> Result<(), String> {
    match said {
        serde_json::Value::String(text) => match text.chars().find(|c| is_unreadable(*c)) {
            Some(c) => {
                Err(format!("the text {text:?} has the character {c:?}, which nobody can read: leave it out"))
            }
            None => Ok(()),
        },
        serde_json::Value::Array(items) => items.iter().try_for_each(plain_words),
        serde_json::Value::Object(fields) => fields.iter().try_for_each(|(name, value)| {
            plain_words(&serde_json::Value::String(name.clone())).and_then(|()| plain_words(value))
        }),
        _ => Ok(()),
    }
}

/// Whether a character would do something where it is shown: move a terminal, turn the direction of a line, break it, or take no
/// room in it. Words that a driver says, or that a record holds, are shown without such.
///
/// ```
/// # use touchstone::name::is_unreadable;
/// assert_eq!("28 % better, 中文".find(is_unreadable), None);
/// assert!(['\u{1b}', '\n', '\u{202e}', '\u{200b}', '\u{2028}'].into_iter().all(is_unreadable));
/// ```
pub fn is_unreadable(character: char) -> bool {
    character.is_control() || is_unseen(character)
}

/// Takes such characters from the words of a driver or of a record: they are told among the lab's own.
///
/// ```
/// # use touchstone::name::make_plain;
/// let mut said = serde_json::json!({ "message": "x\ngate: pass\u{202e}" });
/// make_plain(&mut said);
/// assert_eq!(said, serde_json::json!({ "message": "x gate: pass " }));
/// ```
pub fn make_plain(said: &mut serde_json::Value) {
    match said {
        serde_json::Value::String(text) => plain(text),
        serde_json::Value::Array(items) => items.iter_mut().for_each(make_plain),
        serde_json::Value::Object(fields) => {
            for (mut name, mut value) in std::mem::take(fields) {
                plain(&mut name);
                make_plain(&mut value);
                fields.insert(name, value);
            }
        }
        _ => {}
    }
}

fn plain(text: &mut String) {
    if text.contains(is_unreadable) {
        *text = text.replace(is_unreadable, " ");
    }
}

/// What turns the direction of a line, breaks it, or takes no room in it.
fn is_unseen(c: char) -> bool {
    matches!(
        c,
        '\u{AD}'
            | '\u{34F}'
            | '\u{61C}'
            | '\u{115F}'
            | '\u{1160}'
            | '\u{17B4}'
            | '\u{17B5}'
            | '\u{180E}'
            | '\u{200B}'
            | '\u{200E}'
            | '\u{200F}'
            | '\u{2028}'..='\u{202E}'
            | '\u{2060}'..='\u{206F}'
            | '\u{3164}'
            | '\u{FEFF}'
            | '\u{FFA0}'
            | '\u{E0000}'..='\u{E007F}'
    )
}

/// Refuses a name that could not be a file's, or would be one elsewhere.
pub(crate) fn file_name(name: &str) -> Result<(), String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.@#".contains(c);
    if !name.is_empty() && !name.starts_with('.') && name.chars().all(plain) {
        return Ok(());
    }
    Err(format!("`{name}` is not a name: letters, digits and -_.@# only, no dot in front"))
}

#[cfg(test)]
mod tests {
    use super::{nearest, plain_words};
    use serde_json::json;

    #[test]
    fn the_nearest_name_is_near() {
        let known = ["couch/get", "couch/read", "wcdb/read"];
        assert_eq!(nearest("couch/gte", known), Some("couch/get"));
        assert_eq!(nearest("wdcb/read", known), Some("wcdb/read"));
        assert_eq!(nearest("realm/write", known), None);
        assert_eq!(nearest("", known), None);
        assert_eq!(nearest("get", []), None);
    }

    #[test]
    fn words_that_would_command_a_terminal_are_refused_wherever_they_stand() {
        plain_words(&json!({ "a": ["“28 % better”, µs, 中文", 1, null] })).unwrap();
        for said in [
            json!("\u{1b}[2J"),
            json!({ "a": [{ "b": "one\ntwo" }] }),
            json!({ "a\u{202e}": 1 }),
            json!("\u{200b}"),
            json!("one\u{2028}two"),
            json!("\r"),
        ] {
            let error = plain_words(&said).unwrap_err();
            assert!(!error.contains(['\u{1b}', '\n', '\r', '\u{202e}']), "{error}");
        }
    }
}
