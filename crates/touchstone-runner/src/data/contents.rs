//! What a database must hold after everything that was asked of it.

use touchstone::plan::PlannedCase;

/// Stands where a table has no record.
const NONE: u32 = u32::MAX;

/// Of each table in use, the object that stands for each record of the dataset: the record itself, or a new state of
/// it. Objects are numbered, states after records.
#[derive(Clone, Debug)]
pub struct Contents {
    tables: Vec<Vec<u32>>,
    as_template: bool,
    certain: bool,
}

impl Contents {
    /// What a template of the case holds.
    pub fn of_template(case: &PlannedCase) -> Contents {
        let table = |table: u32| {
            let stored = case.share_of(case.filled, table);
            let object = |record: u64| if stored.contains(&record) { record as u32 } else { NONE };
            (0..case.records_needed()).map(object).collect()
        };
        Contents { tables: (1..=case.tables_used()).map(table).collect(), as_template: true, certain: true }
    }

    /// Whether nothing has changed since the template was copied.
    pub fn is_as_template(&self) -> bool {
        self.as_template
    }

    /// Whether every change was made or not made, and it is known which.
    pub fn is_certain(&self) -> bool {
        self.certain
    }

    /// What stands for a record in a table.
    pub fn object(&self, table: u32, record: u32) -> Option<u32> {
        Some(self.tables[table as usize - 1][record as usize]).filter(|object| *object != NONE)
    }

    /// What a table holds, in that order of its records.
    pub fn objects<'c>(&'c self, table: u32, order: &'c [u32]) -> impl Iterator<Item = u32> + 'c {
        order.iter().filter_map(move |record| self.object(table, *record))
    }

    /// Stores a record.
    pub fn insert(&mut self, table: u32, record: u32) {
        self.set(table, record, record);
    }

    /// Writes an object over a record, if that is there.
    pub fn update(&mut self, table: u32, record: u32, object: u32) {
        if self.object(table, record).is_some() {
            self.set(table, record, object);
        }
    }

    /// Deletes everything in a table.
    pub fn clear(&mut self, table: u32) {
        self.as_template = false;
        self.tables[table as usize - 1].fill(NONE);
    }

    /// A change failed: nobody knows how much of it was made.
    pub fn doubt(&mut self) {
        self.as_template = false;
        self.certain = false;
    }

    fn set(&mut self, table: u32, record: u32, object: u32) {
        self.as_template = false;
        self.tables[table as usize - 1][record as usize] = object;
    }
}
