//! Figures with their units, three significant digits each, for the doctor's page.

/// A time: `13.4 µs`.
pub(super) fn duration(ns: f64) -> String {
    scaled(ns, &[("ns", 1.0), ("µs", 1e3), ("ms", 1e6), ("s", 1e9)])
}

/// Bytes a second, in MB/s throughout so that rows compare: `4,210 MB/s`.
pub(super) fn throughput(bytes_per_s: f64) -> String {
    let megabytes = bytes_per_s / 1e6;
    let figure = if megabytes >= 999.5 { count(megabytes.round() as u64) } else { digits(megabytes) };
    format!("{figure} MB/s")
}

/// Operations a second: `1.03 M/s`.
pub(super) fn rate(per_s: f64) -> String {
    let text = scaled(per_s, &[("", 1.0), ("k", 1e3), ("M", 1e6), ("G", 1e9)]);
    format!("{}/s", text.trim_end())
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

/// A whole number with its thousands apart: `100,000`.
pub(super) fn count(count: u64) -> String {
    let figures = count.to_string();
    let mut grouped = String::new();
    for (place, figure) in figures.chars().enumerate() {
        if place > 0 && (figures.len() - place).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(figure);
    }
    grouped
}

/// The largest unit in which the figure is at least 1 once it is rounded.
fn scaled(value: f64, units: &[(&str, f64)]) -> String {
    let fitting = units.iter().rev().find(|(_, unit)| value >= unit * 0.9995).unwrap_or(&units[0]);
    format!("{} {}", digits(value / fitting.1), fitting.0)
}

fn digits(value: f64) -> String {
    match value {
        0.0 => "0".into(),
        value if value >= 99.95 => format!("{value:.0}"),
        value if value >= 9.995 => format!("{value:.1}"),
        value => format!("{value:.2}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_have_three_digits_and_a_unit() {
        assert_eq!(duration(24.04), "24.0 ns");
        assert_eq!(duration(999.7), "1.00 µs");
        assert_eq!(duration(1_960_000.0), "1.96 ms");
        assert_eq!(duration(0.0), "0 ns");
        assert_eq!(throughput(4_213_000_000.0), "4,213 MB/s");
        assert_eq!(throughput(82_400_000.0), "82.4 MB/s");
        assert_eq!(rate(1_030_000.0), "1.03 M/s");
        assert_eq!(rate(500.0), "500/s");
        assert_eq!(size(4096), "4 KiB");
        assert_eq!(size(64 << 20), "64 MiB");
        assert_eq!(percent(0.25), "25 %");
        assert_eq!(percent(0.0041), "0.4 %");
        assert_eq!(percent(0.0), "0 %");
        assert_eq!(percent(0.0001), "< 0.1 %");
        assert_eq!(count(1_234_567), "1,234,567");
    }
}
