//! Random transactions: what the store's calls do, what raw SQL does, savepoints around it, and how it all ends.

use super::ask::Ask;
use super::kit::{Change, Kit};
use super::record::Meta;
use super::value::{Random, Row, Value};
use rusqlite::{Connection, params_from_iter};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::rc::Rc;
use touchstone_store::{Error, ErrorKind, Store, Transaction};

/// How a transaction, or a part of one, ends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum End {
    Kept,
    Failed,
    Panicked,
}

/// What is done within a transaction.
#[derive(Clone, Debug)]
pub enum Part {
    Change(usize, Change),
    Sql(Vec<Sql>),
    Savepoint(Vec<Part>, End),
}

/// A statement and its parameters.
pub type Sql = (String, Vec<Value>);

/// What the program panics with on purpose.
struct Deliberate;

/// The tables as they were after the last commit, for changes that meet what is there.
pub struct Scene<'s> {
    pub kits: &'s [Box<dyn Kit>],
    pub tables: &'s [Vec<Row>],
}

impl Scene<'_> {
    pub fn transaction(&self, random: &mut Random) -> (Vec<Part>, End) {
        let many = random.percent(15);
        let count = 1 + if many { random.below(60) } else { random.below(4) };
        let mut parts = Vec::new();
        while parts.len() < count {
            self.add_parts(random, 0, &mut parts);
        }
        (parts, end(random, 92))
    }

    fn add_parts(&self, random: &mut Random, depth: usize, parts: &mut Vec<Part>) {
        let at = random.below(self.kits.len());
        match random.below(20) {
            0 | 1 if depth < 3 => {
                let mut inner = Vec::new();
                for _ in 0..random.below(5) {
                    self.add_parts(random, depth + 1, &mut inner);
                }
                parts.push(Part::Savepoint(inner, end(random, 50)));
            }
            // What SQL undoes is the store's own calls', too.
            2 if random.percent(30) => self.add_undone(random, depth, parts),
            2..=4 => parts.push(Part::Sql(self.sql(at, random))),
            // There and back again.
            5 => {
                let (row, other) = (self.row(at, random), self.kits[at].meta().row(random));
                parts.push(Part::Change(at, Change::Update(Rc::clone(&row), other)));
                parts.push(Part::Change(at, Change::Put(row)));
            }
            6 => {
                let row = self.row(at, random);
                parts.push(Part::Change(at, Change::Remove(Rc::clone(&row))));
                parts.push(Part::Change(at, Change::Insert(row)));
            }
            // Nothing.
            7 => parts.push(Part::Change(at, Change::Put(self.row(at, random)))),
            _ => parts.push(Part::Change(at, self.change(at, random))),
        }
    }

    /// Parts within a savepoint that SQL makes, and perhaps goes back to.
    fn add_undone(&self, random: &mut Random, depth: usize, parts: &mut Vec<Part>) {
        let sql = |sql: &[&str]| Part::Sql(sql.iter().map(|sql| ((*sql).to_owned(), Vec::new())).collect());
        parts.push(sql(&["savepoint outer"]));
        for _ in 0..=random.below(3) {
            let at = random.below(self.kits.len());
            parts.push(Part::Change(at, self.change(at, random)));
        }
        if depth < 3 && random.percent(30) {
            self.add_parts(random, depth + 1, parts);
        }
        let is_kept = random.percent(30);
        parts.push(sql(if is_kept { &["release outer"] } else { &["rollback to outer", "release outer"] }));
    }

    /// A record that is there, where there is one.
    fn row(&self, at: usize, random: &mut Random) -> Row {
        let table = &self.tables[at];
        if table.is_empty() { self.kits[at].meta().row(random) } else { Rc::clone(random.pick(table)) }
    }

    /// Another record with the key of one that is there, or with any.
    fn other(&self, at: usize, random: &mut Random) -> Row {
        let meta = self.kits[at].meta();
        let mut other = self.row(at, random).to_vec();
        if random.percent(40) {
            return meta.row(random);
        }
        if meta.keys == meta.columns.len() {
            return Rc::new(other);
        }
        for _ in 0..=random.below(2) {
            let column = meta.keys + random.below(meta.columns.len() - meta.keys);
            other[column] = meta.value(column, random);
        }
        Rc::new(other)
    }

    pub fn change(&self, at: usize, random: &mut Random) -> Change {
        let meta = self.kits[at].meta();
        let few =
            |random: &mut Random| (0..random.below(6)).map(|_| self.other(at, random)).collect::<Vec<_>>();
        match random.below(24) {
            0..=4 => Change::Insert(meta.row(random)),
            5..=8 => Change::Put(self.other(at, random)),
            9 | 10 => Change::Replace(self.other(at, random)),
            11..=14 => Change::Update(self.row(at, random), self.other(at, random)),
            15..=18 => Change::Remove(self.row(at, random)),
            19 => Change::InsertAll((0..random.below(5)).map(|_| meta.row(random)).collect()),
            20 => Change::PutAll(few(random)),
            21 => Change::ReplaceAll(few(random)),
            22 if random.percent(12) => Change::Clear,
            22 => Change::RemoveWhere(Ask::And(
                Ask::any(meta, 1, random).into(),
                Ask::any(meta, 1, random).into(),
            )),
            _ => Change::PutAll((0..random.below(12)).map(|_| meta.row(random)).collect()),
        }
    }

    /// Statements that go together.
    pub fn sql(&self, at: usize, random: &mut Random) -> Vec<Sql> {
        let meta = self.kits[at].meta();
        let row = self.row(at, random);
        let stored = |random: &mut Random| -> Vec<Value> {
            let mut values = meta.key(random);
            values.extend((meta.keys..meta.columns.len()).map(|column| meta.stored(column, random)));
            values
        };
        match random.below(14) {
            0 => vec![(insert(meta, "insert or replace", 1), stored(random))],
            1 => vec![(insert(meta, "insert or ignore", 1), stored(random))],
            2 if random.percent(15) => vec![(format!("delete from \"{}\"", meta.table), Vec::new())],
            2 | 3 => {
                vec![(format!("delete from \"{}\" where {}", meta.table, by_key(meta)), key(meta, &row))]
            }
            4 | 5 => self.update(at, random).into_iter().collect(),
            // Of many rows, which may fail in their midst.
            6 => {
                let rows: Vec<Value> = (0..4).flat_map(|_| stored(random)).collect();
                vec![(insert(meta, "insert", 4), rows)]
            }
            // The key moves.
            7 | 8 => {
                let set: Vec<String> = meta.columns[..meta.keys]
                    .iter()
                    .map(|column| format!("\"{}\" = ?", column.name))
                    .collect();
                let verb = *random.pick(&["update or ignore", "update or replace", "update"]);
                let sql = format!("{verb} \"{}\" set {} where {}", meta.table, set.join(", "), by_key(meta));
                let mut values = meta.key(random);
                values.extend(key(meta, &row));
                vec![(sql, values)]
            }
            9 | 10 => {
                let savepoint = |sql: &str| (sql.to_owned(), Vec::new());
                let mut statements = vec![savepoint("savepoint own")];
                statements.extend(self.sql(at, random));
                statements.extend(self.update(at, random));
                if random.percent(60) {
                    statements.push(savepoint("rollback to own"));
                }
                if random.percent(50) {
                    statements.extend(self.update(at, random));
                }
                statements.push(savepoint("release own"));
                statements
            }
            // Nothing changes.
            11 => {
                let column = meta.columns[random.below(meta.columns.len())].name;
                vec![(format!("update \"{}\" set \"{column}\" = \"{column}\"", meta.table), Vec::new())]
            }
            _ => self.update(at, random).into_iter().collect(),
        }
    }

    /// A column of some rows becomes something else.
    fn update(&self, at: usize, random: &mut Random) -> Option<Sql> {
        let meta = self.kits[at].meta();
        if meta.keys == meta.columns.len() {
            return None;
        }
        let column = meta.keys + random.below(meta.columns.len() - meta.keys);
        let mut values = vec![meta.stored(column, random)];
        let condition = if random.percent(50) {
            values.extend(key(meta, &self.row(at, random)));
            by_key(meta)
        } else {
            let other = random.below(meta.columns.len());
            values.push(meta.compared(other, random));
            format!("\"{}\" {} ?", meta.columns[other].name, *random.pick(&["=", "<", ">", "is not"]))
        };
        let name = meta.columns[column].name;
        Some((format!("update or ignore \"{}\" set \"{name}\" = ? where {condition}", meta.table), values))
    }
}

