//! A damaged file, read page by page. Every page belongs to one tree: a page that is reached twice, or is free, is
//! skipped. The row numbers of a table ascend, within the bounds of the pages above: any other row is skipped.

use super::row::values;
use super::{SalvageReport, SalvagedTable};
use crate::engine::cipher;
use crate::engine::connection::{Connection, Header};
use crate::engine::new_file::companion;
use crate::engine::noise;
use crate::engine::page::{Geometry, Page, PageKind, Row, u32_at};
use crate::session::opening::key_error;
use crate::types::error::{Error, ErrorKind, Result};
use crate::types::options::Options;
use crate::types::value::Raw;
use libsqlite3_sys as ffi;
use std::fs;
use std::io::Read as _;
use std::path::Path;

/// More levels than any tree of a file of 2^32 pages.
const DEPTH_MAX: usize = 40;

/// A damaged file. Its connection reads past SQLite's page cache, which would refuse inconsistent pages.
pub(crate) struct Damaged {
    connection: Connection,
    page_bytes: usize,
    pages: u32,
    geometry: Geometry,
    header: Header,
    /// Pages that belong to a tree, a chain or the list of free pages.
    taken: Vec<bool>,
    /// Whether the list of free pages is whole: else some free pages may look like pages of a table.
    pub(crate) knows_free: bool,
    log_is_lost: bool,
    is_encrypted: bool,
}

/// An object of the file's schema: a table, index, view or trigger.
pub(crate) struct Item {
    pub(crate) kind: String,
    pub(crate) name: String,
    pub(crate) root: u32,
    pub(crate) sql: String,
}

/// The row numbers that a page may have: more than the first, up to the second.
type Bounds = (Option<i64>, Option<i64>);

/// Called with each readable row: its number and its values.
pub(crate) type Visit<'v> = dyn FnMut(i64, &[Raw<'_>], &mut SalvagedTable) -> Result<()> + 'v;

impl Damaged {
    pub(crate) fn open(path: &Path, options: &Options) -> Result<Damaged> {
        let connection = Connection::open(path, options)?;
        let log_is_lost = connection.empty_log(path);
        let readable = connection.first_page_is_readable();
        let page_bytes = match readable {
            Ok(()) => usize::try_from(connection.page_bytes()).unwrap_or(4096),
            Err(error) if options.key.is_some() || !looks_plain(path, options) => {
                return Err(key_error(error, path, options));
            }
            // Without a key the page is plain bytes, and its tree may be whole although its header is not.
            Err(_) => page_bytes_of(path, options),
        };
        let file_bytes = fs::metadata(path).map_err(|error| Error::io(&error, "looking at", path))?.len();
        let mut damaged = Damaged {
            connection,
            page_bytes,
            pages: u32::try_from(file_bytes.div_ceil(page_bytes as u64)).unwrap_or(u32::MAX),
            geometry: Geometry::new(page_bytes)
                .ok_or_else(|| Error::new(ErrorKind::Damaged, NOTHING_KNOWN))?,
            header: Header { application: 0, version: 0, is_empty: true, is_utf_8: true },
            taken: Vec::new(),
            knows_free: false,
            log_is_lost,
            is_encrypted: options.key.is_some(),
        };
        let first = damaged.page(1).ok_or_else(|| Error::new(ErrorKind::Damaged, NOTHING_KNOWN))?;
        damaged.geometry = Geometry::of(&first).unwrap_or(damaged.geometry);
        damaged.header = Header::of(&first).unwrap_or(damaged.header);
        damaged.taken = vec![false; damaged.pages as usize + 1];
        damaged.take_free_pages(&first);
        Ok(damaged)
    }

    pub(crate) fn header(&self) -> Header {
        self.header
    }

    pub(crate) fn page_bytes(&self) -> usize {
        self.page_bytes
    }

    pub(crate) fn log_is_lost(&self) -> bool {
        self.log_is_lost
    }

    /// The numbers of the file's pages.
    pub(crate) fn numbers(&self) -> std::ops::RangeInclusive<u32> {
        1..=self.pages
    }

    pub(crate) fn is_taken(&self, number: u32) -> bool {
        self.taken.get(number as usize).copied().unwrap_or(true)
    }

