//! Columns that line up over all cases of a report, and fit: a name or a verdict that is too long goes on in the
//! next line.

use super::text::{Sheet, Tone, pieces};
use crate::report::Style;
use unicode_width::UnicodeWidthStr;

const COLUMNS: usize = 7;
const GAP: usize = 2;
const INDENT: usize = 2;
const TITLES: [&str; COLUMNS] =
    ["contender", "rate", "ratio to baseline", "verdict", "class", "floor", "syncs"];
const VERDICT: usize = 3;
/// Figures are read from the right.
const TO_THE_RIGHT: [bool; COLUMNS] = [false, true, false, false, false, true, true];

/// One arm.
pub(super) type Row = [Cell; COLUMNS];

/// A text with its tone.
pub(super) struct Cell {
    text: String,
    tone: Tone,
}

impl Cell {
    pub(super) fn plain(text: String) -> Cell {
        Cell { text, tone: Tone::Plain }
    }

    pub(super) fn toned(text: String, tone: Tone) -> Cell {
        Cell { text, tone }
    }
}

/// The widths that fit all rows; a column in which no row has anything is left out.
pub(super) struct Table {
    widths: [usize; COLUMNS],
    left_out: Vec<&'static str>,
}

impl Table {
    pub(super) fn fitting(rows: impl Iterator<Item = Row>, width: usize) -> Table {
        let mut widths = [0; COLUMNS];
        for row in rows {
            for (width, cell) in widths.iter_mut().zip(&row).filter(|(_, cell)| cell.text != super::NONE) {
                *width = cell.text.width().max(*width);
            }
        }
        let mut table = Table { widths, left_out: Vec::new() };
        for (width, title) in table.widths.iter_mut().zip(TITLES).filter(|(width, _)| **width > 0) {
            *width = title.width().max(*width);
        }
        table.shrink(width);
        table
    }

    /// The names give way to the figures; if that is not enough, columns go. The verdict never does: it is broken at last.
    fn shrink(&mut self, width: usize) {
        const NAME_WIDTH_MIN: usize = 16;
        const NAME_WIDTH_LAST: usize = 8;
        const FIRST_TO_GO: [usize; 5] = [6, 5, 4, 1, 2];
        let mut columns = FIRST_TO_GO.into_iter();
        loop {
            let others: usize =
                self.widths[1..].iter().filter(|width| **width > 0).map(|width| width + GAP).sum();
            let room = width.saturating_sub(INDENT + others);
            if room >= NAME_WIDTH_MIN {
                self.widths[0] = self.widths[0].min(room);
                return;
            }
            let Some(column) = columns.find(|column| self.widths[*column] > 0) else {
                self.widths[0] = self.widths[0].min(room.max(NAME_WIDTH_LAST));
                let left = width.saturating_sub(INDENT + self.widths[0] + GAP);
                self.widths[VERDICT] = self.widths[VERDICT].min(left.max(TITLES[VERDICT].len()));
                return;
            };
            self.widths[column] = 0;
            self.left_out.push(TITLES[column]);
        }
    }

    /// The columns for which there was no room.
    pub(super) fn left_out(&self) -> &[&'static str] {
        &self.left_out
    }

    pub(super) fn header(&self) -> String {
        self.line(&TITLES, &[Tone::Plain; COLUMNS], &Sheet::new(Style { colour: false, width: 0 }))
    }

    /// The row, in as many lines as its name and its verdict need.
    pub(super) fn lines(&self, row: &Row, sheet: &Sheet) -> Vec<String> {
        let names = name_lines(&row[0].text, self.widths[0]);
        let verdicts = verdict_lines(&row[VERDICT].text, self.widths[VERDICT]);
        let tones = row.each_ref().map(|cell| cell.tone);
        let line = |number: usize| {
            let mut texts =
                if number == 0 { row.each_ref().map(|cell| cell.text.as_str()) } else { [""; COLUMNS] };
            texts[0] = names.get(number).map_or("", String::as_str);
            texts[VERDICT] = verdicts.get(number).map_or("", String::as_str);
            self.line(&texts, &tones, sheet)
        };
        (0..names.len().max(verdicts.len())).map(line).collect()
    }

    fn line(&self, texts: &[&str; COLUMNS], tones: &[Tone; COLUMNS], sheet: &Sheet) -> String {
        let mut line = " ".repeat(INDENT);
        for column in (0..COLUMNS).filter(|column| self.widths[*column] > 0) {
            let space = " ".repeat(self.widths[column].saturating_sub(texts[column].width()));
            let text = sheet.one(texts[column], tones[column]);
            if column > 0 {
                line.push_str(&" ".repeat(GAP));
            }
            line += &if TO_THE_RIGHT[column] { format!("{space}{text}") } else { format!("{text}{space}") };
        }
        line.truncate(line.trim_end().len());
        line
    }
}

/// Breaks a contender's name before `@` or `#` where it can, anywhere where it must.
fn name_lines(name: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for part in parts(name).iter().flat_map(|part| pieces(part, width.saturating_sub(INDENT).max(1))) {
        let last = lines.len() - 1;
        if lines[last].width() + part.width() > width {
            lines.push(format!("{}{part}", " ".repeat(INDENT)));
        } else {
            lines[last].push_str(&part);
        }
    }
    lines
}

/// Breaks a verdict before what is said beside it, if it is too wide.
fn verdict_lines(verdict: &str, width: usize) -> Vec<String> {
    match verdict.split_once(", ") {
        Some((word, beside)) if verdict.width() > width => vec![format!("{word},"), beside.into()],
        _ => vec![verdict.into()],
    }
}

/// `subject`, `@profile`, `#variant`.
fn parts(name: &str) -> Vec<&str> {
    let mut cuts: Vec<usize> = name.match_indices(['@', '#']).map(|(place, _)| place).collect();
    cuts.push(name.len());
    let mut from = 0;
    cuts.into_iter().map(|to| &name[std::mem::replace(&mut from, to)..to]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flagged_row_is_no_wider_than_a_narrow_terminal() {
        let row = || {
            let texts = ["sqlite-c@wal-normal", "—", "1.000×", "inconclusive, flagged", "commit", "—", "—"];
            texts.map(|text| Cell::plain(text.into()))
        };
        let sheet = Sheet::new(Style { colour: false, width: 30 });
        let lines = Table::fitting([row()].into_iter(), 30).lines(&row(), &sheet);
        assert_eq!(lines, ["  sqlite-c  inconclusive,", "    @wal-n  flagged", "    ormal"]);
        assert!(lines.iter().all(|line| line.width() <= 30));
    }

    #[test]
    fn a_long_name_breaks_where_its_parts_meet() {
        let name = "rusqlite-plain@wal-normal#one-by-one";
        assert_eq!(name_lines(name, 40), [name]);
        assert_eq!(name_lines(name, 26), ["rusqlite-plain@wal-normal", "  #one-by-one"]);
        assert_eq!(name_lines(name, 12).concat().replace(' ', ""), name);
        assert!(name_lines(name, 12).iter().all(|line| line.width() <= 12));
    }
}