fn insert(meta: &Meta, verb: &str, rows: usize) -> String {
    let columns: Vec<String> = meta.columns.iter().map(|column| format!("\"{}\"", column.name)).collect();
    let row = format!("({})", vec!["?"; columns.len()].join(", "));
    format!("{verb} into \"{}\" ({}) values {}", meta.table, columns.join(", "), vec![row; rows].join(", "))
}

fn by_key(meta: &Meta) -> String {
    let columns: Vec<String> =
        meta.columns[..meta.keys].iter().map(|column| format!("\"{}\" = ?", column.name)).collect();
    columns.join(" and ")
}

fn key(meta: &Meta, row: &Row) -> Vec<Value> {
    row[..meta.keys].to_vec()
}

fn end(random: &mut Random, kept: usize) -> End {
    if random.percent(kept) {
        return End::Kept;
    }
    if random.percent(70) { End::Failed } else { End::Panicked }
}

/// Runs statements; one that fails is no end.
pub fn run_sql(connection: &Connection, statements: &[Sql]) {
    for (sql, values) in statements {
        let run = |sql: &str| -> rusqlite::Result<()> {
            let mut statement = connection.prepare(sql)?;
            let mut rows = statement.query(params_from_iter(values.iter().map(Value::to_sql)))?;
            while rows.next()?.is_some() {}
            Ok(())
        };
        drop(run(sql));
    }
}

