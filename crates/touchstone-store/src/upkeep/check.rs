//! Whether a store is whole: its pages, its indexes, and its records as the program's types read them.

use crate::dynamic::{Dynamic, Type};
use crate::session::{COLLECTIONS, Session, read};
use crate::store::Store;
use crate::store::snapshot::Snapshot;
use crate::table::Table;
use crate::types::error::{Error, ErrorKind, Result};
use crate::types::record::{Columns, Record, Shape};
use std::fmt;

/// The most problems of one table, or of the pages, in a report; a damaged file may have one for each row.
const PROBLEMS_MAX: usize = 1000;

/// A part of a check.
type CheckPart = Box<dyn Fn(&Snapshot, &mut CheckReport) -> Result<()>>;

/// A check to run. Get one from [`Store::check`].
///
/// ```
/// # use touchstone_store_example::*; let (directory, store) = store()?;
/// // Without types, pages, indexes and references are checked.
/// assert!(store.check().run()?.is_whole());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "a check is made by `run`"]
pub struct Check<'s> {
    store: &'s Store,
    records: Vec<CheckPart>,
}

/// The result of a check.
///
/// ```
/// # use touchstone_store_example::*; let (directory, store) = store()?;
/// # #[derive(Record)] struct Note { #[record(key)] id: i64, stars: u8 }
/// store.insert(&Note { id: 4, stars: 5 })?;
/// store.write(|transaction| transaction.sql(|sql| sql.execute("update note set stars = 1000", ())))?;
/// let report = store.check().records::<Note>().run()?;
/// assert!(!report.is_whole());
/// assert!(report.problems()[0].to_string().starts_with("record 4 of `note`: column `stars`"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CheckReport {
    problems: Vec<Problem>,
    records: u64,
}

/// A defect of the file. It is printed as a sentence; programs match on its kind.
///
/// ```
/// use touchstone_store::Problem;
///
/// let problem = Problem::Reference { table: "note".into(), refers_to: "task".into() };
/// assert_eq!(problem.to_string(), "a row of `note` refers to a row of `task` that is not there");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Problem {
    /// A page or an index is damaged, in SQLite's own words.
    File(String),
    /// A row refers to one that is not there. Only raw SQL makes such references.
    Reference {
        /// The table that the row is of.
        table: String,
        /// The table that it refers to.
        refers_to: String,
    },
    /// A record that its type cannot read.
    Record {
        /// The type's table.
        table: String,
        /// The collection's name; none for the type's own.
        collection: Option<String>,
        /// The record's key.
        key: String,
        /// Why its type cannot read it.
        why: String,
    },
    /// There are more problems of this kind than the report has.
    More(String),
}

impl fmt::Display for Problem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Problem::File(why) => formatter.write_str(why),
            Problem::Reference { table, refers_to } => {
                write!(formatter, "a row of `{table}` refers to a row of `{refers_to}` that is not there")
            }
            Problem::Record { table, collection: None, key, why } => {
                write!(formatter, "record {key} of `{table}`: {why}")
            }
            Problem::Record { table, collection: Some(name), key, why } => {
                write!(formatter, "record {key} of `{table}` in collection {name:?}: {why}")
            }
            Problem::More(of) => write!(formatter, "{of}: there are more problems than are told"),
        }
    }
}

impl CheckReport {
    /// Whether no problem was found.
    ///
    /// ```
    /// # use touchstone_store_example::*; let (directory, store) = two_tasks()?;
    /// assert!(store.check().run()?.is_whole());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.problems.is_empty()
    }

    /// The problems that were found.
    ///
    /// ```
    /// # use touchstone_store_example::*; let (directory, store) = two_tasks()?;
    /// for problem in store.check().records::<Task>().run()?.problems() {
    ///     println!("{problem}");
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }

    /// How many records were read as their types.
    ///
    /// ```
    /// # use touchstone_store_example::*; let (directory, store) = two_tasks()?;
    /// assert_eq!(store.check().records::<Task>().run()?.records(), 2);
    /// assert_eq!(store.check().run()?.records(), 0, "no type was named");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn records(&self) -> u64 {
        self.records
    }
}

impl Store {
    /// A check of every page, every index against its table, every reference, and the records of types given to
    /// [`Check::records`]; as of one moment unless a problem is found. It reads the whole file, and writers go on.
    ///
    /// ```
    /// # use touchstone_store_example::*; let (directory, store) = store()?;
    /// # #[derive(Record)] struct Note { #[record(key)] id: i64, text: String }
    /// store.insert(&Note { id: 1, text: "one".into() })?;
    /// let report = store.check().records::<Note>().run()?;
    /// assert!(report.is_whole(), "{:?}", report.problems());
    /// assert_eq!(report.records(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn check(&self) -> Check<'_> {
        Check { store: self, records: Vec::new() }
    }
}

