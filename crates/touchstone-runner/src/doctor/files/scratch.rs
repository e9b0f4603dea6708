//! The file that is read and written: made in bounded time, without a name, so that nothing can be left behind.

use super::super::turn::Turn;
use crate::random::stream;
use rand::Rng;
use rustix::fs::{Advice, OFlags, fadvise, fcntl_getfl, fcntl_setfl};
use rustix::io::{Errno, ReadWriteFlags, preadv2};
use std::fs::File;
use std::io::{self, IoSliceMut};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::{Duration, Instant};

/// The file's size, unless time or space are short.
const FILE_BYTES_MAX: u64 = 64 << 20;

/// The file grows in steps of this, each flushed.
const STEP_BYTES: usize = 4 << 20;

/// No more than this part of the free space is taken.
const FREE_SHARE: u64 = 4;

/// How long the file may grow, at the most.
const FILL_LIMIT: Duration = Duration::from_secs(2);

/// This part of the time may go into making the file.
const FILL_PARTS: usize = 5;

/// Pages that are looked for in the cache.
const LOOKED_FOR: u64 = 64;

/// Above this share of pages in the cache, they were not dropped or not passed by.
const CACHED_SHARE_MAX: f64 = 0.5;

/// The largest block, and what direct access wants memory and offsets to be multiples of.
pub(in crate::doctor) const BUFFER_BYTES: usize = 64 << 10;
const PAGE_BYTES: usize = 4 << 10;

/// Memory that direct access accepts.
#[repr(align(4096))]
struct Buffer([u8; BUFFER_BYTES]);

/// An open file without a name.
pub(super) struct Scratch {
    file: File,
    file_bytes: u64,
    fill_bytes_per_s: f64,
    buffer: Box<Buffer>,
    stamp: u8,
}

impl Scratch {
    /// Makes the file, as large as time and space allow.
    pub fn fill(directory: &Path, free_bytes: Option<u64>, turn: &Turn<'_>) -> io::Result<Scratch> {
        let turn = turn.part(FILL_PARTS, FILL_LIMIT);
        let file = tempfile::tempfile_in(directory)?;
        // Noise, so that a filesystem that compresses has nothing to gain.
        let mut step = vec![0; STEP_BYTES];
        let mut noise = stream(0, "doctor's file");
        noise.fill_bytes(&mut step);
        let mut buffer = Box::new(Buffer([0; BUFFER_BYTES]));
        noise.fill_bytes(&mut buffer.0);
        let wanted_bytes =
            free_bytes.map_or(FILE_BYTES_MAX, |free_bytes| FILE_BYTES_MAX.min(free_bytes / FREE_SHARE));
        let begun = Instant::now();
        let mut file_bytes = 0;
        while file_bytes == 0 || (file_bytes + STEP_BYTES as u64 <= wanted_bytes && !turn.over()) {
            file.write_all_at(&step, file_bytes)?;
            file.sync_data()?;
            file_bytes += STEP_BYTES as u64;
        }
        let fill_bytes_per_s = file_bytes as f64 / begun.elapsed().as_secs_f64();
        Ok(Scratch { file, file_bytes, fill_bytes_per_s, buffer, stamp: 0 })
    }

    pub fn file_bytes(&self) -> u64 {
        self.file_bytes
    }

    /// How much can be written and flushed in `time`, going by how long it took to make the file.
    pub fn flushable_bytes(&self, time: Duration) -> u64 {
        (self.fill_bytes_per_s * time.as_secs_f64()) as u64
    }

    pub fn read(&mut self, offset: u64, bytes: usize) -> io::Result<()> {
        self.file.read_exact_at(&mut self.buffer.0[..bytes], offset)
    }

    pub fn write(&mut self, offset: u64, bytes: usize) -> io::Result<()> {
        // Other bytes each time, so that no layer below may leave the write out.
        self.stamp = self.stamp.wrapping_add(1);
        self.buffer.0[0] = self.stamp;
        self.file.write_all_at(&self.buffer.0[..bytes], offset)
    }

    pub fn sync(&self) -> io::Result<()> {
        self.file.sync_data()
    }

    /// Brings the whole file into the page cache.
    pub fn warm(&mut self) -> io::Result<()> {
        self.bypass(false)?;
        (0..self.file_bytes).step_by(BUFFER_BYTES).try_for_each(|offset| self.read(offset, BUFFER_BYTES))
    }

    /// Drops the file from the page cache. Only clean pages can be dropped, so it is synced.
    pub fn drop_pages(&self) -> io::Result<()> {
        self.sync()?;
        Ok(fadvise(&self.file, 0, None, Advice::DontNeed)?)
    }

