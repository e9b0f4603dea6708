//! One case: a store, what is written to it and by whom, and feeds with their subscriptions.

use super::ask::{Family, Target};
use super::change::{self, End, Part, Scene, Sql, run_sql};
use super::comers::{Starting, Wanted};
use super::kit::{Change, Kit, KitOf};
use super::record::{Child, Full, Mark, Meta, Numbered, Plain, Slim, Triple, Worded};
use super::station::{Station, same};
use super::value::{Domain, Random, Row, Value};
use super::{About, Tally};
use rusqlite::Connection;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use tempfile::TempDir;
use touchstone_store::{EncryptionKey, Feed, Mode, Options, Overflow, Store};

/// Subscriptions that there are about, and in worlds where few watch: so that types are watched anew.
const SUBSCRIPTIONS: usize = 34;
const SUBSCRIPTIONS_FEW: usize = 3;
/// How many subscribe at one time while others commit.
const COMERS: usize = 6;

pub struct World {
    random: Random,
    kits: Arc<Vec<Box<dyn Kit>>>,
    families: Vec<Vec<Family>>,
    /// The rows after the last commit, unless nobody has looked since.
    tables: Vec<Vec<Row>>,
    has_looked: bool,
    /// Some of the rows, for those who change the same ones meanwhile.
    few: Vec<Vec<Row>>,
    stations: Vec<Station>,
    /// The store, and sometimes another of the same file.
    stores: Vec<Store>,
    /// How many subscriptions there are, about.
    subscriptions: usize,
    /// The file as any other program has it open.
    plain: Option<Connection>,
    _directory: TempDir,
    pub about: About,
    pub tally: Tally,
    /// What was done in the round.
    pub done: Vec<Done>,
}

/// Who did what.
#[derive(Debug)]
#[expect(dead_code, reason = "it is shown where a case fails")]
pub enum Done {
    Transaction(usize, Vec<Part>, End),
    Alone(usize, Change),
    Sql(Vec<Sql>),
    Others(Vec<Sql>),
    Subscribed(Vec<Target>),
}

