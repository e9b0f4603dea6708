//! The order of a result, and cuts in it. Rows are compared by 64 bits first, which usually differ.

use super::row::{Row, column, stored};
use super::set::{Entry, Ordered, Set};
use crate::query::evaluate::order;
use crate::types::record::Record;
use crate::types::value::{Raw, Value};
use smallvec::SmallVec;
use std::cmp::Ordering;
use std::marker::PhantomData;
use std::ops::Range;
use std::sync::Arc;

/// A column to sort by, and whether its order is descending.
pub(crate) type SortColumn = (usize, bool);

/// Sorts rows by columns, and rows that are equal in these by the key.
#[derive(Debug)]
pub(crate) struct Sorter<T> {
    columns: Vec<SortColumn>,
    marker: PhantomData<fn() -> T>,
}

impl<T: Record> Sorter<T> {
    pub(crate) fn new(columns: Vec<SortColumn>) -> Sorter<T> {
        Sorter { columns, marker: PhantomData }
    }

    /// The sort columns. The key decides between rows that are equal in these.
    pub(crate) fn columns(&self) -> &[SortColumn] {
        &self.columns
    }

    /// The bits that a record is compared by first.
    #[inline]
    pub(crate) fn ord(&self, record: &T) -> u64 {
        let (first, descending) = self.columns.first().copied().unwrap_or((0, false));
        column(record, first, |value| ord_of(value, descending))
    }

    /// Whether the row lies before the cut.
    #[inline]
    pub(crate) fn is_before(&self, ord: u64, record: &T, cut: &Cut) -> bool {
        match ord.cmp(&cut.ord) {
            Ordering::Less => true,
            Ordering::Greater => false,
            Ordering::Equal => match self.compare_with(record, &cut.values) {
                Ordering::Equal => cut.after,
                unequal => unequal == Ordering::Less,
            },
        }
    }

    /// The number of rows of the set before the cut.
    pub(crate) fn rank(&self, set: &Set<Row<T>>, cut: &Cut) -> usize {
        set.rank(|entry| self.is_before(entry.ord, &entry.row.record, cut))
    }

    /// The row's first columns, compared with values.
    fn compare_with(&self, record: &T, values: &[Value]) -> Ordering {
        for ((at, descending), value) in self.columns.iter().zip(values) {
            let unequal = column(record, *at, |raw| compare(raw, value.raw(), *descending));
            if unequal.is_ne() {
                return unequal;
            }
        }
        Ordering::Equal
    }

    /// A cut before, or after, every row whose first columns have these values.
    pub(crate) fn cut(&self, values: CutValues, after: bool) -> Cut {
        let ord = match (values.first(), self.columns.first()) {
            (Some(value), Some((_, descending))) => ord_of(value.raw(), *descending),
            _ if after => u64::MAX,
            _ => 0,
        };
        Cut { ord, values, after }
    }

    /// The cut right behind a record. The sort columns must identify it.
    pub(crate) fn cut_after(&self, record: &T) -> Cut {
        let values: CutValues = self.columns.iter().map(|(at, _)| stored(record, *at)).collect();
        self.cut(values, true)
    }

    /// Compares the positions of two cuts.
    pub(crate) fn compare_cuts(&self, left: &Cut, right: &Cut) -> Ordering {
        let values = left.values.iter().zip(&right.values).zip(&self.columns);
        let by_values = values
            .map(|((left, right), (_, descending))| compare(left.raw(), right.raw(), *descending))
            .find(|order| order.is_ne());
        let (shorter, longer) = (left.values.len(), right.values.len());
        by_values.unwrap_or_else(|| match shorter.cmp(&longer) {
            Ordering::Equal => left.after.cmp(&right.after),
            // A cut by fewer columns lies before, or after, all rows with the same values in these.
            Ordering::Less => {
                if left.after {
                    Ordering::Greater
                } else {
                    Ordering::Less
                }
            }
            Ordering::Greater => {
                if right.after {
                    Ordering::Less
                } else {
                    Ordering::Greater
                }
            }
        })
    }
}

