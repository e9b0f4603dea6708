//! Figures as people read them: three digits, with their unit.

/// A duration in nanoseconds.
///
/// ```
/// # use touchstone_load::report::duration;
/// assert_eq!((duration(22_300_000.0), duration(950.0), duration(1.5e9)), ("22.3 ms".into(), "950 ns".into(), "1.50 s".into()));
/// ```
pub fn duration(ns: f64) -> String {
    let units = [(1e9, "s"), (1e6, "ms"), (1e3, "µs"), (1.0, "ns")];
    let (size, unit) = units.into_iter().find(|(size, _)| ns >= size * 0.9995).unwrap_or((1.0, "ns"));
    let digits = if size == 1.0 { format!("{:.0}", ns) } else { three_digits(ns / size) };
    format!("{digits} {unit}")
}

/// Seconds.
pub fn seconds(seconds: f64) -> String {
    format!("{} s", if seconds == seconds.round() { format!("{seconds:.0}") } else { three_digits(seconds) })
}

/// A share, in percent.
pub fn share(share: f64) -> String {
    format!("{} %", if share == 0.0 { "0".into() } else { three_digits(share * 100.0) })
}

/// A number of things, its thousands apart.
pub fn count(number: f64) -> String {
    if number < 100.0 && number != number.round() {
        return three_digits(number);
    }
    let digits = format!("{:.0}", number);
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

fn three_digits(number: f64) -> String {
    match number.abs() {
        size if size >= 99.95 => format!("{number:.0}"),
        size if size >= 9.995 => format!("{number:.1}"),
        size if size >= 0.9995 => format!("{number:.2}"),
        _ => format!("{number:.3}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short_and_exact_enough() {
        assert_eq!(count(61_682.0), "61,682");
        assert_eq!(count(1_000_000.0), "1,000,000");
        assert_eq!(count(0.5), "0.500");
        assert_eq!(count(7.0), "7");
        assert_eq!(share(0.001), "0.100 %");
        assert_eq!(seconds(20.0), "20 s");
        assert_eq!(duration(999_600.0), "1.00 ms");
        assert_eq!(duration(0.0), "0 ns");
    }
}
