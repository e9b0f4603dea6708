//! The reader as a driver: a get pins its record's page in the pool, and copies the record out.

use crate::file::PageFile;
use crate::page::Page;
use crate::policy::{Found, Policy, Pool};
use std::collections::BTreeMap;
use std::process::ExitCode;
use std::sync::Arc;
use touchstone_kit::{
    About, Driver, Failure, FailureKind, Kit, Open, Plan, Row, Setting, Settings, Store, Verb, failure,
};

/// Speaks with the lab as that subject, until it says goodbye.
pub fn main(subject: &str) -> ExitCode {
    main_of::<Reader>(subject)
}

/// The same, with another driver of rows in pages.
pub fn main_of<D: Store<Row>>(subject: &str) -> ExitCode {
    let about = About {
        subject: subject.into(),
        version: env!("CARGO_PKG_VERSION").into(),
        engine: "pages of a file".into(),
        engine_source: String::new(),
        compile_options: Vec::new(),
    };
    Kit::<D>::new(about).rows().main()
}

const PAGE_BYTES: i64 = 4096;
/// The least and the most bytes of a page.
const PAGE_BYTES_RANGE: std::ops::RangeInclusive<i64> = 512..=65_536;
const POOL_PAGES: i64 = 128;

/// What handles of one process share.
struct Shared {
    file: PageFile,
    pool: Box<dyn Pool>,
    policy: Policy,
    pool_pages: usize,
}

/// A handle on a file of pages.
pub struct Reader {
    shared: Arc<Shared>,
    hits: u64,
    misses: u64,
}

impl Reader {
    fn of(shared: Arc<Shared>) -> Reader {
        Reader { shared, hits: 0, misses: 0 }
    }
}

impl Driver for Reader {
    type Error = Failure;

    fn open(open: &Open) -> Result<Reader, Failure> {
        open.key_alone_is_indexed()?;
        let policy = open.word("policy", &Policy::NAMES)?.and_then(Policy::named).unwrap_or(Policy::Lru);
        let page_bytes = page_bytes(open)?;
        let pool_pages = pool_pages(open.number("pool_pages")?.unwrap_or(POOL_PAGES), page_bytes)?;
        let file = PageFile::open(&open.directory, page_bytes, open.schema.create)?;
        let pool = policy.pool(pool_pages);
        Ok(Reader::of(Arc::new(Shared { file, pool, policy, pool_pages })))
    }

    fn another(&self, _open: &Open) -> Result<Reader, Failure> {
        Ok(Reader::of(Arc::clone(&self.shared)))
    }

    fn settings(&mut self) -> Result<Settings, Failure> {
        let number = |number: usize| Setting::Number(number as i64);
        Ok(Settings::from([
            ("policy".into(), Setting::from(Policy::NAMES[self.shared.policy as usize])),
            ("pool_pages".into(), number(self.shared.pool_pages)),
            ("page_size_bytes".into(), number(self.shared.file.page_bytes())),
        ]))
    }

    fn explain(&mut self) -> Result<(), Failure> {
        (self.hits, self.misses) = (0, 0);
        Ok(())
    }

    fn explained(&mut self) -> Result<Plan, Failure> {
        let counters = [("cache_hits", self.hits), ("cache_misses", self.misses)];
        let counters = counters.map(|(name, count)| (name.to_owned(), count as i64));
        Ok(Plan { plan: Vec::new(), counters: BTreeMap::from(counters) })
    }

    fn close(self) -> Result<(), Failure> {
        Ok(())
    }
}

impl Store<Row> for Reader {
    const VERBS: &'static [Verb] = &[Verb::Get, Verb::ReadAll, Verb::InsertMany];

    #[inline]
    fn get(&mut self, key: &i64) -> Result<Option<Row>, Failure> {
        let Ok(number) = u64::try_from(*key) else { return Ok(None) };
        let mut row = None;
        let file = &self.shared.file;
        let read = || file.read(number);
        let found = self.shared.pool.see(number, &read, &mut |page: &Page| row = Some(page.row()));
        match found {
            Ok(Found::Hit) => self.hits += 1,
            Ok(Found::Miss) => self.misses += 1,
            Err(_) if number >= file.pages()? => return Ok(None),
            Err(error) => return Err(error),
        }
        Ok(row)
    }

    /// Past the pool, which a read of everything would only empty.
    fn read_all(&mut self) -> Result<Vec<Row>, Failure> {
        let file = &self.shared.file;
        (0..file.pages()?).map(|number| Ok(file.read(number)?.row())).collect()
    }

    fn insert_many(&mut self, records: &[&Row]) -> Result<(), Failure> {
        self.shared.file.write(records)
    }
}

/// How many bytes a page is to have.
pub(crate) fn page_bytes(open: &Open) -> Result<usize, Failure> {
    let bytes = open.number("page_size_bytes")?.unwrap_or(PAGE_BYTES);
    let (least, most) = (PAGE_BYTES_RANGE.start(), PAGE_BYTES_RANGE.end());
    if PAGE_BYTES_RANGE.contains(&bytes) {
        return Ok(bytes as usize);
    }
    let message = format!("setting page_size_bytes: {bytes}; a page has {least} to {most} bytes");
    Err(failure(FailureKind::Unsupported, message))
}

/// A pool that the machine has memory for.
fn pool_pages(pages: i64, page_bytes: usize) -> Result<usize, Failure> {
    let refused =
        |why: String| Err(failure(FailureKind::Unsupported, format!("setting pool_pages: {pages}{why}")));
    let Some(count) = usize::try_from(pages).ok().filter(|pages| *pages > 0) else {
        return refused("; a pool has a page or more".into());
    };
    let bytes = count.saturating_mul(page_bytes) as u64;
    match memory_bytes() {
        Some(memory) if bytes > memory => refused(format!(
            " pages of {page_bytes} bytes are {} MiB, and this machine has {}",
            bytes >> 20,
            memory >> 20
        )),
        _ => Ok(count),
    }
}

/// How much memory the machine has, where it tells.
fn memory_bytes() -> Option<u64> {
    #[cfg(target_os = "linux")]
    {
        let told = rustix::system::sysinfo();
        Some((told.totalram as u64).saturating_mul(u64::from(told.mem_unit)))
    }
    #[cfg(not(target_os = "linux"))]
    None
}
