//! Encodes the keys of the rows that a transaction changes, by table, for its entry in the change log. A store that
//! logs does so whether or not any process watches, so a key costs only a few bytes in a buffer. A key may be gathered
//! twice, or without a change in the end: a reader of the entry reads the rows. Writing into memory does not fail.

use crate::nested::Writer;
use crate::value::Raw;

/// The most keys of one transaction, and their most bytes. Beyond, any row of the table may have changed.
pub(crate) const KEYS_MAX: usize = 100_000;
const BYTES_MAX: usize = 1 << 20;

/// The keys of the rows that a transaction changes.
#[derive(Debug, Default)]
pub(crate) struct Gathering {
    tables: Vec<TableKeys>,
    /// The index in `tables` of the table that was changed last.
    last: usize,
    keys: usize,
    bytes: usize,
    /// Whether anything may have changed.
    pub(crate) is_unknown: bool,
}

#[derive(Debug, Default)]
struct TableKeys {
    name: String,
    /// Whether any row may have changed.
    is_all: bool,
    at: TableMark,
    bytes: Vec<u8>,
}

/// How far the keys of a table are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct TableMark {
    keys: usize,
    /// Items of the array, and their bytes.
    items: u64,
    bytes: usize,
    number: i64,
    /// The last run, which is not in `bytes` yet.
    run: Option<Run>,
}

/// Consecutive keys, run-length-encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Run {
    /// The first key minus the key before it (delta encoding), modulo 2⁶⁴.
    difference: i64,
    /// How many keys come after the first.
    more: u64,
}

impl Run {
    fn write(self, bytes: &mut Vec<u8>) {
        let mut writer = Writer::new(bytes);
        if self.more > 0 {
            let _ = writer.map(1);
        }
        let _ = writer.i64(self.difference);
        if self.more > 0 {
            let _ = writer.u64(self.more);
        }
    }
}

/// A point of a gathering that it can return to, for a savepoint.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Mark(Vec<TableMark>);

impl Gathering {
    /// A gathering after which anything may have changed.
    pub(crate) fn unknown() -> Gathering {
        Gathering { is_unknown: true, ..Gathering::default() }
    }

    #[inline]
    fn table(&mut self, name: &str) -> &mut TableKeys {
        if self.tables.get(self.last).is_none_or(|table| table.name != name) {
            self.last = self.tables.iter().position(|table| table.name == name).unwrap_or_else(|| {
                self.tables.push(TableKeys { name: name.to_owned(), ..TableKeys::default() });
                self.tables.len() - 1
            });
        }
        &mut self.tables[self.last]
    }

    /// Adds an integer key, which is its row's number.
    #[inline]
    pub(crate) fn number(&mut self, table: &str, number: i64) {
        let (keys, last) = (self.keys, self.last);
        if let Some(TableKeys { name, at, .. }) = self.tables.get_mut(last)
            && let Some(run) = &mut at.run
            && at.number.checked_add(1) == Some(number)
            && keys < KEYS_MAX
            && name == table
        {
            run.more += 1;
            (at.number, at.keys, self.keys) = (number, at.keys + 1, keys + 1);
            return;
        }
        self.begin_run(table, number);
    }

    fn begin_run(&mut self, table: &str, number: i64) {
        self.add(table, |at, bytes| {
            let difference = number.wrapping_sub(at.number);
            if let Some(run) = at.run.replace(Run { difference, more: 0 }) {
                run.write(bytes);
            }
            at.number = number;
        });
    }

