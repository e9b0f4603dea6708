//! A page of text: sections, facts, tables and sentences, aligned and never wider than asked.

/// How far everything in a section is set in.
const INDENT: usize = 2;

/// No page is narrower, whatever is asked.
const WIDTH_MIN: usize = 40;

/// A page that grows line by line.
pub(super) struct Page {
    width: usize,
    text: String,
}

impl Page {
    pub fn new(width: usize) -> Page {
        Page { width: width.max(WIDTH_MIN), text: String::new() }
    }

    /// Begins a section.
    pub fn section(&mut self, title: &str) {
        if !self.text.is_empty() {
            self.text.push('\n');
        }
        self.wrap(title, "", "");
    }

    /// Names and what is known of each, in two columns.
    pub fn facts<'f>(&mut self, facts: impl Iterator<Item = (&'f str, &'f str)>) {
        let facts: Vec<(String, &str)> = facts.map(|(name, fact)| (name.replace('_', " "), fact)).collect();
        let widest =
            facts.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0).min(self.width / 3);
        let rest = " ".repeat(INDENT + widest + 2);
        for (name, fact) in &facts {
            let first = format!("{}{name:<widest$}  ", " ".repeat(INDENT));
            self.wrap(fact, &first, &rest);
        }
    }

    /// Rows of cells, each column as wide as its widest; the first to the left, the others to the side given.
    pub fn table(&mut self, rows: &[Vec<String>], right: bool) {
        let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
        let width_of =
            |column: usize| rows.iter().filter_map(|row| Some(row.get(column)?.chars().count())).max();
        let widths: Vec<usize> = (0..columns).map(|column| width_of(column).unwrap_or(0)).collect();
        for row in rows {
            let mut line = String::new();
            for (column, (cell, width)) in row.iter().zip(&widths).enumerate() {
                let gap = if column == 0 { "" } else { "  " };
                let padding = " ".repeat(width - cell.chars().count());
                let (before, after) =
                    if right && column > 0 { (padding.as_str(), "") } else { ("", padding.as_str()) };
                line.push_str(&format!("{gap}{before}{cell}{after}"));
            }
            self.line(line.trim_end());
        }
    }

    /// A sentence that says what the figures above it mean.
    pub fn meaning(&mut self, sentence: &str) {
        self.wrap(sentence, "  → ", "    ");
    }

    /// A sentence without a sign.
    pub fn sentence(&mut self, sentence: &str) {
        self.wrap(sentence, "  ", "  ");
    }

    /// A sentence under a sign of its own.
    pub fn item(&mut self, sign: &str, sentence: &str) {
        let rest = " ".repeat(INDENT + sign.chars().count() + 1);
        self.wrap(sentence, &format!("{}{sign} ", " ".repeat(INDENT)), &rest);
    }

    pub fn text(self) -> String {
        self.text
    }

    /// A line whose spaces matter, as long as it is not too long.
    fn line(&mut self, line: &str) {
        if INDENT + line.chars().count() <= self.width {
            self.text.push_str(&format!("{}{line}\n", " ".repeat(INDENT)));
        } else {
            self.wrap(line, "  ", "      ");
        }
    }

    /// Breaks text between words, and within a word that is longer than a line.
    fn wrap(&mut self, text: &str, first: &str, rest: &str) {
        let mut line = first.to_owned();
        let mut empty = true;
        for mut word in words(text) {
            loop {
                let used = line.chars().count() + usize::from(!empty);
                let length = word.chars().count();
                if used + length <= self.width {
                    break;
                }
                if !empty {
                    self.push_line(&line);
                    (line, empty) = (rest.to_owned(), true);
                } else {
                    let cut = word
                        .char_indices()
                        .nth((self.width.saturating_sub(used)).max(1))
                        .map_or(word.len(), |(at, _)| at);
                    let after = word.split_off(cut);
                    self.push_line(&format!("{line}{word}"));
                    (line, word) = (rest.to_owned(), after);
                }
            }
            if !empty {
                line.push(' ');
            }
            line.push_str(&word);
            empty = false;
        }
        self.push_line(&line);
    }

    fn push_line(&mut self, line: &str) {
        self.text.push_str(line.trim_end());
        self.text.push('\n');
    }
}

/// The words of a text; a figure and its unit are one.
fn words(text: &str) -> Vec<String> {
    const UNITS: [&str; 9] = ["ns", "µs", "ms", "s", "%", "KiB", "MiB", "GiB", "MB/s"];
    let mut words: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        let unit = UNITS.contains(&word.trim_end_matches(['.', ',', ':', ';']));
        match words.last_mut().filter(|last| unit && last.ends_with(|end: char| end.is_ascii_digit())) {
            Some(figure) => figure.extend([" ", word]),
            None => words.push(word.to_owned()),
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(write: impl FnOnce(&mut Page)) -> String {
        let mut page = Page::new(40);
        write(&mut page);
        page.text()
    }

    #[test]
    fn facts_stand_in_two_columns_and_wrap_in_the_second() {
        let facts = [("os", "Linux"), ("mount_options", "rw, relatime, discard, and more of them")];
        let text = page(|page| {
            page.section("System");
            page.facts(facts.into_iter());
        });
        let expected = "\
System
  os             Linux
  mount options  rw, relatime, discard,
                 and more of them
";
        assert_eq!(text, expected);
    }

    #[test]
    fn tables_align_figures_to_the_right() {
        let rows = vec![vec!["read".into(), "1.00 µs".into()], vec!["rewrite".into(), "12 ms".into()]];
        assert_eq!(page(|page| page.table(&rows, true)), "  read     1.00 µs\n  rewrite    12 ms\n");
        assert_eq!(page(|page| page.table(&[], false)), "");
    }

    #[test]
    fn a_figure_is_not_parted_from_its_unit() {
        assert_eq!(
            words("than 62.3 ns. Then 4 KiB, 5 times"),
            ["than", "62.3 ns.", "Then", "4 KiB,", "5", "times"]
        );
    }

    #[test]
    fn nothing_is_wider_than_the_page() {
        let long = format!("{} and {}", "x".repeat(150), "µ".repeat(45));
        let text = page(|page| {
            page.section(&long);
            page.meaning(&long);
            page.facts([("a_very_long_name_of_a_fact", long.as_str())].into_iter());
            page.table(&[vec![long.clone(), long.clone()]], false);
            page.item("!", &long);
        });
        assert!(text.lines().all(|line| line.chars().count() <= 40), "{text}");
        assert_eq!(text.matches('µ').count(), 45 * 6, "nothing is lost");
    }
}
