//! Names that people write: each stands once, and those that become file names lead nowhere else.

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

/// The subject of an arm's name, `subject@profile` or `subject@profile#variant`.
pub(crate) fn subject_of(arm: &str) -> &str {
    arm.split('@').next().unwrap_or_default()
}

/// Refuses a name that could not be a file's, or would be one elsewhere.
pub(crate) fn file_name(name: &str) -> Result<(), String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.@#".contains(c);
    if !name.is_empty() && !name.starts_with('.') && name.chars().all(plain) {
        return Ok(());
    }
    Err(format!("`{name}` is not a name: letters, digits and -_.@# only, no dot in front"))
}