impl World {
    pub fn new(seed: u64) -> World {
        let mut random = Random(seed);
        let directory =
            tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).expect("there is room");
        let path = directory.path().join("oracle.db");
        let (exclusive, encrypted) = (random.percent(25), random.percent(8));
        let mut options = Options::new().exclusive(exclusive).busy_timeout(Duration::from_secs(20));
        if encrypted {
            options = options.key(EncryptionKey::raw([7; 32]));
        }
        let others = if random.percent(40) { 1 } else { 0 };
        let stores = (0..=others).map(|_| options.clone().open(&path).expect("the store opens")).collect();
        let plain = (!exclusive && !encrypted && random.percent(60))
            .then(|| Connection::open(&path).expect("the file opens"));
        let kits = Arc::new(kits(&mut random));
        let subscriptions = if random.percent(25) { SUBSCRIPTIONS_FEW } else { SUBSCRIPTIONS };
        let families =
            kits.iter().map(|kit| (0..2).map(|_| Family::any(kit.meta(), &mut random)).collect()).collect();
        let tables = kits.iter().map(|_| Vec::new()).collect();
        let mut world = World {
            random,
            kits,
            families,
            tables,
            has_looked: true,
            few: Vec::new(),
            stations: Vec::new(),
            stores,
            subscriptions,
            plain,
            _directory: directory,
            about: About { seed, round: 0 },
            tally: Tally::default(),
            done: Vec::new(),
        };
        world.prepare();
        world
    }

    /// Tables as others have made them, and the first rows.
    fn prepare(&mut self) {
        for at in 0..self.kits.len() {
            if self.random.percent(35) {
                let sql = self.foreign_table(at);
                self.sql(0, &[(sql, Vec::new())]);
            }
            let rows: Vec<Row> =
                (0..self.random.below(40)).map(|_| self.kits[at].meta().row(&mut self.random)).collect();
            for row in rows {
                let _taken = self.kits[at].make_alone(&self.stores[0], &Change::Insert(row));
            }
            if self.random.percent(12) {
                let rows = many_rows(self.kits[at].meta(), &mut self.random);
                let _taken = self.kits[at].make_alone(&self.stores[0], &Change::InsertAll(rows));
            }
        }
        self.look();
        for _ in 0..=self.random.below(4) {
            self.open_station();
        }
    }

    /// SQL through a store.
    fn sql(&self, store: usize, statements: &[Sql]) {
        let written = self.stores[store].write(|transaction| {
            transaction.sql(|sql| {
                run_sql(sql, statements);
                Ok(())
            })
        });
        drop(written);
    }

    /// A table of the type's that is not as the store makes it: another order of the columns, some of them missing, some
    /// more, other options, and references.
    fn foreign_table(&mut self, at: usize) -> String {
        let random = &mut self.random;
        let meta = self.kits[at].meta();
        let parent =
            self.kits.iter().map(|kit| kit.meta()).find(|meta| meta.table == "plain" || meta.table == "both");
        let mut columns = Vec::new();
        let is_number = meta.keys == 1 && meta.columns[0].domain == Domain::Integer;
        for (place, column) in meta.columns.iter().enumerate() {
            let kind = match column.domain {
                Domain::Integer | Domain::Bool => "INTEGER",
                Domain::Real => "REAL",
                Domain::Text => "TEXT",
                Domain::Bytes => "BLOB",
            };
            let is_optional = place >= meta.keys && (column.nullable || column.default.is_some());
            if is_optional && random.percent(15) {
                continue;
            }
            let mut definition = format!("\"{}\" {kind}", column.name);
            if place < meta.keys {
                definition += if is_number { " PRIMARY KEY" } else { " NOT NULL" };
            }
            if let (true, Some(parent)) = (column.name == "parent" && random.percent(70), parent) {
                let action = *random.pick(&["CASCADE", "SET NULL", "NO ACTION"]);
                let deferred = if random.percent(40) { " DEFERRABLE INITIALLY DEFERRED" } else { "" };
                definition += &format!(
                    " REFERENCES \"{}\" (id) ON DELETE {action} ON UPDATE {action}{deferred}",
                    parent.table
                );
            }
            columns.push(definition);
        }
        if random.percent(50) {
            columns.push("\"extra\" TEXT DEFAULT 'more'".to_owned());
        }
        for from in (1..columns.len()).rev() {
            columns.swap(from, random.below(from + 1));
        }
        if !is_number {
            let keys: Vec<String> =
                meta.columns[..meta.keys].iter().map(|key| format!("\"{}\"", key.name)).collect();
            columns.push(format!("PRIMARY KEY ({})", keys.join(", ")));
        }
        let strict = random.percent(50);
        let without = !is_number && random.percent(50);
        let ending = match (strict, without) {
            (true, true) => " STRICT, WITHOUT ROWID",
            (true, false) => " STRICT",
            (false, true) => " WITHOUT ROWID",
            (false, false) => "",
        };
        format!("create table \"{}\" ({}){ending}", meta.table, columns.join(", "))
    }

    fn open_station(&mut self) {
        let random = &mut self.random;
        let store = if random.percent(75) { 0 } else { random.below(self.stores.len()) };
        let lazy = random.percent(40);
        let batches = if lazy { 1 + random.below(5) } else { 1 + random.below(100) };
        let mode = match random.below(5) {
            0 | 1 => Mode::Latest,
            2 => Mode::Every { batches, overflow: Overflow::Resync },
            // As many as come before it is read once more.
            3 => Mode::Every { batches: batches + 4, overflow: Overflow::End },
            _ => Mode::Every { batches: batches + 4, overflow: Overflow::Block },
        };
        let feed = self.stores[store].feed_with(mode).expect("there is a thread more");
        self.stations.push(Station::new(store, Arc::new(feed), mode, lazy));
        let at = self.stations.len() - 1;
        let share = self.subscriptions / 3 + self.random.below(6);
        while self.stations[at].subscribed.len() < share && self.subscribed() < self.subscriptions {
            self.subscribe(at);
        }
    }

    fn subscribed(&self) -> usize {
        self.stations.iter().map(|station| station.subscribed.len()).sum()
    }

    /// Subscribes once, or to several at a time.
    fn subscribe(&mut self, station: usize) {
        let World { random, kits, families, tables, tally, done, .. } = self;
        let scene = Scene { kits, tables };
        let (targets, about) = (&mut self.stations[station], self.about);
        done.extend(subscribe(random, &scene, families, targets, tally, about));
    }

    /// Looks at the tables anew; which of them have changed.
    fn look(&mut self) -> Vec<bool> {
        let about = self.about;
        let (kits, tables) = (&self.kits, &mut self.tables);
        let read = self.stores[0].read(|snapshot| kits.iter().map(|kit| kit.read(snapshot)).collect());
        let now: Vec<Vec<Row>> = read.unwrap_or_else(|error| panic!("{about}: {error:?}"));
        let changed = now.into_iter().zip(tables).map(|(mut now, before)| {
            let is_changed = !same(&now, before);
            if is_changed {
                share(&mut now, before);
                *before = now;
            }
            is_changed
        });
        changed.collect()
    }

    /// What was committed, all that must be told of it, and whether it was.
    fn settle(&mut self) {
        self.deliver();
        self.note_commit();
    }

    /// What is so now, and what must be told of it.
    fn note_commit(&mut self) {
        let changed = self.look();
        self.has_looked = true;
        for station in &mut self.stations {
            station.commit(&self.kits, &self.tables, &changed, &mut self.tally);
        }
    }

    fn deliver(&self) {
        for store in &self.stores {
            store.wait_delivered().expect("the thread is well");
        }
    }

    pub fn round(&mut self) {
        self.about.round += 1;
        self.done.clear();
        match self.random.below(100) {
            0..=11 => self.burst(),
            12..=17 => {
                self.others();
                self.settle();
            }
            18..=21 => {
                self.schema();
                self.settle();
            }
            22..=36 => {
                let at = self.random.below(self.kits.len());
                let scene = Scene { kits: &self.kits, tables: &self.tables };
                let change = scene.change(at, &mut self.random);
                let _refused = self.kits[at].make_alone(&self.stores[0], &change);
                self.done.push(Done::Alone(at, change));
                self.settle();
            }
            _ => {
                self.transaction(0);
                self.settle();
            }
        }
        self.read();
        if self.random.percent(6) {
            self.ask();
        }
        if self.random.percent(25) {
            self.come_and_go();
        }
    }

    fn transaction(&mut self, store: usize) {
        let World { random, kits, families, tables, few, stations, tally, done, about, .. } = self;
        let scene = Scene { kits, tables: if self.has_looked { tables } else { few } };
        let (parts, end) = scene.transaction(random);
        // Who begins is compared with what is there.
        let chance = if random.percent(12) && self.has_looked { 20 } else { 0 };
        let mut random = Random(random.next());
        let mut began = Vec::new();
        change::run(&self.stores[store], kits, &parts, end, &mut || {
            if !random.percent(chance) {
                return;
            }
            // What is not committed yet nobody begins with.
            let station = random.below(stations.len());
            let station = &mut stations[station];
            if random.percent(40) && !station.subscribed.is_empty() {
                station.cancel(random.below(station.subscribed.len()));
            } else {
                began.extend(subscribe(&mut random, &scene, families, station, tally, *about));
            }
        });
        done.push(Done::Transaction(store, parts, end));
        done.append(&mut began);
    }

    /// A commit that the first store has not made.
    fn others(&mut self) {
        if self.stores.len() > 1 && self.random.percent(50) {
            return self.transaction(1);
        }
        let Some(plain) = &self.plain else { return self.transaction(0) };
        let tables = if self.has_looked { &self.tables } else { &self.few };
        let scene = Scene { kits: &self.kits, tables };
        let random = &mut self.random;
        let mut statements = vec![("begin immediate".to_owned(), Vec::new())];
        for _ in 0..=random.below(3) {
            statements.extend(scene.sql(random.below(scene.kits.len()), random));
        }
        statements.push((if random.percent(85) { "commit" } else { "rollback" }.to_owned(), Vec::new()));
        if random.percent(4) {
            let own = *random.pick(&[
                "vacuum",
                "pragma wal_checkpoint(truncate)",
                "pragma wal_checkpoint(restart)",
            ]);
            statements.push((own.to_owned(), Vec::new()));
        }
        run_sql(plain, &statements);
        if !plain.is_autocommit() {
            run_sql(plain, &[("rollback".to_owned(), Vec::new())]);
        }
        self.done.push(Done::Others(statements));
    }

    /// Several transactions that nobody waits for.
    fn burst(&mut self) {
        self.read_all();
        // One right after the other, of the same few rows: so the store may find several that others have committed.
        let is_rapid = self.random.percent(50);
        let chance_of_others = if is_rapid { *self.random.pick(&[0, 66]) } else { 15 };
        let (mut has_others, count) = (is_rapid, if is_rapid { 4 } else { 1 + self.random.below(4) });
        if is_rapid {
            self.choose_few();
        }
        let comers = (is_rapid && self.random.percent(70)).then(|| self.let_come());
        for _ in 0..count {
            if self.random.percent(chance_of_others) {
                has_others = true;
                self.others();
            } else {
                self.transaction(0);
            }
            if is_rapid {
                continue;
            }
            self.note_commit();
            // Who comes just now begins with all of it.
            if self.random.percent(30) {
                let station = self.random.below(self.stations.len());
                self.subscribe(station);
            }
        }
        if is_rapid {
            self.note_commit();
        }
        self.deliver();
        for station in &mut self.stations {
            let may_merge = has_others || station.store != 0;
            station.read_burst(&self.kits, may_merge, &mut self.tally, self.about);
        }
        if let Some((store, feed, comers)) = comers {
            self.see_comers(store, feed, comers);
        }
        self.replace_ended();
    }

    /// Chooses two rows of each table, and looks at no others until it is settled what has become of them.
    fn choose_few(&mut self) {
        let World { random, tables, .. } = self;
        let two = |rows: &Vec<Row>| -> Vec<Row> {
            let some = 0..if rows.is_empty() { 0 } else { 2 };
            some.map(|_| Rc::clone(random.pick(rows))).collect()
        };
        self.few = tables.iter().map(two).collect();
        self.has_looked = false;
    }

    /// Lets some subscribe while the transactions are under way.
    fn let_come(&mut self) -> (usize, Arc<Feed>, Starting) {
        let store = self.random.below(self.stores.len());
        let feed = Arc::new(self.stores[store].feed().expect("there is a thread more"));
        let World { random, kits, families, .. } = self;
        let mut wanted = || -> Vec<Wanted> {
            let targets = (0..=random.below(4)).map(|_| {
                let at = random.below(kits.len());
                (at, Target::any(kits[at].meta(), &families[at], random))
            });
            targets.collect()
        };
        let wanted: Vec<Vec<Wanted>> = (0..COMERS).map(|_| wanted()).collect();
        let targets = wanted.iter().flatten().map(|(_, target)| target.clone()).collect();
        self.done.push(Done::Subscribed(targets));
        (store, Arc::clone(&feed), Starting::come(&self.kits, &feed, wanted))
    }

    /// Whatever they began with, they have been told of what came then.
    fn see_comers(&mut self, store: usize, feed: Arc<Feed>, comers: Starting) {
        let subscribed = comers.subscribed();
        self.deliver();
        let mut station = Station::new(store, feed, Mode::Latest, false);
        self.tally.checks += subscribed.len() as u64;
        for ((at, target), watch) in subscribed {
            station.add_comer(&*self.kits[at], at, target, watch, &self.tables[at]);
        }
        station.read_burst(&self.kits, true, &mut self.tally, self.about);
    }

    /// The schema changes.
    fn schema(&mut self) {
        let random = &mut self.random;
        let at = random.below(self.kits.len());
        let (meta, other) = (self.kits[at].meta(), self.kits[random.below(self.kits.len())].meta());
        let table = meta.table;
        let column = &meta.columns[random.below(meta.columns.len())];
        let is_others = random.percent(40);
        let sql = match random.below(11) {
            0 => format!("alter table \"{table}\" add column more_{} TEXT", self.about.round),
            1 => format!("alter table \"{table}\" drop column \"extra\""),
            2 if column.nullable || column.default.is_some() => {
                format!("alter table \"{table}\" drop column \"{}\"", column.name)
            }
            2 | 3 => {
                format!("create index if not exists own_{table} on \"{table}\" (\"{}\" desc)", column.name)
            }
            4 => format!("drop index if exists own_{table}"),
            5 => format!("drop table \"{table}\""),
            6 => "drop trigger if exists own".to_owned(),
            // One that only its connection has is in no schema that others see.
            7 if !is_others => trigger(meta, other, random).replacen("trigger", "temp trigger", 1),
            _ => trigger(meta, other, random),
        };
        let statements = [(sql, Vec::new())];
        match &self.plain {
            Some(plain) if is_others => run_sql(plain, &statements),
            _ => self.sql(if is_others { self.stores.len() - 1 } else { 0 }, &statements),
        }
        self.done.push(Done::Sql(statements.to_vec()));
    }

    /// Feeds are read, those that are lazy now and then.
    fn read(&mut self) {
        for station in &mut self.stations {
            // A full feed would keep its writers waiting.
            let fill = match station.mode {
                Mode::Every { batches, overflow: Overflow::Block } => station.pending() >= batches,
                _ => false,
            };
            if !station.lazy || fill || self.random.percent(25) {
                station.read(&self.kits, &mut self.tally, self.about);
            }
        }
        self.replace_ended();
    }

    fn replace_ended(&mut self) {
        for at in (0..self.stations.len()).rev() {
            if self.stations[at].has_overflowed() {
                let mut station = self.stations.swap_remove(at);
                station.read(&self.kits, &mut self.tally, self.about);
                self.open_station();
            }
        }
    }

    pub fn read_all(&mut self) {
        for station in &mut self.stations {
            station.read(&self.kits, &mut self.tally, self.about);
        }
        self.replace_ended();
    }

    /// The store's own answers, and SQLite's to SQL that the test has written.
    fn ask(&mut self) {
        let about = self.about;
        for station in &self.stations {
            for subscribed in &station.subscribed {
                let kit = &*self.kits[subscribed.kit];
                let (Target::Query(question) | Target::Count(question)) = &subscribed.target else {
                    continue;
                };
                if subscribed.target.is_loose() || !self.random.percent(40) {
                    continue;
                }
                let expected = subscribed.target.answer(kit.meta(), &self.tables[subscribed.kit]);
                let compared = self.stores[station.store].read(|snapshot| {
                    assert_eq!(
                        kit.count(snapshot, question)?,
                        expected.len() as u64,
                        "{about}: {question:?}"
                    );
                    if question.orders.is_empty() {
                        return Ok(());
                    }
                    let found = kit.ask(snapshot, question)?;
                    assert!(
                        same(&found, &expected),
                        "{about}: {question:?}\n  found: {found:?}\n  expected: {expected:?}"
                    );
                    let (sql, values) = question.render(kit.meta());
                    let found = snapshot.sql(|sqlite| {
                        let mut statement = sqlite.prepare(&sql)?;
                        let rows = statement.query_map(rusqlite::params_from_iter(values), |row| {
                            let values = (0..kit.meta().columns.len()).map(|at| Ok(value(row.get_ref(at)?)));
                            Ok(Rc::new(values.collect::<rusqlite::Result<Vec<Value>>>()?))
                        })?;
                        rows.collect::<rusqlite::Result<Vec<Row>>>()
                    });
                    // A table, or a column, may not be there.
                    if let Ok(found) = found {
                        assert!(
                            same(&found, &expected),
                            "{about}: {sql}\n  found: {found:?}\n  expected: {expected:?}"
                        );
                    }
                    Ok(())
                });
                compared.unwrap_or_else(|error| panic!("{about}: {error:?}"));
                self.tally.asked += 1;
            }
        }
    }

    /// Subscriptions and feeds begin and end.
    fn come_and_go(&mut self) {
        if self.random.percent(4) {
            let at = self.random.below(self.stations.len());
            drop(self.stations.swap_remove(at));
            self.open_station();
        }
        for _ in 0..self.random.below(4) {
            let at = self.random.below(self.stations.len());
            let station = &mut self.stations[at];
            if !station.subscribed.is_empty() {
                let which = self.random.below(station.subscribed.len());
                station.cancel(which);
            }
        }
        if self.random.percent(4) {
            self.crowd();
        }
        for _ in 0..8 {
            if self.subscribed() >= self.subscriptions {
                break;
            }
            let at = self.random.below(self.stations.len());
            self.subscribe(at);
        }
    }

    /// Subscribes to one more query of the family, unless it is one whose answer is not known.
    fn subscribe_to(&mut self, station: usize, at: usize, family: &Family) {
        let kit = &*self.kits[at];
        let target = Target::Query(family.question(kit.meta(), &mut self.random));
        let station = &mut self.stations[station];
        if station.lazy && target.is_loose() {
            return;
        }
        let about = self.about;
        let watch = kit.watch(&station.feed, &target).unwrap_or_else(|error| panic!("{about}: {error:?}"));
        station.add(kit, at, target, watch, &self.tables[at], about);
        self.tally.checks += 1;
    }

    /// Many come and go again: what only they watched is let go of.
    fn crowd(&mut self) {
        let at = self.random.below(self.stations.len());
        let before = self.stations[at].subscribed.len();
        let is_one_family = self.random.percent(50);
        let kit = self.random.below(self.kits.len());
        let family = self.random.pick(&self.families[kit]).clone();
        for _ in 0..200 {
            if is_one_family {
                self.subscribe_to(at, kit, &family);
            } else {
                self.subscribe(at);
            }
        }
        while self.stations[at].subscribed.len() > before {
            let last = self.random.below(self.stations[at].subscribed.len() - before) + before;
            self.stations[at].cancel(last);
        }
    }
}

