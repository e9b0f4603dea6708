//! A field that does something while it is read or written, as a record's own code may.

use std::marker::PhantomData;
use touchstone_store::{Cells, Field, Kind, Mismatch, Raw};

/// What is done.
pub trait Acts: 'static {
    fn reading(_number: i64) {}
    fn writing(_number: i64) {}
}

/// A number with which something is done.
#[derive(Clone, Debug, PartialEq)]
pub struct Acting<A>(pub i64, PhantomData<A>);

impl<A> Acting<A> {
    pub fn new(number: i64) -> Acting<A> {
        Acting(number, PhantomData)
    }
}

impl<A: Acts> Field for Acting<A> {
    const KIND: Kind = Kind::Integer;
    type Plain = Acting<A>;
    type View<'a> = Acting<A>;

    fn write<'a>(&'a self, cells: &mut Cells<'a>) {
        A::writing(self.0);
        cells.integer(self.0);
    }

    fn read(raw: Raw<'_>) -> Result<Acting<A>, Mismatch> {
        let number = i64::read(raw)?;
        A::reading(number);
        Ok(Acting::new(number))
    }

    fn view(raw: Raw<'_>) -> Result<Acting<A>, Mismatch> {
        Acting::read(raw)
    }
}
