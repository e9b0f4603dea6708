//! The keys of the rows that a transaction changes, by table, as they are written into its entry. It is gathered whether
//! anybody watches or not, so it is cheap: a key is a byte or some in a buffer. Keys may be told more than once, and keys
//! that did not change in the end: who reads an entry reads the rows. Writing into memory does not fail.

use crate::nested::Writer;
use crate::value::Raw;

/// Keys that are told of one transaction, and bytes of them. Beyond, any row of a table may have changed.
pub(crate) const KEYS_MAX: usize = 100_000;
const BYTES_MAX: usize = 1 << 20;

/// What a transaction changes.
#[derive(Debug, Default)]
pub(crate) struct Gathering {
    tables: Vec<TableKeys>,
    /// The place of the table that was changed last.
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

/// How far the keys of a table are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct TableMark {
    keys: usize,
    /// Items of the array, and their bytes.
    items: u64,
    bytes: usize,
    number: i64,
    /// A run that is not written yet.
    run: Option<Run>,
}

/// Rows whose numbers follow each other without a gap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Run {
    /// How much greater the first number is than the key before.
    difference: i64,
    /// How many come after the first.
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

/// How far a gathering is, to go back to.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Mark(Vec<TableMark>);

impl Gathering {
    /// That anything may have changed.
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

    /// Notes a row whose key is its number.
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

    /// Notes a row by its key's columns.
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

    /// Notes that any row of the table may have changed.
    pub(crate) fn all(&mut self, table: &str) {
        let table = self.table(table);
        (table.is_all, table.at, table.bytes) = (true, TableMark::default(), Vec::new());
    }

    pub(crate) fn mark(&self) -> Mark {
        Mark(self.tables.iter().map(|table| table.at).collect())
    }

    /// Goes back to where it was.
    pub(crate) fn undo(&mut self, mark: &Mark) {
        self.tables.truncate(mark.0.len());
        for (table, at) in self.tables.iter_mut().zip(&mark.0) {
            // What was given up to tell row by row stays so.
            if !table.is_all {
                table.at = *at;
                table.bytes.truncate(at.bytes);
            }
        }
        self.keys = self.tables.iter().map(|table| table.at.keys).sum();
        self.bytes = self.tables.iter().map(|table| table.at.bytes).sum();
    }

    /// What the entry is to tell; none where nothing has changed.
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
    use crate::derived::Stored;

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