impl<T: Record> Ordered<Row<T>> for Sorter<T> {
    #[inline]
    fn compare(&self, left: &Entry<Row<T>>, right: &Entry<Row<T>>) -> Ordering {
        left.ord.cmp(&right.ord).then_with(|| {
            // A search often meets the very row that it looks for.
            if Arc::ptr_eq(&left.row, &right.row) {
                return Ordering::Equal;
            }
            self.compare_rows(&left.row.record, &right.row.record)
        })
    }
}

impl<T: Record> Sorter<T> {
    fn compare_rows(&self, left: &T, right: &T) -> Ordering {
        for (at, descending) in &self.columns {
            let unequal =
                column(left, *at, |left| column(right, *at, |right| compare(left, right, *descending)));
            if unequal.is_ne() {
                return unequal;
            }
        }
        left.compare_keys(right)
    }
}

/// A position between rows: before or after all rows whose first columns have these values.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Cut {
    pub(crate) ord: u64,
    pub(crate) values: CutValues,
    pub(crate) after: bool,
}

/// Most cuts are by one column, and there may be a million of them.
pub(crate) type CutValues = SmallVec<[Value; 1]>;

/// The rows between two cuts.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Span {
    pub(crate) low: Cut,
    pub(crate) high: Cut,
}

impl Span {
    #[inline]
    pub(crate) fn contains<T: Record>(&self, sorter: &Sorter<T>, ord: u64, record: &T) -> bool {
        !sorter.is_before(ord, record, &self.low) && sorter.is_before(ord, record, &self.high)
    }

    /// The positions of the span's rows in a set.
    pub(crate) fn range<T: Record>(&self, sorter: &Sorter<T>, set: &Set<Row<T>>) -> Range<usize> {
        let from = sorter.rank(set, &self.low);
        from..sorter.rank(set, &self.high).max(from)
    }

    pub(crate) fn is_empty<T: Record>(&self, sorter: &Sorter<T>) -> bool {
        sorter.compare_cuts(&self.low, &self.high).is_ge()
    }
}

fn compare(left: Raw<'_>, right: Raw<'_>, descending: bool) -> Ordering {
    // No column holds NaN: the store refuses it, and SQLite stores it as NULL.
    let ordering = order(left, right).unwrap_or(Ordering::Equal);
    if descending { ordering.reverse() } else { ordering }
}

/// 64 bits in the order of the values: a lesser value has lesser or equal bits.
#[inline]
fn ord_of(value: Raw<'_>, descending: bool) -> u64 {
    const SIGN: u64 = 1 << 63;
    let ord = match value {
        Raw::Null | Raw::Absent => 0,
        Raw::Integer(value) => value.cast_unsigned() ^ SIGN,
        Raw::Real(value) => {
            // Both zeros are the same value.
            let bits = (value + 0.0).to_bits();
            if bits & SIGN == 0 { bits ^ SIGN } else { !bits }
        }
        Raw::Text(bytes) | Raw::Blob(bytes) => {
            let mut first = [0; 8];
            let length = bytes.len().min(8);
            first[..length].copy_from_slice(&bytes[..length]);
            u64::from_be_bytes(first)
        }
    };
    if descending { !ord } else { ord }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bits_are_in_the_order_of_the_values() {
        let reals =
            [f64::NEG_INFINITY, -1e300, -1.0, -f64::MIN_POSITIVE, -0.0, 0.0, 5e-324, 1.0, f64::INFINITY];
        let ords: Vec<u64> = reals.iter().map(|real| ord_of(Raw::Real(*real), false)).collect();
        assert!(ords.is_sorted(), "{ords:?}");
        assert_eq!(ords[4], ords[5]);
        let integers = [i64::MIN, -1, 0, 1, i64::MAX];
        assert!(integers.iter().map(|integer| ord_of(Raw::Integer(*integer), false)).is_sorted());
        let texts: [&[u8]; 6] = [b"", b"\0", b"a", b"abcdefgh", b"abcdefghi", b"b"];
        assert!(texts.iter().map(|text| ord_of(Raw::Text(text), false)).is_sorted());
        assert!(texts.iter().rev().map(|text| ord_of(Raw::Text(text), true)).is_sorted());
        assert_eq!(ord_of(Raw::Null, false), 0);
    }
}
