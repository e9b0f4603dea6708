//! A file of pages without a pool, as a driver: each get reads its page from the system, in one of several ways.

use crate::page::{Form, Page};
use crate::reader::page_bytes;
use crate::ring::Ring;
use rustix::fs::{Mode, OFlags};
use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::ptr::NonNull;
use std::slice;
use touchstone_kit::{
    Driver, Failure, FailureKind, Open, Operation, Row, Setting, Settings, Store, Verb, failure,
};

/// What buffers of direct reads and writes begin at a multiple of, which suits every disk.
const ALIGNMENT: usize = 4096;

/// How a page is read and written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// Through the system's page cache.
    Buffered,
    /// The same, and each write is flushed to the disk.
    Flushed,
    /// Past the page cache.
    Direct,
    /// The file is opened, sought, read and closed for every page, as the page's own test has it.
    Reopened,
    /// Through the page cache, asked for by io_uring, one page at a time.
    Uring,
}

const WAYS: [&str; 5] = ["buffered", "flushed", "direct", "reopened", "uring"];

impl Way {
    fn named(name: &str) -> Way {
        match name {
            "flushed" => Way::Flushed,
            "direct" => Way::Direct,
            "reopened" => Way::Reopened,
            "uring" => Way::Uring,
            _ => Way::Buffered,
        }
    }

    fn name(self) -> &'static str {
        WAYS[self as usize]
    }
}

/// Memory for a page, aligned for direct reads.
struct Buffer {
    start: NonNull<u8>,
    layout: Layout,
}

// SAFETY: the memory is the buffer's alone.
unsafe impl Send for Buffer {}

impl Buffer {
    fn new(bytes: usize) -> Buffer {
        let layout = Layout::from_size_align(bytes, ALIGNMENT).expect("a page is no larger than 64 KiB");
        // SAFETY: a page has more than no bytes.
        let start = NonNull::new(unsafe { alloc_zeroed(layout) });
        Buffer { start: start.unwrap_or_else(|| handle_alloc_error(layout)), layout }
    }

    fn bytes(&mut self) -> &mut [u8] {
        // SAFETY: so many bytes were allocated, and zeroed, and nobody else has them.
        unsafe { slice::from_raw_parts_mut(self.start.as_ptr(), self.layout.size()) }
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        // SAFETY: it was allocated with this layout, and is not used any more.
        unsafe { dealloc(self.start.as_ptr(), self.layout) }
    }
}

/// A handle on a file of pages.
pub struct Disk {
    file: File,
    path: PathBuf,
    way: Way,
    page_bytes: usize,
    /// How many pages there were when the system was last asked.
    known_pages: u64,
    /// Of the way that asks by it.
    ring: Option<Ring>,
    /// What was read last, and what is written next: of that the rest stays from page to page.
    buffer: Buffer,
    written: Buffer,
    form: Form,
}

impl Disk {
    fn failed(&self, error: &io::Error) -> Failure {
        failed(&self.path, error)
    }

    fn offset(&self, number: u64) -> u64 {
        number * self.page_bytes as u64
    }

    fn pages(&self) -> Result<u64, Failure> {
        let bytes = self.file.metadata().map_err(|error| self.failed(&error))?.len();
        Ok(bytes / self.page_bytes as u64)
    }

    /// Whether there is a page of that key. The system is asked for the length of the file once, and again where it may have grown.
    fn has(&mut self, key: i64) -> Result<bool, Failure> {
        let Ok(number) = u64::try_from(key) else { return Ok(false) };
        if number >= self.known_pages {
            self.known_pages = self.pages()?;
        }
        Ok(number < self.known_pages)
    }