    /// The objects of the file's schema, in its order.
    pub(crate) fn schema(&mut self, report: &mut SalvageReport) -> Result<Vec<Item>> {
        let mut items = Vec::new();
        let mut schema = SalvagedTable { name: "sqlite_schema".to_owned(), ..SalvagedTable::default() };
        self.walk(1, true, &mut schema, &mut |_, row, schema| {
            match item(row) {
                Some(item) => items.push(item),
                None => schema.rows_lost += 1,
            }
            Ok(())
        })?;
        if items.is_empty() && (schema.rows_lost, schema.pages_lost) != (0, 0) {
            return Err(Error::new(ErrorKind::Damaged, NOTHING_KNOWN));
        }
        if (schema.rows_lost, schema.pages_lost) != (0, 0) {
            report.tables.push(schema);
        }
        Ok(items)
    }

    /// Gives the readable rows of a tree to `visit`, and counts unreadable rows and pages.
    pub(crate) fn walk(
        &mut self,
        root: u32,
        numbered: bool,
        table: &mut SalvagedTable,
        visit: &mut Visit<'_>,
    ) -> Result<()> {
        self.descend(root, numbered, (None, None), 0, table, visit)
    }

    fn descend(
        &mut self,
        number: u32,
        numbered: bool,
        bounds: Bounds,
        depth: usize,
        table: &mut SalvagedTable,
        visit: &mut Visit<'_>,
    ) -> Result<()> {
        let bytes = if depth < DEPTH_MAX { self.take(number) } else { None };
        let page = bytes.as_deref().and_then(|bytes| Page::new(bytes, number, self.geometry));
        let Some(page) = page.filter(|page| page.kind().is_numbered() == numbered) else {
            table.pages_lost += 1;
            return Ok(());
        };
        match page.kind() {
            PageKind::TableLeaf | PageKind::IndexLeaf => self.leaf(page, bounds, table, visit),
            PageKind::TableInner | PageKind::IndexInner => {
                let mut low = bounds.0;
                for at in 0..=page.len() {
                    let high = if at < page.len() { page.bound(at) } else { bounds.1 };
                    match page.child(at) {
                        Some(child) => self.descend(child, numbered, (low, high), depth + 1, table, visit)?,
                        None => table.pages_lost += 1,
                    }
                    if !numbered && at < page.len() {
                        self.row(page.row(at), table, visit)?;
                    }
                    low = high.or(low);
                }
                Ok(())
            }
        }
    }

    /// Gives the readable rows of a leaf.
    pub(crate) fn leaf(
        &mut self,
        page: Page<'_>,
        (mut low, high): Bounds,
        table: &mut SalvagedTable,
        visit: &mut Visit<'_>,
    ) -> Result<()> {
        for at in 0..page.len() {
            let row = page.row(at).filter(|row| {
                page.kind() != PageKind::TableLeaf
                    || (low.is_none_or(|low| row.number > low) && high.is_none_or(|high| row.number <= high))
            });
            if page.kind() == PageKind::TableLeaf {
                low = row.map(|row| row.number).or(low);
            }
            self.row(row, table, visit)?;
        }
        Ok(())
    }

    fn row(&mut self, row: Option<Row<'_>>, table: &mut SalvagedTable, visit: &mut Visit<'_>) -> Result<()> {
        let payload = row.and_then(|row| Some((row.number, self.gather(row)?)));
        let Some((number, (payload, is_doubtful))) = &payload else {
            table.rows_lost += 1;
            return Ok(());
        };
        let Some(values) = values(payload) else {
            table.rows_lost += 1;
            return Ok(());
        };
        let saved = table.rows;
        visit(*number, &values, table)?;
        table.rows_doubtful += u64::from(*is_doubtful && table.rows > saved);
        Ok(())
    }

    /// The whole payload of a row, and whether its end is doubtful.
    fn gather(&mut self, row: Row<'_>) -> Option<(Vec<u8>, bool)> {
        let mut payload = row.local.to_vec();
        let (mut next, mut is_doubtful) = (row.overflow, false);
        while payload.len() < row.length {
            let page = self.take(next)?;
            let part = (row.length - payload.len()).min(self.geometry.usable - 4);
            // A page of zeros may be the end of a chain. A lost page reads as zeros too, but not in an encrypted file.
            is_doubtful = payload.last().is_some_and(|last| *last != 0) && page.iter().all(|byte| *byte == 0);
            payload.extend_from_slice(page.get(4..4 + part)?);
            next = u32_at(&page, 0)?;
        }
        // The chain ends with the row.
        (next == 0).then_some((payload, is_doubtful && !self.is_encrypted))
    }

    /// A page that belongs to nothing yet.
    fn take(&mut self, number: u32) -> Option<Vec<u8>> {
        let taken = self.taken.get_mut(number as usize).filter(|_| number != 0)?;
        if std::mem::replace(taken, true) { None } else { self.page(number) }
    }

