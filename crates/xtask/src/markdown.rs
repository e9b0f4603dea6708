//! Pages: their titles, links, fenced blocks and the regions between markers.

use crate::Findings;
use std::collections::BTreeSet;

/// A fenced block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// The line of its opening fence, from 1.
    pub line: usize,
    /// What stands behind the fence: `sh`, `toml`.
    pub language: String,
    /// What is in it.
    pub text: String,
}

/// The fenced blocks of a page.
pub fn blocks(page: &str) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    let mut open: Option<Block> = None;
    for (index, line) in page.lines().enumerate() {
        match (&mut open, line.trim_start().strip_prefix("```")) {
            (Some(_), Some(_)) => blocks.extend(open.take()),
            (Some(block), None) => {
                block.text.push_str(line);
                block.text.push('\n');
            }
            (None, Some(language)) => {
                open = Some(Block {
                    line: index + 1,
                    language: language.trim().to_owned(),
                    text: String::new(),
                });
            }
            (None, None) => {}
        }
    }
    blocks
}

/// The page without its fenced blocks, line for line.
pub fn prose(page: &str) -> String {
    let mut inside = false;
    let mut prose = String::new();
    for line in page.lines() {
        let fence = line.trim_start().starts_with("```");
        if !inside && !fence {
            prose.push_str(line);
        }
        inside ^= fence;
        prose.push('\n');
    }
    prose
}

/// Checks that a page has one title, and that it is the first thing on it.
pub fn one_title(path: &str, page: &str) -> Findings {
    let prose = prose(page);
    let titles = prose.lines().filter(|line| line.starts_with("# ")).count();
    let first = prose.lines().find(|line| !line.trim().is_empty() && !line.starts_with("<!--"));
    let mut findings = Vec::new();
    if titles != 1 {
        findings.push(format!("{path}: {titles} titles (`# `), a page has one"));
    }
    if !first.is_some_and(|line| line.starts_with("# ")) {
        findings.push(format!("{path}: does not open with its title"));
    }
    findings
}

/// Checks that a page's blocks are closed and say what they are in.
pub fn whole_blocks(path: &str, page: &str) -> Findings {
    let fences = page.lines().filter(|line| line.trim_start().starts_with("```")).count();
    let mut findings = Vec::new();
    if !fences.is_multiple_of(2) {
        findings.push(format!("{path}: a fenced block is not closed"));
    }
    let nameless = blocks(page).into_iter().filter(|block| block.language.is_empty());
    findings.extend(nameless.map(|block| format!("{path}:{}: a fenced block of no language", block.line)));
    findings
}

/// The targets of a page's links, with their lines.
pub fn links(page: &str) -> Vec<(usize, String)> {
    let mut links = Vec::new();
    for (index, line) in prose(page).lines().enumerate() {
        let line = without_code(line);
        for (at, _) in line.match_indices("](") {
            let target = line[at + 2..].split(')').next().unwrap_or_default();
            links.push((index + 1, target.to_owned()));
        }
    }
    links
}

/// Checks that every relative link of a page leads to a file of the tree and, with a `#`, to a heading in it.
/// `read` gives the text of a path of the tree; `is_there` says whether a file or folder is.
pub fn links_resolve(
    path: &str,
    page: &str,
    read: impl Fn(&str) -> Option<String>,
    is_there: impl Fn(&str) -> bool,
) -> Findings {
    let mut findings = Vec::new();
    for (line, target) in links(page) {
        if target.starts_with("http://") || target.starts_with("https://") {
            continue;
        }
        let (file, heading) =
            target.split_once('#').map_or((target.as_str(), None), |(file, h)| (file, Some(h)));
        let file = if file.is_empty() { path.to_owned() } else { resolve(path, file) };
        if !is_there(&file) {
            findings.push(format!("{path}:{line}: the link {target} leads nowhere"));
        } else if let Some(heading) = heading {
            let known = read(&file).is_some_and(|page| anchors(&page).contains(heading));
            if !known {
                findings.push(format!("{path}:{line}: {file} has no heading for {target}"));
            }
        }
    }
    findings
}

/// The anchors of a page's headings, made as hosts of repositories make them.
pub fn anchors(page: &str) -> BTreeSet<String> {
    let prose = prose(page);
    let headings = prose.lines().filter(|line| line.starts_with('#'));
    let anchor = |line: &str| {
        let heading = line.trim_start_matches('#').trim().to_lowercase();
        let kept = heading.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
        kept.map(|c| if c == ' ' { '-' } else { c }).collect::<String>()
    };
    headings.map(anchor).collect()
}

