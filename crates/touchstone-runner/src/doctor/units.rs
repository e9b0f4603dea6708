//! Figures with their units for the doctor's page, as the report shows them and where it has none of its own.

pub(super) use touchstone::report::format::{count, duration, per_second as rate};

use touchstone::report::format::digits;

/// Bytes a second, in MB/s throughout so that rows compare: `4,210 MB/s`.
pub(super) fn throughput(bytes_per_s: f64) -> String {
    let megabytes = bytes_per_s / 1e6;
    let figure = if megabytes >= 999.5 { count(megabytes.round() as u64) } else { digits(megabytes) };
    format!("{figure} MB/s")
}

/// A size in whole binary steps: `4 KiB`.
pub(super) fn size(bytes: u64) -> String {
    match bytes {
        bytes if bytes >= 1 << 20 => format!("{} MiB", bytes >> 20),
        bytes => format!("{} KiB", bytes >> 10),
    }
}

/// A share: `25 %`.
pub(super) fn percent(share: f64) -> String {
    let percent = share * 100.0;
    match percent {
        0.0 => "0 %".into(),
        percent if percent < 0.05 => "< 0.1 %".into(),
        percent if percent < 9.95 => format!("{percent:.1} %"),
        percent => format!("{percent:.0} %"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_carry_their_unit() {
        assert_eq!(throughput(4_213_000_000.0), "4,213 MB/s");
        assert_eq!(throughput(82_400_000.0), "82.4 MB/s");
        assert_eq!(size(4096), "4 KiB");
        assert_eq!(size(64 << 20), "64 MiB");
        assert_eq!(percent(0.25), "25 %");
        assert_eq!(percent(0.0041), "0.4 %");
        assert_eq!(percent(0.0), "0 %");
        assert_eq!(percent(0.0001), "< 0.1 %");
    }
}