/// Rows of more keys than are drawn otherwise, where a key is a number.
fn many_rows(meta: &Meta, random: &mut Random) -> Vec<Row> {
    if meta.keys > 1 || meta.columns[0].domain != Domain::Integer {
        return Vec::new();
    }
    let rows = (100..100 + 300).map(|key| {
        let mut row = meta.row(random).to_vec();
        row[0] = Value::Integer(key);
        for (value, column) in row.iter_mut().zip(&meta.columns) {
            if column.is_unique {
                *value = Value::Null;
            }
        }
        Rc::new(row)
    });
    rows.collect()
}

/// Subscribes once, or to several at a time; what there was to subscribe to.
fn subscribe(
    random: &mut Random,
    scene: &Scene<'_>,
    families: &[Vec<Family>],
    station: &mut Station,
    tally: &mut Tally,
    about: About,
) -> Option<Done> {
    let at = random.below(scene.kits.len());
    let kit = &*scene.kits[at];
    let known = station.subscribed.iter().rfind(|subscribed| subscribed.kit == at);
    let target = match known {
        // The same again.
        Some(known) if random.percent(12) => known.target.clone(),
        _ => Target::any(kit.meta(), &families[at], random),
    };
    let lazy = station.lazy;
    let is_wanted = |target: &Target| !(lazy && target.is_loose());
    if !is_wanted(&target) {
        return None;
    }
    let mut targets = vec![target];
    if random.percent(15) {
        targets.extend((0..random.below(6)).map(|_| Target::any(kit.meta(), &families[at], random)));
        targets.retain(|target| matches!(target, Target::Query(_)) && is_wanted(target));
    }
    let questions: Vec<_> = targets
        .iter()
        .filter_map(|target| if let Target::Query(question) = target { Some(question) } else { None })
        .collect();
    let watches = if targets.len() > 1 {
        kit.watch_all(&station.feed, &questions)
    } else {
        targets.iter().map(|target| kit.watch(&station.feed, target)).collect()
    };
    let watches = watches.unwrap_or_else(|error| panic!("{about}: {error:?}: {targets:?}"));
    tally.checks += targets.len() as u64;
    for (target, watch) in targets.iter().zip(watches) {
        station.add(kit, at, target.clone(), watch, &scene.tables[at], about);
    }
    Some(Done::Subscribed(targets))
}

