//! How often pages were asked for lately, about: a count-min sketch of four rows, with sixteen counters or more for each page of the pool,
//! of four bits each. They are all halved after ten additions for each of these pages. Those of one page lie in one line of the
//! processor's cache.

/// Counters of four bits, sixteen a word.
pub(super) struct Sketch {
    lines: Box<[Line]>,
    additions: usize,
    /// After how many additions counters are halved.
    sample: usize,
}

#[repr(align(64))]
#[derive(Clone, Copy, Default)]
struct Line([u64; 8]);

/// The lowest three bits of each counter.
const HALVED: u64 = 0x7777_7777_7777_7777;

impl Sketch {
    /// A sketch for a pool of so many pages.
    pub(super) fn of(pages: usize) -> Sketch {
        let lines = pages.div_ceil(8).next_power_of_two();
        Sketch { lines: vec![Line::default(); lines].into(), additions: 0, sample: pages.saturating_mul(10) }
    }

    pub(super) fn add(&mut self, number: u64) {
        let (line, places) = self.places(number);
        let mut is_added = false;
        for (word, shift) in places {
            let word = &mut self.lines[line].0[word];
            if (*word >> shift) & 0xf < 0xf {
                *word += 1 << shift;
                is_added = true;
            }
        }
        self.additions += usize::from(is_added);
        if self.additions >= self.sample {
            self.halve();
        }
    }

    /// How often a page was asked for, at most 15 times; too often where it shares all its counters.
    pub(super) fn count(&self, number: u64) -> u64 {
        let (line, places) = self.places(number);
        places.map(|(word, shift)| (self.lines[line].0[word] >> shift) & 0xf).into_iter().min().unwrap_or(0)
    }

    /// The line of a page's counters, and of each its word and where it begins there: each row has two words of a line.
    fn places(&self, number: u64) -> (usize, [(usize, u32); 4]) {
        let hash = mixed(number);
        let place = |at: usize| {
            let bits = (hash >> (8 * at)) as usize;
            (2 * at + (bits & 1), ((bits >> 1) & 0xf) as u32 * 4)
        };
        ((hash >> 32) as usize & (self.lines.len() - 1), [place(0), place(1), place(2), place(3)])
    }

    fn halve(&mut self) {
        for word in self.lines.iter_mut().flat_map(|line| &mut line.0) {
            *word = (*word >> 1) & HALVED;
        }
        self.additions /= 2;
    }
}

/// The last step of SplitMix64 (Steele, Lea and Flood, 2014), by which neighbours share nothing.
fn mixed(number: u64) -> u64 {
    let number = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_counted_as_often_as_it_was_asked_for_and_at_most_fifteen_times() {
        let mut sketch = Sketch::of(100);
        for times in 1..=20 {
            sketch.add(7);
            assert_eq!(sketch.count(7), times.min(15));
        }
    }

    /// Of a thousand pages that were asked for once, few are taken for ones that were asked for twice or more.
    #[test]
    fn no_page_is_counted_too_seldom_and_few_too_often() {
        let mut sketch = Sketch::of(1000);
        (0..1000).for_each(|number| sketch.add(number));
        let counts: Vec<u64> = (0..1000).map(|number| sketch.count(number)).collect();
        assert!(counts.iter().all(|count| *count >= 1));
        assert!(counts.iter().filter(|count| **count > 1).count() < 100, "{counts:?}");
        let others = (1000..2000).filter(|number| sketch.count(*number) > 0).count();
        assert!(others < 100, "{others} of a thousand that nobody asked for");
    }

    #[test]
    fn counts_are_halved_after_ten_additions_a_page() {
        let mut sketch = Sketch::of(10);
        (0..12).for_each(|_| sketch.add(7));
        (0..87).for_each(|number| sketch.add(1000 + number));
        let before = sketch.count(7);
        sketch.add(8);
        assert_eq!((before, sketch.count(7)), (12, 6));
    }
}