    /// A page, decrypted; none if it cannot be read whole.
    pub(crate) fn page(&self, number: u32) -> Option<Vec<u8>> {
        let mut bytes = vec![0; self.page_bytes];
        let offset = i64::from(number - 1) * i64::try_from(self.page_bytes).ok()?;
        let code = cipher::read_file(self.connection.sql(), &mut bytes, offset);
        (code == ffi::SQLITE_OK).then_some(bytes)
    }

    pub(crate) fn geometry(&self) -> Geometry {
        self.geometry
    }

    /// Takes the pages of the list of free pages, if it is whole: it has the length that the header says, and no page
    /// twice.
    fn take_free_pages(&mut self, first: &[u8]) {
        let (Some(mut trunk), Some(count)) = (u32_at(first, 32), u32_at(first, 36)) else { return };
        // A circular list is followed only until it is longer than the header says.
        if count > self.pages {
            return;
        }
        let mut free = Vec::new();
        while trunk != 0 && free.len() <= count as usize {
            let Some(page) = (trunk <= self.pages).then(|| self.page(trunk)).flatten() else { return };
            let leaves = u32_at(&page, 4).map_or(usize::MAX, |leaves| leaves as usize);
            if leaves > page.len() / 4 - 2 {
                return;
            }
            free.push(trunk);
            free.extend((0..leaves).filter_map(|at| u32_at(&page, 8 + 4 * at)));
            trunk = u32_at(&page, 0).unwrap_or(0);
        }
        let is_whole =
            free.len() == count as usize && free.iter().all(|page| (2..=self.pages).contains(page));
        let mut sorted = free.clone();
        sorted.sort_unstable();
        sorted.dedup();
        if is_whole && sorted.len() == free.len() {
            free.iter().for_each(|page| self.taken[*page as usize] = true);
            self.knows_free = true;
        }
    }
}

const NOTHING_KNOWN: &str = "the first page cannot be read, and it alone knows the tables (restore a backup)";

impl Connection {
    /// Copies the log into the file and empties it (a checkpoint); returns whether this failed.
    fn empty_log(&self, path: &Path) -> bool {
        // Without this, SQLite refuses a file that is shorter than its header says.
        let _ = self.sql().execute_batch("pragma writable_schema = on");
        let _ = self.sql().execute_batch("begin; select 1 from sqlite_schema; commit");
        self.end();
        let emptied = self.checkpoint(ffi::SQLITE_CHECKPOINT_TRUNCATE).is_ok();
        let left = fs::metadata(companion(path, "-wal")).map_or(0, |log| log.len());
        !emptied && left > 0
    }

    /// Whether SQLite can read the first page.
    fn first_page_is_readable(&self) -> Result<()> {
        self.sql().query_row("pragma schema_version", (), |_| Ok(())).map_err(Error::from)
    }
}

/// Whether the first page has a plain tree, even if the header before it is damaged. In one of a hundred encrypted
/// files the byte at the tree's start looks plain by chance, but the bytes around it are noise.
fn looks_plain(path: &Path, options: &Options) -> bool {
    let start = start_of(path);
    cipher::is_plain(path, options)
        || (matches!(start.get(100), Some(0x05 | 0x0d)) && !noise::is_noise(&start))
}

/// The page size in the header, if it is valid there.
fn page_bytes_of(path: &Path, options: &Options) -> usize {
    let start = start_of(path);
    match start.get(16..18).map(|told| u16::from_be_bytes([told[0], told[1]])) {
        Some(1) => 65_536,
        Some(bytes) if bytes >= 512 && bytes.is_power_of_two() => usize::from(bytes),
        _ => options.page_size.unwrap_or(4096) as usize,
    }
}

/// The first bytes of a file.
fn start_of(path: &Path) -> Vec<u8> {
    let mut start = Vec::new();
    // An unreadable file gives no bytes: its opening has reported why.
    let _ = fs::File::open(path).and_then(|file| file.take(noise::BYTES_MAX as u64).read_to_end(&mut start));
    start
}

/// The schema's object that a row describes.
fn item(row: &[Raw<'_>]) -> Option<Item> {
    let text = |at: usize| match row.get(at) {
        Some(Raw::Text(bytes)) => String::from_utf8(bytes.to_vec()).ok(),
        _ => None,
    };
    let root = match row.get(3)? {
        Raw::Integer(root) => u32::try_from(*root).ok()?,
        _ => 0,
    };
    // Objects that SQLite makes by itself, such as the index of a key, have no SQL.
    Some(Item { kind: text(0)?, name: text(1)?, root, sql: text(4).unwrap_or_default() })
}
