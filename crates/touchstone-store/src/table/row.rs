//! A stored row on its page: its values in the order of the type's columns, even if the file has another order.

use super::Table;
use crate::engine::page::Payload;
use crate::types::record::{Columns, Shape};
use crate::types::value::Raw;
use smallvec::SmallVec;

/// A stored row whose values lie in the order of the type's columns.
pub(crate) struct OrderedRow<'p> {
    payload: Payload<'p>,
    /// The key, if it is the row's number.
    number: Option<i64>,
    /// Whether the payload ended before its values did.
    is_damaged: bool,
    shape: &'static Shape,
}

impl<'p> OrderedRow<'p> {
    #[inline]
    pub(crate) fn new(payload: Payload<'p>, number: Option<i64>, shape: &'static Shape) -> OrderedRow<'p> {
        OrderedRow { payload, number, is_damaged: false, shape }
    }

    /// Whether the payload is as long as the values read from it.
    #[inline]
    pub(crate) fn is_whole(&self) -> bool {
        !self.is_damaged && self.payload.is_whole()
    }
}

impl<'p> Columns<'p> for OrderedRow<'p> {
    #[inline(always)]
    fn next(&mut self) -> Raw<'p> {
        if let Some(number) = self.number.take() {
            // SQLite stores the number apart from the row, and NULL in the place of the column.
            self.is_damaged |= self.payload.skip().is_none();
            return Raw::Integer(number);
        }
        match self.payload.next() {
            Some(value) => value,
            None => {
                self.is_damaged = true;
                Raw::Null
            }
        }
    }

    #[inline]
    fn shape(&self) -> Option<&'static Shape> {
        Some(self.shape)
    }
}

/// A stored row's values, by position.
pub(crate) struct PlacedRow<'p, 't> {
    values: SmallVec<[Raw<'p>; 16]>,
    table: &'t Table,
    number: Option<i64>,
    at: usize,
}

impl<'p, 't> PlacedRow<'p, 't> {
    pub(crate) fn new(mut payload: Payload<'p>, table: &'t Table, number: i64) -> Option<PlacedRow<'p, 't>> {
        let mut values = SmallVec::new();
        for _ in 0..table.reach() {
            match payload.next()? {
                Raw::Absent => break,
                value => values.push(value),
            }
        }
        let number = table.key_is_number().then_some(number);
        payload.is_whole().then_some(PlacedRow { values, table, number, at: 0 })
    }

    /// The value of one of the type's columns.
    pub(crate) fn get(&self, column: usize) -> Raw<'p> {
        if let (Some(number), 0) = (self.number, column) {
            return Raw::Integer(number);
        }
        let place = self.table.place(column);
        place.and_then(|place| self.values.get(place)).copied().unwrap_or(Raw::Absent)
    }
}

impl<'p> Columns<'p> for PlacedRow<'p, '_> {
    fn next(&mut self) -> Raw<'p> {
        let value = self.get(self.at);
        self.at += 1;
        value
    }

    #[inline]
    fn shape(&self) -> Option<&'static Shape> {
        Some(self.table.shape)
    }
}
