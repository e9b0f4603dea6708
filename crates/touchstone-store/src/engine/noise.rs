//! Whether a file that does not begin like SQLite's may be encrypted. Nobody can be sure: encrypted pages are noise,
//! and only the key tells one noise from another. But some files are surely not encrypted: their length is no whole
//! number of pages, or they begin like a well-known format, or their bytes are not as evenly spread as noise.

/// The number of bytes that are looked at.
pub(crate) const BYTES_MAX: usize = 4096;

/// The smallest page of SQLite.
const PAGE_BYTES_MIN: usize = 512;

/// The first bytes of files whose content is packed, and so like noise. An encrypted file begins with 16 random bytes:
/// one in five million is taken for one of these.
const PACKED: [&[u8]; 9] = [
    b"\xff\xd8\xff",
    b"\x89PNG",
    b"PK\x03\x04",
    b"\x1f\x8b\x08",
    b"\x28\xb5\x2f\xfd",
    b"\xfd7zXZ",
    b"7z\xbc\xaf",
    b"Rar!",
    b"OggS",
];

/// Whether a file of this length, with this beginning, may be an encrypted store.
pub(crate) fn may_be_encrypted(start: &[u8], length: u64) -> bool {
    start.len() >= PAGE_BYTES_MIN
        && length.is_multiple_of(PAGE_BYTES_MIN as u64)
        && !PACKED.iter().any(|format| start.starts_with(format))
        && is_noise(start)
}

/// Pearson's test (chi-squared) of whether all bytes are equally frequent. For noise the sum is 255 on average, with a
/// standard deviation of 23; for text, tables and programs it is thousands. The eight bytes of a header that one of the
/// ciphers leaves in the clear add a few.
pub(crate) fn is_noise(bytes: &[u8]) -> bool {
    const SUM_MAX: f64 = 450.0;
    let mut counts = [0u16; 256];
    for byte in bytes {
        counts[usize::from(*byte)] += 1;
    }
    #[expect(clippy::cast_precision_loss, reason = "there are few")]
    let expected = bytes.len() as f64 / 256.0;
    let sum: f64 = counts.iter().map(|count| (f64::from(*count) - expected).powi(2) / expected).sum();
    sum < SUM_MAX
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Random bytes, by a generator that is known to be even.
    fn noise(seed: u64, length: usize) -> Vec<u8> {
        let mut state = seed;
        let mut next = || {
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            (mixed ^ (mixed >> 31)).to_le_bytes()
        };
        (0..length.div_ceil(8)).flat_map(|_| next()).take(length).collect()
    }

    #[test]
    fn noise_in_whole_pages_may_be_encrypted() {
        for seed in 0..500 {
            for length in [512, 1024, 4096] {
                let mut bytes = noise(seed, length);
                assert!(may_be_encrypted(&bytes, length as u64 * 3), "seed {seed}, {length} bytes");
                // The bytes that AEGIS leaves in the clear: the page size, versions, the reserved size.
                bytes[16..24].copy_from_slice(&[0x10, 0, 1, 1, 48, 64, 32, 32]);
                assert!(may_be_encrypted(&bytes, length as u64 * 3), "seed {seed}, {length} bytes");
            }
        }
    }

    #[test]
    fn what_is_surely_no_noise_is_not_taken_for_it() {
        let noise = noise(7, 4096);
        assert!(!may_be_encrypted(&noise, 4095), "no whole number of pages");
        assert!(!may_be_encrypted(&noise[..256], 256), "less than a page");
        let photo = [&b"\xff\xd8\xff\xe0\x00\x10JFIF"[..], &noise[10..]].concat();
        assert!(!may_be_encrypted(&photo, 8192), "a photo whose length happens to be that of pages");
        let text: Vec<u8> =
            b"It is a truth universally acknowledged. ".iter().copied().cycle().take(4096).collect();
        assert!(!may_be_encrypted(&text, 4096), "a text");
        let ascending: Vec<u8> = (0..4096u32).map(|at| (at / 40).to_le_bytes()[0]).collect();
        assert!(!may_be_encrypted(&ascending, 4096), "a table");
        assert!(!may_be_encrypted(&[0; 4096], 8192), "zeros");
    }
}