/// Runs a transaction, to whichever end. Something else is done now and then while it is under way.
pub fn run(store: &Store, kits: &[Box<dyn Kit>], parts: &[Part], end: End, meanwhile: &mut dyn FnMut()) {
    let result = catch_unwind(AssertUnwindSafe(|| {
        store.write(|transaction| {
            all_parts(transaction, kits, parts, meanwhile)?;
            ends(end)
        })
    }));
    finish(result);
}

fn all_parts(
    transaction: &mut Transaction<'_>,
    kits: &[Box<dyn Kit>],
    parts: &[Part],
    meanwhile: &mut dyn FnMut(),
) -> Result<(), Error> {
    for part in parts {
        meanwhile();
        match part {
            // What fails leaves the transaction as it was, unless it has ended it.
            Part::Change(at, change) => drop(kits[*at].make(transaction, change)),
            Part::Sql(statements) => transaction.sql(|sql| {
                run_sql(sql, statements);
                Ok(())
            })?,
            Part::Savepoint(parts, end) => {
                finish(catch_unwind(AssertUnwindSafe(|| {
                    transaction.savepoint(|transaction| {
                        all_parts(transaction, kits, parts, meanwhile)?;
                        ends(*end)
                    })
                })));
            }
        }
    }
    meanwhile();
    Ok(())
}

fn ends(end: End) -> Result<(), Error> {
    match end {
        End::Kept => Ok(()),
        End::Failed => Err(Error::new(ErrorKind::Invalid, "on purpose")),
        End::Panicked => resume_unwind(Box::new(Deliberate)),
    }
}

fn finish(result: std::thread::Result<Result<(), Error>>) {
    if let Err(panic) = result
        && !panic.is::<Deliberate>()
    {
        resume_unwind(panic);
    }
}
