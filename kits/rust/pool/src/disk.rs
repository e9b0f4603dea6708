//! A file of pages without a pool, as a driver: each get reads its page from the system, in one of several ways.

use crate::file::{number_of, pages_at_once, write_runs};
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

/// Memory for pages, aligned for direct reads.
struct Buffer {
    start: NonNull<u8>,
    layout: Layout,
}

// SAFETY: the memory is the buffer's alone.
unsafe impl Send for Buffer {}

impl Buffer {
    fn new(bytes: usize) -> Buffer {
        let layout = Layout::from_size_align(bytes, ALIGNMENT).expect("it is a few pages");
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

/// A file, and the way in which bytes of it are read and written.
struct Channel {
    file: File,
    path: PathBuf,
    way: Way,
    /// Of the way that asks by it.
    ring: Option<Ring>,
}

impl Channel {
    fn failed(&self, error: &io::Error) -> Failure {
        failed(&self.path, error)
    }

    /// Reads all of those bytes; false where the file ends before.
    fn read(&mut self, bytes: &mut [u8], offset: u64) -> io::Result<bool> {
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

    fn write(&mut self, bytes: &[u8], offset: u64) -> Result<(), Failure> {
        let written = match (self.way, &mut self.ring) {
            (Way::Reopened, _) => {
                File::options().write(true).open(&self.path).and_then(|file| file.write_all_at(bytes, offset))
            }
            (_, Some(ring)) => ring.write_all_at(&self.file, bytes, offset),
            _ => self.file.write_all_at(bytes, offset),
        };
        written.map_err(|error| self.failed(&error))
    }

    fn flush(&self) -> Result<(), Failure> {
        if self.way == Way::Flushed {
            self.file.sync_data().map_err(|error| self.failed(&error))?;
        }
        Ok(())
    }
}

/// A handle on a file of pages.
pub struct Disk {
    channel: Channel,
    page_bytes: usize,
    /// How many pages there were when the system was last asked.
    known_pages: u64,
    /// What was read last, and what is written next: of that the rest stays from page to page.
    buffer: Buffer,
    written: Buffer,
    form: Form,
}

impl Disk {
    fn offset(&self, number: u64) -> u64 {
        number * self.page_bytes as u64
    }

    fn pages(&self) -> Result<u64, Failure> {
        let length = self.channel.file.metadata().map_err(|error| self.channel.failed(&error))?.len();
        Ok(length / self.page_bytes as u64)
    }

    /// Whether there is a page of that key. The system is asked for the length of the file once, and again where it may have grown.
    fn has(&mut self, key: i64) -> Result<bool, Failure> {
        let Ok(number) = u64::try_from(key) else { return Ok(false) };
        if number >= self.known_pages {
            self.known_pages = self.pages()?;
        }
        Ok(number < self.known_pages)
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
        let channel = Channel { file, path, way, ring };
        Ok(Disk { channel, page_bytes, known_pages: 0, buffer, written, form: Form::default() })
    }

    fn settings(&mut self) -> Result<Settings, Failure> {
        Ok(Settings::from([
            ("page_access".into(), Setting::from(self.channel.way.name())),
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
        let offset = self.offset(number);
        let read = self.channel.read(self.buffer.bytes(), offset);
        let is_there = read.map_err(|error| self.channel.failed(&error))?;
        Ok(is_there.then(|| Page::row_of(self.buffer.bytes())))
    }

    fn read_all(&mut self) -> Result<Vec<Row>, Failure> {
        let (pages, at_once) = (self.pages()?, pages_at_once(self.page_bytes));
        let mut buffer = Buffer::new(at_once * self.page_bytes);
        let mut rows = Vec::new();
        for first in (0..pages).step_by(at_once) {
            let count = usize::try_from(pages - first).map_or(at_once, |left| left.min(at_once));
            let bytes = &mut buffer.bytes()[..count * self.page_bytes];
            let offset = self.offset(first);
            self.channel.read(bytes, offset).map_err(|error| self.channel.failed(&error))?;
            for (number, page) in (first..).zip(bytes.chunks(self.page_bytes)) {
                rows.push(Page::check(page.into(), number)?.row());
            }
        }
        Ok(rows)
    }

    fn insert_one(&mut self, row: &Row) -> Result<(), Failure> {
        let number = number_of(row.key)?;
        self.form.write(self.written.bytes(), row)?;
        let offset = self.offset(number);
        self.channel.write(self.written.bytes(), offset)?;
        self.channel.flush()
    }

    fn insert_many(&mut self, records: &[&Row]) -> Result<(), Failure> {
        let mut buffer = Buffer::new(pages_at_once(self.page_bytes) * self.page_bytes);
        write_runs(buffer.bytes(), self.page_bytes, records, |bytes, offset| {
            self.channel.write(bytes, offset)
        })?;
        self.channel.flush()
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
