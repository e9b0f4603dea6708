//! A number in a record that tells how many of its kind are alive. Tests run at the same time, so each has a kind of its
//! own.

use std::sync::atomic::{AtomicUsize, Ordering};
use touchstone_store::{Cells, Field, Kind, Mismatch, Raw};

/// Those of a test of `crowd`.
pub const OF_A_CROWD: usize = 0;
/// Those of a test of `numbers`.
pub const OF_NUMBERS: usize = 1;

static ALIVE: [AtomicUsize; 2] = [AtomicUsize::new(0), AtomicUsize::new(0)];

/// The number.
#[derive(Debug, PartialEq)]
pub struct Counted<const OF: usize>(pub i64);

impl<const OF: usize> Counted<OF> {
    pub fn new(value: i64) -> Counted<OF> {
        ALIVE[OF].fetch_add(1, Ordering::SeqCst);
        Counted(value)
    }

    /// How many of this kind there are.
    pub fn alive() -> usize {
        ALIVE[OF].load(Ordering::SeqCst)
    }
}

impl<const OF: usize> Clone for Counted<OF> {
    fn clone(&self) -> Counted<OF> {
        Counted::new(self.0)
    }
}

impl<const OF: usize> Drop for Counted<OF> {
    fn drop(&mut self) {
        ALIVE[OF].fetch_sub(1, Ordering::SeqCst);
    }
}

impl<const OF: usize> Field for Counted<OF> {
    const KIND: Kind = Kind::Integer;
    type Plain = Counted<OF>;
    type View<'a> = i64;

    fn write<'a>(&'a self, cells: &mut Cells<'a>) {
        cells.integer(self.0);
    }

    fn read(raw: Raw<'_>) -> Result<Counted<OF>, Mismatch> {
        i64::read(raw).map(Counted::new)
    }

    fn view(raw: Raw<'_>) -> Result<i64, Mismatch> {
        i64::read(raw)
    }
}
