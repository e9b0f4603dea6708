//! Values that each user has of its own from the beginning: the lines of files.

use crate::error::{Error, Result};
use crate::scenario::Scenario;

/// Values of users by the number of the value, a line for each user.
pub(super) type Lines = Vec<(usize, Vec<Vec<u8>>)>;

/// Reads the files of a scenario that has so many users.
pub(super) fn lines(scenario: &Scenario, users: u32, names: &[String]) -> Result<Lines> {
    let mut all = Lines::new();
    for (name, path) in &scenario.lines {
        let told = |why: String| Error::input(format!("`lines.{name}`, {}: {why}", path.display()));
        if scenario.values.contains_key(name) {
            return Err(told(format!("`values.{name}` says what users begin with too: leave one out")));
        }
        let text = std::fs::read(path).map_err(|error| told(format!("it cannot be read: {error}")))?;
        let lines = text.split(|byte| *byte == b'\n').map(|line| line.strip_suffix(b"\r").unwrap_or(line));
        let mut lines: Vec<Vec<u8>> = lines.map(<[u8]>::to_vec).collect();
        // What stands behind the last line's end is no line.
        lines.pop_if(|last| last.is_empty());
        if lines.len() < users as usize {
            return Err(told(format!(
                "it has {} lines, and there are {users} users, each of which takes one: add lines, or say fewer `load.users`",
                lines.len()
            )));
        }
        lines.truncate(users as usize);
        all.extend(names.iter().position(|known| known == name).map(|number| (number, lines)));
    }
    Ok(all)
}