    /// Adds a key by its columns.
    pub(crate) fn key<'r>(&mut self, table: &str, columns: usize, key: impl Iterator<Item = Raw<'r>>) {
        self.add(table, |at, bytes| {
            if let Some(run) = at.run.take() {
                run.write(bytes);
            }
            let _ = Writer::new(bytes).array(columns as u64);
            key.for_each(|column| encode(column, bytes));
        });
    }

    fn add(&mut self, table: &str, append: impl FnOnce(&mut TableMark, &mut Vec<u8>)) {
        if self.keys >= KEYS_MAX || self.bytes >= BYTES_MAX {
            return self.all(table);
        }
        let table = self.table(table);
        if table.is_all {
            return;
        }
        append(&mut table.at, &mut table.bytes);
        let longer = table.bytes.len() - table.at.bytes;
        (table.at.keys, table.at.items) = (table.at.keys + 1, table.at.items + 1);
        table.at.bytes = table.bytes.len();
        (self.keys, self.bytes) = (self.keys + 1, self.bytes + longer);
    }

    /// Adds every row of the table: any may have changed.
    pub(crate) fn all(&mut self, table: &str) {
        let table = self.table(table);
        (table.is_all, table.at, table.bytes) = (true, TableMark::default(), Vec::new());
    }

    pub(crate) fn mark(&self) -> Mark {
        Mark(self.tables.iter().map(|table| table.at).collect())
    }

    /// Returns to the mark.
    pub(crate) fn undo(&mut self, mark: &Mark) {
        self.tables.truncate(mark.0.len());
        for (table, at) in self.tables.iter_mut().zip(&mark.0) {
            // A table whose keys were given up stays so.
            if !table.is_all {
                table.at = *at;
                table.bytes.truncate(at.bytes);
            }
        }
        self.keys = self.tables.iter().map(|table| table.at.keys).sum();
        self.bytes = self.tables.iter().map(|table| table.at.bytes).sum();
    }

    /// The encoded entry; none if nothing has changed.
    pub(crate) fn entry(&self) -> Option<Vec<u8>> {
        let mut bytes = Vec::with_capacity(self.bytes + 32 * (1 + self.tables.len()));
        let mut writer = Writer::new(&mut bytes);
        if self.is_unknown {
            let _ = writer.null();
            return Some(bytes);
        }
        let is_told = |table: &&TableKeys| table.is_all || table.at.keys > 0;
        let count = self.tables.iter().filter(is_told).count();
        if count == 0 {
            return None;
        }
        let _ = writer.map(count as u64);
        for table in self.tables.iter().filter(is_told) {
            let _ = writer.str(&table.name);
            if table.is_all {
                let _ = writer.null();
            } else {
                let _ = writer.array(table.at.items);
                writer.buffer().extend_from_slice(&table.bytes);
                if let Some(run) = table.at.run {
                    run.write(writer.buffer());
                }
            }
        }
        Some(bytes)
    }
}

fn encode(column: Raw<'_>, bytes: &mut Vec<u8>) {
    let mut writer = Writer::new(bytes);
    let _ = match column {
        Raw::Null | Raw::Absent => writer.null(),
        Raw::Integer(value) => writer.i64(value),
        Raw::Real(value) => writer.f64(value),
        Raw::Text(text) => match std::str::from_utf8(text) {
            Ok(text) => writer.str(text),
            Err(_) => writer.bytes(text),
        },
        Raw::Blob(blob) => writer.bytes(blob),
    };
}

#[cfg(test)]
mod tests {
    use super::super::entry::{Changed, Keys, changes_of};
    use super::*;
    use crate::value::Stored;

    fn told(gathering: &Gathering) -> Option<Option<Vec<Changed>>> {
        gathering.entry().map(|bytes| changes_of(&bytes).expect("what is written is read"))
    }

    #[test]
    fn an_entry_tells_what_was_gathered() {
        let mut gathering = Gathering::default();
        assert_eq!(told(&gathering), None);
        let numbers = [5, 6, 7, 3, i64::MIN, i64::MAX, i64::MIN, 0];
        numbers.iter().for_each(|number| gathering.number("task", *number));
        let key = [Raw::Text(b"north"), Raw::Integer(-1), Raw::Real(0.5), Raw::Null, Raw::Blob(&[1])];
        gathering.key("reading", key.len(), key.into_iter());
        gathering.all("note");
        let columns = vec![
            Stored::Text("north".into()),
            Stored::Integer(-1),
            Stored::Real(0.5),
            Stored::Null,
            Stored::Blob(vec![1]),
        ];
        let numbers = numbers.iter().map(|number| vec![Stored::Integer(*number)]).collect();
        let changed = |table: &str, keys| Changed { table: table.to_owned(), keys };
        assert_eq!(
            told(&gathering),
            Some(Some(vec![
                changed("task", Keys::These(numbers)),
                changed("reading", Keys::These(vec![columns])),
                changed("note", Keys::All),
            ]))
        );
        gathering.is_unknown = true;
        assert_eq!(told(&gathering), Some(None));
    }

    #[test]
    fn what_is_undone_is_not_told() {
        let mut gathering = Gathering::default();
        gathering.number("task", 10);
        let (mark, before) = (gathering.mark(), gathering.entry());
        gathering.number("task", 20);
        gathering.all("note");
        gathering.undo(&mark);
        assert_eq!(gathering.entry(), before);
        gathering.number("task", 11);
        let keys = [10, 11].map(|number| vec![Stored::Integer(number)]).to_vec();
        assert_eq!(
            told(&gathering),
            Some(Some(vec![Changed { table: "task".into(), keys: Keys::These(keys) }]))
        );
    }

    #[test]
    fn beyond_a_limit_any_row_may_have_changed() {
        let mut gathering = Gathering::default();
        (0..=KEYS_MAX).for_each(|_| gathering.number("task", 1));
        assert_eq!(told(&gathering), Some(Some(vec![Changed { table: "task".into(), keys: Keys::All }])));
    }
}