impl Check<'_> {
    /// Reads every record of the type too, also in named collections, and reports each that does not fit the type.
    ///
    /// ```
    /// # use touchstone_store_example::*; let (directory, store) = two_tasks()?;
    /// let report = store.check().records::<Task>().run()?;
    /// assert_eq!((report.is_whole(), report.records()), (true, 2));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn records<T: Record>(mut self) -> Self {
        self.records.push(Box::new(|snapshot, report| check_records::<T>(T::SHAPE, snapshot, report)));
        self
    }

    /// As [`records`](Check::records), of a type that is made at run time.
    ///
    /// ```
    /// # use touchstone_store::{Kind, dynamic};
    /// # let (directory, store) = touchstone_store_example::store()?;
    /// let task = dynamic::Type::new("task", [dynamic::Field::key("id", Kind::Integer)])?;
    /// store.dynamic(task).insert(&task.record([1.into()])?)?;
    /// assert_eq!(store.check().dynamic(task).run()?.records(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn dynamic(mut self, of: Type) -> Self {
        let shape = of.shape();
        self.records.push(Box::new(|snapshot, report| check_records::<Dynamic>(shape, snapshot, report)));
        self
    }

    /// Runs the check. A damaged page ends the reading of its table, and the other tables are read all the same.
    ///
    /// ```
    /// # let directory = tempfile::tempdir()?;
    /// let store = touchstone_store::Store::open(directory.path().join("tasks.db"))?;
    /// assert!(store.check().run()?.is_whole());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the file cannot be read for another reason than damage; damage is in the report.
    pub fn run(self) -> Result<CheckReport> {
        let mut report = CheckReport::default();
        let mut parts: Vec<CheckPart> = vec![Box::new(check_pages), Box::new(check_references)];
        parts.extend(self.records);
        let mut snapshot = None;
        for part in parts {
            let found = report.problems.len();
            let taken = match snapshot.take() {
                Some(taken) => Ok(taken),
                None => self.store.snapshot(),
            };
            match taken.and_then(|taken| part(snapshot.insert(taken), &mut report)) {
                Err(error) if error.kind() == ErrorKind::Damaged => {
                    report.problems.push(Problem::File(error.to_string()));
                }
                result => result?,
            }
            if report.problems.len() > found
                && let Some(damaged) = snapshot.take()
            {
                // After a page that cannot be decrypted SQLite reads nothing more in the transaction, so it must end.
                damaged.leased().parked.set(None);
            }
        }
        Ok(report)
    }
}

fn check_pages(snapshot: &Snapshot, report: &mut CheckReport) -> Result<()> {
    let found = snapshot.sql(|sql| {
        let mut check = sql.prepare(&format!("pragma integrity_check({PROBLEMS_MAX})"))?;
        let lines = check.query_map((), |row| row.get::<_, String>(0))?;
        lines.collect::<rusqlite::Result<Vec<String>>>()
    })?;
    let is_cut = found.len() >= PROBLEMS_MAX;
    report.problems.extend(found.into_iter().filter(|line| line != "ok").map(Problem::File));
    if is_cut {
        report.problems.push(Problem::More("the file".to_owned()));
    }
    Ok(())
}

fn check_references(snapshot: &Snapshot, report: &mut CheckReport) -> Result<()> {
    let found = snapshot.sql(|sql| {
        let mut check = sql.prepare("pragma foreign_key_check")?;
        let rows = check
            .query_map((), |row| Ok(Problem::Reference { table: row.get(0)?, refers_to: row.get(2)? }))?;
        rows.take(PROBLEMS_MAX + 1).collect::<rusqlite::Result<Vec<Problem>>>()
    })?;
    let is_cut = found.len() > PROBLEMS_MAX;
    report.problems.extend(found.into_iter().take(PROBLEMS_MAX));
    if is_cut {
        report.problems.push(Problem::More("the references".to_owned()));
    }
    Ok(())
}

fn check_records<T: Record>(
    shape: &'static Shape,
    snapshot: &Snapshot,
    report: &mut CheckReport,
) -> Result<()> {
    snapshot.leased().call(|session| {
        check_collection::<T>(shape, session, None, report)?;
        for (number, name) in collections(session)? {
            check_collection::<T>(shape, session, Some((number, name)), report)?;
        }
        Ok(())
    })
}

/// The named collections that there are.
fn collections(session: &Session) -> Result<Vec<(i64, String)>> {
    if !session.connection.has_table(COLLECTIONS)? {
        return Ok(Vec::new());
    }
    let sql = "select number, name from main.touchstone_collections order by number";
    let mut names = session.connection.sql().prepare(sql)?;
    let names = names.query_map((), |row| Ok((row.get(0)?, row.get(1)?)))?;
    names.collect::<rusqlite::Result<_>>().map_err(Error::of_own_table(COLLECTIONS))
}

fn check_collection<T: Record>(
    shape: &'static Shape,
    session: &Session,
    collection: Option<(i64, String)>,
    report: &mut CheckReport,
) -> Result<()> {
    let number = collection.as_ref().map(|(number, _)| *number);
    let problem = |key: String, why: &Error| Problem::Record {
        table: shape.name.to_owned(),
        collection: collection.as_ref().map(|(_, name)| name.clone()),
        key,
        why: why.to_string(),
    };
    let table = match session.table(shape, number) {
        // The whole table contradicts the type.
        Err(error) if error.kind() == ErrorKind::Mismatch => {
            report.problems.push(problem("(any)".to_owned(), &error));
            return Ok(());
        }
        table => table?,
    };
    if !table.exists() {
        return Ok(());
    }
    let mut told = 0;
    session.query(&all_sql(&table), &table.begun_row(), |statement| {
        while let Some(row) = statement.next()? {
            session.may_go_on()?;
            report.records += 1;
            let Err(error) = read::<T>(shape, &mut row.columns(shape)) else { continue };
            if told == PROBLEMS_MAX {
                report.problems.push(Problem::More(format!("the records of `{}`", shape.name)));
                break;
            }
            told += 1;
            let mut row = row.columns(shape);
            let key: Vec<String> = (0..shape.keys).map(|_| row.next().in_words()).collect();
            report.problems.push(problem(key.join(", "), &error));
        }
        Ok(())
    })
}

fn all_sql(table: &Table) -> String {
    format!("select {} from {} where {}true", table.selection(), table.quoted(), table.within())
}
