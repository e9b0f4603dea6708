//! The parts of a table that a set holds all rows of: spans that neither meet nor touch, in their order.

use super::order::{Cut, Sorter, Span};
use crate::record::Record;

/// Disjoint spans.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Cover(Vec<Span>);

impl Cover {
    /// What all these spans cover together.
    pub(crate) fn of<T: Record>(sorter: &Sorter<T>, spans: impl IntoIterator<Item = Span>) -> Cover {
        let mut spans: Vec<Span> = spans.into_iter().filter(|span| !span.is_empty(sorter)).collect();
        spans.sort_by(|left, right| sorter.compare_cuts(&left.low, &right.low));
        let mut cover: Vec<Span> = Vec::new();
        for span in spans {
            match cover.last_mut() {
                Some(last) if sorter.compare_cuts(&span.low, &last.high).is_le() => {
                    if sorter.compare_cuts(&span.high, &last.high).is_gt() {
                        last.high = span.high;
                    }
                }
                _ => cover.push(span),
            }
        }
        Cover(cover)
    }

    pub(crate) fn spans(&self) -> &[Span] {
        &self.0
    }

    /// Whether the record lies in it.
    #[inline]
    pub(crate) fn contains<T: Record>(&self, sorter: &Sorter<T>, ord: u64, record: &T) -> bool {
        let at = self.0.partition_point(|span| !sorter.is_before(ord, record, &span.high));
        self.0.get(at).is_some_and(|span| !sorter.is_before(ord, record, &span.low))
    }

    /// This, and another, together.
    pub(crate) fn with<T: Record>(&self, sorter: &Sorter<T>, other: &Cover) -> Cover {
        Cover::of(sorter, self.0.iter().chain(&other.0).cloned())
    }

    /// What of another is not in this one.
    pub(crate) fn lacks<T: Record>(&self, sorter: &Sorter<T>, other: &Cover) -> Cover {
        let mut gaps = Vec::new();
        for span in &other.0 {
            let mut low: Cut = span.low.clone();
            let from = self.0.partition_point(|held| sorter.compare_cuts(&held.high, &span.low).is_le());
            for held in &self.0[from..] {
                if sorter.compare_cuts(&held.low, &span.high).is_ge() {
                    break;
                }
                gaps.push(Span { low: low.clone(), high: held.low.clone() });
                low = held.high.clone();
            }
            gaps.push(Span { low, high: span.high.clone() });
        }
        Cover::of(sorter, gaps)
    }
}
