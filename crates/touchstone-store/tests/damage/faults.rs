//! What may happen to a file's bytes: bits and bytes, pages that are lost, swapped or misdirected, pointers that lead
//! elsewhere, ends that are cut off. Where a log is changed, its checksums may be made to fit again.

use crate::whole::{Variant, Whole};

/// Random numbers that a seed alone decides: SplitMix.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.next() % end.max(1) as u64).expect("it is below a length")
    }

    pub fn one_in(&mut self, count: usize) -> bool {
        self.below(count) == 0
    }

    fn byte(&mut self) -> u8 {
        self.next().to_le_bytes()[0]
    }
}

/// The header of a frame in a log, and of the log itself.
const FRAME_HEADER: usize = 24;
const LOG_HEADER: usize = 32;

/// The file with one to four faults.
pub fn damaged(whole: &Whole, variant: Variant, random: &mut Random) -> Whole {
    let mut base = whole.clone();
    for _ in 0..1 + random.below(4) {
        match &mut base.log {
            Some(log) if !random.one_in(3) => {
                if random.one_in(5) {
                    let at = random.below((LOG_HEADER + FRAME_HEADER).min(log.len()));
                    flip(log, at, random);
                } else {
                    fault(log, variant.page_bytes + FRAME_HEADER, random);
                }
                if random.one_in(4) {
                    fit_checksums(log, variant.page_bytes);
                }
            }
            _ => fault(&mut base.main, variant.page_bytes, random),
        }
    }
    base
}

fn flip(bytes: &mut [u8], at: usize, random: &mut Random) {
    if let Some(byte) = bytes.get_mut(at) {
        *byte ^= 1 << random.below(8);
    }
}

/// Where pages have what leads to other things, mostly.
fn place(bytes: &[u8], page: usize, random: &mut Random) -> usize {
    let start = random.below(bytes.len() / page) * page;
    let within = match random.below(4) {
        0 => random.below(12),
        1 => 8 + random.below(40),
        2 => page - 1 - random.below(200.min(page)),
        _ => random.below(page),
    };
    (start + within).min(bytes.len().saturating_sub(1))
}

fn fault(bytes: &mut Vec<u8>, page: usize, random: &mut Random) {
    if bytes.is_empty() {
        return;
    }
    let at = place(bytes, page, random);
    let start = random.below(bytes.len() / page) * page;
    let end = (start + page).min(bytes.len());
    match random.below(17) {
        0 | 1 => flip(bytes, at, random),
        2 | 3 => bytes[at] = random.byte(),
        4 => {
            let end = (at + 1 + random.below(10)).min(bytes.len());
            bytes[at..end].fill(0xff);
        }
        5 => bytes[start..end].fill(0),
        6 => swap(bytes, page, random),
        7 => misdirect(bytes, page, random),
        8 => bytes.truncate(random.below(bytes.len())),
        9 => bytes.truncate(start.max(1)),
        10 => lead_elsewhere(bytes, page, random),
        11 => lead_a_child_elsewhere(bytes, page, random),
        12 => lead_all_to_one(bytes, page, random),
        13 => count_otherwise(bytes, page, random),
        14 | 15 => change_a_row(bytes, page, random),
        _ => {
            let end = (at + 1 + random.below(64)).min(bytes.len());
            bytes[at..end].fill_with(|| random.byte());
        }
    }
}

fn swap(bytes: &mut [u8], page: usize, random: &mut Random) {
    let pages = bytes.len() / page;
    let (one, other) = (random.below(pages) * page, random.below(pages) * page);
    for at in 0..page {
        if one + at < bytes.len() && other + at < bytes.len() {
            bytes.swap(one + at, other + at);
        }
    }
}

/// A page in the place of another, as a write that went astray leaves it.
fn misdirect(bytes: &mut [u8], page: usize, random: &mut Random) {
    let pages = bytes.len() / page;
    let (from, to) = (random.below(pages) * page, random.below(pages) * page);
    let length = page.min(bytes.len() - from).min(bytes.len() - to);
    bytes.copy_within(from..from + length, to);
}

fn number(end: usize, random: &mut Random) -> [u8; 4] {
    u32::try_from(1 + random.below(end)).expect("files are small").to_be_bytes()
}

/// The number of another page, where pages have one.
fn lead_elsewhere(bytes: &mut [u8], page: usize, random: &mut Random) {
    let pages = bytes.len() / page;
    let at = random.below(pages) * page + [0, 8, page - 4][random.below(3)];
    let number = number(pages + 2, random);
    if let Some(place) = bytes.get_mut(at..at + 4) {
        place.copy_from_slice(&number);
    }
}