/// Rows that stayed as they were are the same rows.
fn share(now: &mut [Row], before: &[Row]) {
    let mut from = before.iter().peekable();
    for row in now {
        // Both are in order; what is left out here is only compared value by value.
        while let Some(old) = from.peek() {
            if *old == row {
                *row = Rc::clone(old);
                from.next();
                break;
            }
            if super::value::by_key(1, old, row).is_lt() {
                from.next();
            } else {
                break;
            }
        }
    }
}

fn value(raw: rusqlite::types::ValueRef<'_>) -> Value {
    use rusqlite::types::ValueRef;
    match raw {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(value) => Value::Integer(value),
        ValueRef::Real(value) => Value::Real(value),
        ValueRef::Text(text) => Value::Text(String::from_utf8(text.to_vec()).expect("it is text")),
        ValueRef::Blob(bytes) => Value::Bytes(bytes.to_vec()),
    }
}

/// Some of the types; those that share a table always both.
fn kits(random: &mut Random) -> Vec<Box<dyn Kit>> {
    let mut kits: Vec<Box<dyn Kit>> = Vec::new();
    if random.percent(50) {
        kits.push(KitOf::<Plain>::boxed());
    }
    if random.percent(40) || kits.is_empty() {
        kits.push(KitOf::<Full>::boxed());
        kits.push(KitOf::<Slim>::boxed());
    }
    let more: [fn() -> Box<dyn Kit>; 5] = [
        KitOf::<Worded>::boxed,
        KitOf::<Triple>::boxed,
        KitOf::<Numbered>::boxed,
        KitOf::<Child>::boxed,
        KitOf::<Mark>::boxed,
    ];
    for boxed in more {
        if random.percent(30) && kits.len() < 4 {
            kits.push(boxed());
        }
    }
    kits
}