    /// Tells the system that nothing is to be read ahead, or that it may.
    pub fn expect_random(&self, random: bool) -> io::Result<()> {
        Ok(fadvise(&self.file, 0, None, if random { Advice::Random } else { Advice::Normal })?)
    }

    /// Goes past the page cache from now on, or through it.
    pub fn bypass(&self, direct: bool) -> io::Result<()> {
        let mut flags = fcntl_getfl(&self.file)?;
        if flags.contains(OFlags::DIRECT) != direct {
            flags.set(OFlags::DIRECT, direct);
            fcntl_setfl(&self.file, flags)?;
        }
        Ok(())
    }

    /// Why pages cannot be dropped here, where they cannot.
    pub fn not_dropped(&mut self) -> io::Result<Option<String>> {
        self.warm()?;
        self.drop_pages()?;
        let kept = self.cached_share().is_some_and(|share| share > CACHED_SHARE_MAX);
        Ok(kept.then(|| "the system keeps pages in its cache that it was asked to drop".into()))
    }

    /// Why the cache cannot be passed by here, where it cannot.
    pub fn not_direct(&mut self) -> io::Result<Option<String>> {
        self.drop_pages()?;
        let tried = self.bypass(true).and_then(|()| {
            (0..self.file_bytes.min(STEP_BYTES as u64))
                .step_by(BUFFER_BYTES)
                .try_for_each(|at| self.read(at, BUFFER_BYTES))
        });
        self.bypass(false)?;
        match tried {
            Err(error) if error.kind() == io::ErrorKind::InvalidInput => {
                return Ok(Some("the filesystem refuses O_DIRECT".into()));
            }
            tried => tried?,
        }
        let cached = self.cached_share_of(STEP_BYTES as u64).is_some_and(|share| share > CACHED_SHARE_MAX);
        Ok(cached.then(|| "the filesystem takes O_DIRECT and uses the page cache all the same".into()))
    }

    fn cached_share(&mut self) -> Option<f64> {
        self.cached_share_of(self.file_bytes)
    }

    /// The share of pages, of the first `bytes`, that can be read without waiting; none where the system cannot tell.
    fn cached_share_of(&mut self, bytes: u64) -> Option<f64> {
        let step = (bytes / LOOKED_FOR).next_multiple_of(PAGE_BYTES as u64).max(PAGE_BYTES as u64);
        let (mut cached, mut looked_for) = (0, 0);
        // From the end, so that what one look may set off to be read ahead is not what is looked for next.
        for offset in (0..bytes).step_by(step as usize).collect::<Vec<_>>().into_iter().rev() {
            let page = &mut [IoSliceMut::new(&mut self.buffer.0[..PAGE_BYTES])];
            match preadv2(&self.file, page, offset, ReadWriteFlags::NOWAIT) {
                Ok(_) => cached += 1,
                Err(Errno::AGAIN) => {}
                Err(_) => return None,
            }
            looked_for += 1;
        }
        (looked_for > 0).then(|| f64::from(cached) / f64::from(looked_for))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::turn::Timetable;
    use std::sync::atomic::AtomicBool;

    #[test]
    fn the_file_is_small_when_time_or_space_are_short_and_has_no_name() {
        let directory = tempfile::tempdir().unwrap();
        let stop = AtomicBool::new(false);
        let none = Timetable::new(Instant::now(), Duration::ZERO, &stop);
        let mut scratch = Scratch::fill(directory.path(), None, &none.files()).unwrap();
        assert_eq!(scratch.file_bytes(), STEP_BYTES as u64);
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
        scratch.read(0, BUFFER_BYTES).unwrap();
        scratch.write(STEP_BYTES as u64 - 4096, 4096).unwrap();
        let plenty = Timetable::new(Instant::now(), Duration::from_secs(600), &stop);
        let scratch = Scratch::fill(directory.path(), Some(36 << 20), &plenty.files()).unwrap();
        assert!(scratch.file_bytes() <= 9 << 20);
    }

    #[test]
    fn a_page_just_read_is_in_the_cache() {
        let directory = tempfile::tempdir().unwrap();
        let stop = AtomicBool::new(false);
        let none = Timetable::new(Instant::now(), Duration::ZERO, &stop);
        let mut scratch = Scratch::fill(directory.path(), None, &none.files()).unwrap();
        scratch.warm().unwrap();
        assert!(scratch.cached_share().is_none_or(|share| share > CACHED_SHARE_MAX));
    }
}