/// Where a page begins that is of one of these kinds; none where chance finds none.
fn page_of(kinds: [u8; 2], bytes: &[u8], page: usize, random: &mut Random) -> Option<usize> {
    let mut starts = (0..50).map(|_| random.below(bytes.len() / page) * page);
    starts.find(|start| start + page <= bytes.len() && kinds.contains(&bytes[*start]))
}

const INNER: [u8; 2] = [2, 5];
const LEAF: [u8; 2] = [10, 13];

/// A page that says that it has none of its cells, or some, or others' bytes.
fn count_otherwise(bytes: &mut [u8], page: usize, random: &mut Random) {
    let kinds = if random.one_in(3) { INNER } else { LEAF };
    let Some(start) = page_of(kinds, bytes, page, random) else { return };
    bytes[start + 4] = if random.one_in(2) { 0 } else { random.byte() };
}

/// The length of a row, its number, or what its header says of its values.
fn change_a_row(bytes: &mut [u8], page: usize, random: &mut Random) {
    let Some(start) = page_of(LEAF, bytes, page, random) else { return };
    let cells = usize::from(u16::from_be_bytes([bytes[start + 3], bytes[start + 4]]));
    let at = start + 8 + 2 * random.below(cells);
    let Some(pointer) = bytes.get(at..at + 2) else { return };
    let offset = usize::from(u16::from_be_bytes([pointer[0], pointer[1]]));
    let change = random.byte();
    if let Some(byte) = bytes.get_mut(start + offset + random.below(10)) {
        *byte = if change < 128 { byte.wrapping_add(change % 5).wrapping_sub(2) } else { change };
    }
}

fn lead_a_child_elsewhere(bytes: &mut [u8], page: usize, random: &mut Random) {
    let Some(start) = page_of(INNER, bytes, page, random) else { return };
    let at = start + 12 + random.below(page - 16);
    let number = number(bytes.len() / page, random);
    bytes[at..at + 4].copy_from_slice(&number);
}

fn lead_all_to_one(bytes: &mut [u8], page: usize, random: &mut Random) {
    let Some(start) = page_of(INNER, bytes, page, random) else { return };
    let number = number(bytes.len() / page, random);
    let inner = &mut bytes[start..start + page];
    let cells = usize::from(u16::from_be_bytes([inner[3], inner[4]]));
    for cell in 0..cells {
        let Some(pointer) = inner.get(12 + 2 * cell..14 + 2 * cell) else { break };
        let offset = usize::from(u16::from_be_bytes([pointer[0], pointer[1]]));
        if let Some(child) = inner.get_mut(offset..offset + 4) {
            child.copy_from_slice(&number);
        }
    }
    inner[8..12].copy_from_slice(&number);
}

/// Makes what was changed in a log count, as "WAL-Mode File Format" computes it.
fn fit_checksums(log: &mut [u8], page: usize) {
    if log.len() < LOG_HEADER {
        return;
    }
    let is_big_endian = log[3] & 1 == 1;
    let mut sum = checksum(&log[..24], (0, 0), is_big_endian);
    put(log, 24, sum);
    let salt = log[16..24].to_vec();
    let mut at = LOG_HEADER;
    while at + FRAME_HEADER + page <= log.len() {
        log[at + 8..at + 16].copy_from_slice(&salt);
        sum = checksum(&log[at..at + 8], sum, is_big_endian);
        sum = checksum(&log[at + FRAME_HEADER..at + FRAME_HEADER + page], sum, is_big_endian);
        put(log, at + 16, sum);
        at += FRAME_HEADER + page;
    }
}

fn put(log: &mut [u8], at: usize, sum: (u32, u32)) {
    log[at..at + 4].copy_from_slice(&sum.0.to_be_bytes());
    log[at + 4..at + 8].copy_from_slice(&sum.1.to_be_bytes());
}

/// The checksum of a log after these bytes, which are whole pairs of words.
pub fn checksum(bytes: &[u8], (mut first, mut second): (u32, u32), is_big_endian: bool) -> (u32, u32) {
    let word =
        |bytes: [u8; 4]| if is_big_endian { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) };
    for [a, b, c, d, e, f, g, h] in bytes.as_chunks::<8>().0 {
        first = first.wrapping_add(word([*a, *b, *c, *d])).wrapping_add(second);
        second = second.wrapping_add(word([*e, *f, *g, *h])).wrapping_add(first);
    }
    (first, second)
}
