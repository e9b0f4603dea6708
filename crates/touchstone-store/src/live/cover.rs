//! The parts of a table whose rows a set holds completely: disjoint spans, not even adjacent, in order.

use super::order::{Cut, Sorter, Span};
use crate::types::record::Record;
use std::sync::Arc;

/// Disjoint spans, in order.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Cover(Vec<Arc<Span>>);

impl Cover {
    /// The union of the spans.
    pub(crate) fn of<'s, T: Record>(sorter: &Sorter<T>, spans: impl IntoIterator<Item = &'s Span>) -> Cover {
        let mut spans: Vec<&Span> = spans.into_iter().filter(|span| !span.is_empty(sorter)).collect();
        spans.sort_by(|left, right| sorter.compare_cuts(&left.low, &right.low));
        let mut cover: Vec<Arc<Span>> = Vec::new();
        for span in spans {
            match cover.last_mut() {
                Some(last) if sorter.compare_cuts(&span.low, &last.high).is_le() => {
                    if sorter.compare_cuts(&span.high, &last.high).is_gt() {
                        *last = Arc::new(Span { low: last.low.clone(), high: span.high.clone() });
                    }
                }
                _ => cover.push(Arc::new(span.clone())),
            }
        }
        Cover(cover)
    }

    pub(crate) fn spans(&self) -> &[Arc<Span>] {
        &self.0
    }

    /// Whether a record lies in the cover.
    #[inline]
    pub(crate) fn contains<T: Record>(&self, sorter: &Sorter<T>, ord: u64, record: &T) -> bool {
        let at = self.0.partition_point(|span| !sorter.is_before(ord, record, &span.high));
        self.0.get(at).is_some_and(|span| !sorter.is_before(ord, record, &span.low))
    }

    /// The span that contains the rows right behind a cut.
    pub(crate) fn behind<T: Record>(&self, sorter: &Sorter<T>, cut: &Cut) -> Option<&Span> {
        let at = self.0.partition_point(|span| sorter.compare_cuts(&span.high, cut).is_le());
        self.0.get(at).map(|span| &**span).filter(|span| sorter.compare_cuts(&span.low, cut).is_le())
    }

    /// The union with another cover, disjoint from this one.
    pub(crate) fn with<T: Record>(&self, sorter: &Sorter<T>, other: &Cover) -> Cover {
        // A cover of ten thousand spans must not be sorted again for one more.
        const FEW: usize = 4;
        if other.0.len() > FEW {
            return Cover::of(sorter, self.0.iter().chain(&other.0).map(|span| &**span));
        }
        let mut spans = self.0.clone();
        for span in &other.0 {
            let from = spans.partition_point(|held| sorter.compare_cuts(&held.high, &span.low).is_lt());
            let to = spans.partition_point(|held| sorter.compare_cuts(&held.low, &span.high).is_le());
            // Spans that touch the new one are merged with it.
            let low = spans
                .get(from)
                .filter(|_| from < to)
                .map_or(&span.low, |held| least(sorter, &held.low, &span.low));
            let high = spans[..to]
                .last()
                .filter(|_| from < to)
                .map_or(&span.high, |held| greatest(sorter, &held.high, &span.high));
            let joined = Arc::new(Span { low: low.clone(), high: high.clone() });
            spans.splice(from..to, [joined]);
        }
        Cover(spans)
    }

    /// The parts of another cover that this one lacks.
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
        Cover::of(sorter, &gaps)
    }
}

fn least<'c, T: Record>(sorter: &Sorter<T>, left: &'c Cut, right: &'c Cut) -> &'c Cut {
    if sorter.compare_cuts(left, right).is_le() { left } else { right }
}

fn greatest<'c, T: Record>(sorter: &Sorter<T>, left: &'c Cut, right: &'c Cut) -> &'c Cut {
    if sorter.compare_cuts(left, right).is_ge() { left } else { right }
}