/// A trigger on one table that changes another.
fn trigger(meta: &Meta, other: &Meta, random: &mut Random) -> String {
    let event = *random.pick(&["insert", "update", "delete"]);
    let when = *random.pick(&["after", "before"]);
    let key = &other.columns[0].name;
    let bound = literal(&other.stored(0, random));
    let action = if other.keys == other.columns.len() || random.percent(40) {
        format!("delete from \"{}\" where \"{key}\" = {bound}", other.table)
    } else {
        let at = other.keys + random.below(other.columns.len() - other.keys);
        let value = literal(&other.stored(at, random));
        format!(
            "update or ignore \"{}\" set \"{}\" = {value} where \"{key}\" < {bound}",
            other.table, other.columns[at].name
        )
    };
    format!("create trigger own {when} {event} on \"{}\" begin {action}; end", meta.table)
}

fn literal(value: &Value) -> String {
    let hexadecimal = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    match value {
        Value::Null => "null".to_owned(),
        Value::Integer(value) => value.to_string(),
        Value::Real(value) if value.is_infinite() => if *value > 0.0 { "9e999" } else { "-9e999" }.to_owned(),
        Value::Real(value) => format!("{value:?}"),
        Value::Text(text) => format!("cast(x'{}' as text)", hexadecimal(text.as_bytes())),
        Value::Bytes(bytes) => format!("x'{}'", hexadecimal(bytes)),
    }
}