/// The page without what lies in its generated regions: what somebody wrote.
pub fn without_regions(page: &str) -> String {
    let mut inside = false;
    let mut written = String::new();
    for line in page.lines() {
        inside &= !line.starts_with("<!-- END: ");
        if !inside {
            written.push_str(line);
            written.push('\n');
        }
        inside |= line.starts_with("<!-- BEGIN: ");
    }
    written
}

/// The page with the region `name` replaced; none where it has no such region.
///
/// A region lies between the lines `<!-- BEGIN: name -->` and `<!-- END: name -->`, which stay.
pub fn with_region(page: &str, name: &str, contents: &str) -> Option<String> {
    let begin = format!("<!-- BEGIN: {name} -->\n");
    let from = page.find(&begin)? + begin.len();
    let to = from + page[from..].find(&format!("<!-- END: {name} -->"))?;
    Some(format!("{}\n{}\n\n{}", &page[..from], contents.trim(), &page[to..]))
}

/// The names of a page's regions.
pub fn regions(page: &str) -> Vec<String> {
    let begins = page.lines().filter_map(|line| line.strip_prefix("<!-- BEGIN: ")?.strip_suffix(" -->"));
    begins.map(str::to_owned).collect()
}

/// A path beside another, with its `..` taken out.
fn resolve(page: &str, target: &str) -> String {
    let mut parts: Vec<&str> = page.split('/').collect();
    parts.pop();
    for part in target.split('/') {
        match part {
            "." | "" => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    parts.join("/")
}

/// The line with what stands between backticks taken out: an example of a link is no link.
fn without_code(line: &str) -> String {
    line.split('`').enumerate().filter(|(index, _)| index.is_multiple_of(2)).map(|(_, part)| part).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str =
        "# Title\n\n[a](b.md#its-part) and `[no](x)`.\n\n```sh\n# comment\nmake test\n```\n\n## Its part\n";

    #[test]
    fn blocks_are_taken_out_whole() {
        let expected = Block { line: 5, language: "sh".into(), text: "# comment\nmake test\n".into() };
        assert_eq!(blocks(PAGE), [expected]);
        assert!(!prose(PAGE).contains("make"));
        assert_eq!(prose(PAGE).lines().count(), PAGE.lines().count());
    }

    #[test]
    fn a_page_has_one_title() {
        assert_eq!(one_title("a.md", PAGE).len(), 0);
        assert_eq!(one_title("a.md", "# A\n# B\n").len(), 1);
        assert_eq!(one_title("a.md", "text\n# A\n").len(), 1);
        assert_eq!(one_title("a.md", "## A\n").len(), 2);
    }

    #[test]
    fn blocks_that_are_open_or_nameless_are_found() {
        assert_eq!(whole_blocks("a.md", PAGE).len(), 0);
        assert_eq!(whole_blocks("a.md", "```sh\n").len(), 1);
        assert_eq!(whole_blocks("a.md", "```\nx\n```\n").len(), 1);
    }

    #[test]
    fn a_link_that_leads_nowhere_is_found() {
        let read = |path: &str| (path == "docs/b.md").then(|| "# B\n## Its part\n".to_owned());
        let is_there = |path: &str| path == "docs/b.md";
        assert_eq!(links_resolve("docs/a.md", PAGE, read, is_there).len(), 0);
        assert_eq!(links_resolve("a.md", PAGE, read, is_there).len(), 1, "b.md is in docs/");
        assert_eq!(links_resolve("docs/a.md", "[x](b.md#other)", read, is_there).len(), 1);
        assert_eq!(links_resolve("docs/x/a.md", "[x](../b.md)", read, is_there).len(), 0);
    }

    #[test]
    fn what_is_generated_is_not_written() {
        let page = "a\n<!-- BEGIN: table -->\n\nrow\n\n<!-- END: table -->\nb\n";
        assert_eq!(without_regions(page), "a\n<!-- BEGIN: table -->\n<!-- END: table -->\nb\n");
    }

    #[test]
    fn a_region_is_replaced_between_its_markers() {
        let page = "a\n<!-- BEGIN: table -->\nold\n<!-- END: table -->\nb\n";
        let expected = "a\n<!-- BEGIN: table -->\n\nnew\n\n<!-- END: table -->\nb\n";
        assert_eq!(regions(page), ["table"]);
        assert_eq!(with_region(page, "table", "new").unwrap(), expected);
        assert_eq!(with_region(expected, "table", "new").unwrap(), expected);
        assert_eq!(with_region(page, "other", "new"), None);
    }
}