    /// Reads a page into the buffer; false where the file ends before it.
    fn read(&mut self, number: u64) -> io::Result<bool> {
        let offset = self.offset(number);
        let bytes = self.buffer.bytes();
        let read = match (self.way, &mut self.ring) {
            (Way::Reopened, _) => {
                let mut file = File::open(&self.path)?;
                file.seek(SeekFrom::Start(offset))?;
                file.read_exact(bytes)
            }
            (_, Some(ring)) => ring.read_exact_at(&self.file, bytes, offset),
            _ => self.file.read_exact_at(bytes, offset),
        };
        match read {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn write(&mut self, row: &Row) -> Result<(), Failure> {
        let number = u64::try_from(row.key).map_err(|_| {
            failure(FailureKind::Unsupported, format!("key {}: pages are numbered from 0", row.key))
        })?;
        self.form.write(self.written.bytes(), row)?;
        let offset = self.offset(number);
        let written = match (self.way, &mut self.ring) {
            (Way::Reopened, _) => File::options()
                .write(true)
                .open(&self.path)
                .and_then(|file| file.write_all_at(self.written.bytes(), offset)),
            (_, Some(ring)) => ring.write_all_at(&self.file, self.written.bytes(), offset),
            _ => self.file.write_all_at(self.written.bytes(), offset),
        };
        written.map_err(|error| failed(&self.path, &error))
    }
}

fn open_file(path: &Path, way: Way, create: bool) -> Result<File, Failure> {
    let mut flags = OFlags::RDWR | OFlags::CLOEXEC;
    flags.set(OFlags::CREATE | OFlags::EXCL, create);
    flags.set(OFlags::DIRECT, way == Way::Direct);
    match rustix::fs::open(path, flags, Mode::from_raw_mode(0o644)) {
        Ok(file) => Ok(File::from(file)),
        Err(rustix::io::Errno::INVAL) if way == Way::Direct => {
            let message = format!("{}: this file system has no direct reads and writes", path.display());
            Err(failure(FailureKind::Unsupported, message))
        }
        Err(error) => Err(failed(path, &error.into())),
    }
}

fn failed(path: &Path, error: &io::Error) -> Failure {
    crate::file::failed(path, error)
}

impl Driver for Disk {
    type Error = Failure;

    fn open(open: &Open) -> Result<Disk, Failure> {
        open.key_alone_is_indexed()?;
        let way = open.word("page_access", &WAYS)?.map_or(Way::Buffered, Way::named);
        let page_bytes = page_bytes(open)?;
        if way == Way::Direct && page_bytes % ALIGNMENT != 0 {
            let message =
                format!("setting page_size_bytes: {page_bytes}; direct reads need a multiple of {ALIGNMENT}");
            return Err(failure(FailureKind::Unsupported, message));
        }
        let ring = (way == Way::Uring).then(Ring::new).transpose()?;
        let path = open.directory.join("pages.data");
        let file = open_file(&path, way, open.schema.create)?;
        let (buffer, written) = (Buffer::new(page_bytes), Buffer::new(page_bytes));
        let form = Form::default();
        Ok(Disk { file, path, way, page_bytes, known_pages: 0, ring, buffer, written, form })
    }

    fn settings(&mut self) -> Result<Settings, Failure> {
        Ok(Settings::from([
            ("page_access".into(), Setting::from(self.way.name())),
            ("page_size_bytes".into(), Setting::Number(self.page_bytes as i64)),
        ]))
    }

    fn close(self) -> Result<(), Failure> {
        Ok(())
    }
}

impl Store<Row> for Disk {
    const VERBS: &'static [Verb] = &[Verb::Get, Verb::ReadAll, Verb::InsertOne, Verb::InsertMany, Verb::Mix];

    /// The checksum is not looked at: what is timed is the reading.
    fn get(&mut self, key: &i64) -> Result<Option<Row>, Failure> {
        let Ok(number) = u64::try_from(*key) else { return Ok(None) };
        let there = self.read(number).map_err(|error| self.failed(&error))?;
        Ok(there.then(|| Page::row_of(self.buffer.bytes())))
    }

    fn read_all(&mut self) -> Result<Vec<Row>, Failure> {
        let mut rows = Vec::new();
        for number in 0..self.pages()? {
            self.read(number).map_err(|error| self.failed(&error))?;
            rows.push(Page::check(self.buffer.bytes().into(), number)?.row());
        }
        Ok(rows)
    }

    fn insert_one(&mut self, row: &Row) -> Result<(), Failure> {
        self.write(row)?;
        if self.way == Way::Flushed {
            self.file.sync_data().map_err(|error| self.failed(&error))?;
        }
        Ok(())
    }

    fn insert_many(&mut self, records: &[&Row]) -> Result<(), Failure> {
        for record in records {
            self.write(record)?;
        }
        if self.way == Way::Flushed {
            self.file.sync_data().map_err(|error| self.failed(&error))?;
        }
        Ok(())
    }

    /// A file has no transactions: each page is read or written as it comes.
    fn mix(&mut self, operations: &[Operation<'_, Row>], found: &mut Vec<Row>) -> Result<u64, Failure> {
        let mut updated = 0;
        for operation in operations {
            match operation {
                Operation::Get(key) => found.extend(self.get(key)?),
                Operation::Update(state) if self.has(state.key)? => {
                    self.insert_one(state)?;
                    updated += 1;
                }
                Operation::Update(_) => {}
            }
        }
        Ok(updated)
    }
}
