//! Paths: the maps of the project name files and folders that exist, and the store's map names each of its files.

use crate::Findings;

/// Checks the files and folders that a map names in backticks. A path begins at one of `roots`, or in a folder of the path before it on its
/// line, or in the folder of that path's own name. `exists` says whether a file, or a folder without its slash, is there.
pub fn check(path: &str, text: &str, roots: &[&str], exists: impl Fn(&str) -> bool) -> Findings {
    let mut findings = Vec::new();
    let mut is_fenced = false;
    for (index, line) in text.lines().enumerate() {
        is_fenced ^= line.starts_with("```");
        if is_fenced {
            continue;
        }
        let mut places: Vec<String> = roots.iter().map(|root| (*root).to_owned()).collect();
        for named in line.split('`').skip(1).step_by(2).filter(|named| is_path(named)) {
            let found = places.iter().map(|place| format!("{place}{}", named.trim_end_matches('/')));
            let Some(found) = found.into_iter().find(|path| exists(path)) else {
                findings.push(format!("{path}:{}: `{named}` is not there", index + 1));
                continue;
            };
            places.truncate(roots.len());
            places.extend(found.rmatch_indices('/').map(|(end, _)| found[..=end].to_owned()));
            places.push(format!("{}/", found.trim_end_matches(".rs")));
        }
    }
    findings
}

/// Finds the files that a map does not name. Their paths are as the map writes them.
pub fn unnamed<'f>(path: &str, text: &str, files: impl Iterator<Item = &'f str>) -> Findings {
    let is_named = |file: &&str| text.contains(&format!("`{file}`"));
    files.filter(|file| !is_named(file)).map(|file| format!("{path}: `{file}` is not named")).collect()
}

/// Whether words in backticks name a file of the project's own, or a folder.
fn is_path(named: &str) -> bool {
    let is_plain = !named.contains([' ', '*', '<', ':', '(', '{', '…']);
    is_plain
        && ([".rs", ".md", ".c", ".toml"].iter().any(|ending| named.ends_with(ending))
            || named.ends_with('/'))
}

#[cfg(test)]
mod tests {
    use super::{check, unnamed};

    #[test]
    fn a_path_that_is_not_there_is_found() {
        let there = ["src/turn.rs", "src/live", "src/live/link.rs", "src/live/link/inbox.rs"];
        let text = "| the turn | `turn.rs`, `live/` |\n| beside | `live/link.rs`, `link.rs`, `inbox.rs` |\n\
                    | gone | `bell.rs`, `a.rs b`, `Vec::new`, `inbox.rs` |\n```text\n`fenced.rs`\n```\n";
        let found = check("MAP.md", text, &["", "src/"], |path| there.contains(&path));
        assert_eq!(found, ["MAP.md:3: `bell.rs` is not there", "MAP.md:3: `inbox.rs` is not there"]);
    }

    #[test]
    fn a_file_that_its_map_does_not_name_is_found() {
        let files = ["live/link.rs", "live/set.rs"].into_iter();
        let found = unnamed("MAP.md", "| the hand-over | `live/link.rs` |\n", files);
        assert_eq!(found, ["MAP.md: `live/set.rs` is not named"]);
    }
}
