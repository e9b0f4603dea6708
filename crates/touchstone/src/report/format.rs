//! Numbers as people read them: three significant digits, the unit last, the same in the terminal and on the
//! page.

pub use crate::count::count;

/// What stands where there is no figure.
pub(super) const NONE: &str = "–";

const SI: [&str; 4] = ["", "k", "M", "G"];
const BINARY: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];

/// Operations a second, from the time of one: `3.04 M/s`.
pub(super) fn rate(operation_ns: f64) -> String {
    per_second(1e9 / operation_ns)
}

/// A number a second: `3.04 M/s`.
pub fn per_second(rate: f64) -> String {
    let (scaled, step) = scale(rate, 1e3, SI.len());
    format!("{} {}/s", digits(scaled), SI[step])
}

/// A time: `13.4 µs`.
pub fn duration(ns: f64) -> String {
    let (scaled, step) = scale(ns, 1e3, 4);
    format!("{} {}", digits(scaled), ["ns", "µs", "ms", "s"][step])
}

/// How long a run took: `41 s`, `5 min 12 s`, `2 h 3 min`.
pub(super) fn elapsed(seconds: f64) -> String {
    let whole = seconds.round().max(0.0) as u64;
    match whole {
        0..60 => format!("{whole} s"),
        60..3_600 => format!("{} min {} s", whole / 60, whole % 60),
        _ => format!("{} h {} min", whole / 3_600, whole % 3_600 / 60),
    }
}

/// Bytes in binary steps: `4.00 KiB`.
pub fn bytes(bytes: f64) -> String {
    let (scaled, step) = scale(bytes, 1_024.0, BINARY.len());
    let figure = if step == 0 { format!("{scaled:.0}") } else { digits(scaled) };
    format!("{figure} {}", BINARY[step])
}

/// A ratio, with more decimals where it is near 1 and a hundredth matters; a very small one as a fraction.
pub fn ratio(ratio: f64) -> String {
    ratio_like(ratio, ratio)
}

/// A ratio in the manner of another, so that an interval reads like the figure it belongs to.
fn ratio_like(ratio: f64, figure: f64) -> String {
    match ratio {
        r if r <= 0.0 => "0".into(),
        r if figure < 0.00995 => format!("1/{}", digits(1.0 / r)),
        r if r >= 999.5 => count(r.round() as u64),
        r if r >= 99.95 => format!("{r:.0}"),
        r if r >= 9.995 => format!("{r:.1}"),
        r if r >= 1.9995 => format!("{r:.2}"),
        r => format!("{r:.3}"),
    }
}

/// The interval around a ratio; none where the launches were too few to bound it.
pub(super) fn ratio_interval(figure: f64, low: Option<f64>, high: Option<f64>) -> Option<String> {
    interval(low, high, |end| ratio_like(end, figure))
}

/// Two ends, each shown by `show`; none where the launches were too few to bound them.
pub(super) fn interval(low: Option<f64>, high: Option<f64>, show: impl Fn(f64) -> String) -> Option<String> {
    Some(format!("{}–{}", show(low?), show(high?)))
}

/// A measured share as a percentage: `95 %`, `2.0 %`.
pub(super) fn percent(share: f64) -> String {
    let percent = share * 100.0;
    if percent.abs() < 9.95 && percent.abs() >= 0.05 {
        format!("{percent:.1} %")
    } else {
        format!("{percent:.0} %")
    }
}

/// A share that was chosen, such as a margin, as a percentage: `1 %`, `2.5 %`.
pub(super) fn percent_chosen(share: f64) -> String {
    format!("{} %", (share * 1_000.0).round() / 10.0)
}

/// A figure as it was published, with its thousands apart: `1,157,285.5`.
pub(super) fn grouped(figure: f64) -> String {
    let written = figure.to_string();
    let (whole, decimals) = written.split_at(written.find('.').unwrap_or(written.len()));
    whole.parse().map_or(written.clone(), |whole| format!("{}{decimals}", count(whole)))
}

/// A count with its noun: `1 launch`, `8 launches`.
pub(super) fn counted(number: u64, one: &str, many: &str) -> String {
    format!("{} {}", count(number), if number == 1 { one } else { many })
}

/// `a`, `a and b`, `a, b and c`.
pub(super) fn listed<T: AsRef<str>>(items: &[T]) -> String {
    match items {
        [] => String::new(),
        [only] => only.as_ref().to_owned(),
        [first @ .., last] => {
            let first: Vec<&str> = first.iter().map(AsRef::as_ref).collect();
            format!("{} and {}", first.join(", "), last.as_ref())
        }
    }
}

/// The largest step in which the figure, rounded to three digits, stays below the next.
fn scale(value: f64, base: f64, steps: usize) -> (f64, usize) {
    let mut scaled = value;
    let mut step = 0;
    while scaled.abs() >= base * 0.9995 && step + 1 < steps {
        scaled /= base;
        step += 1;
    }
    (scaled, step)
}

/// Three significant digits, and a plain 0 for nothing.
pub fn digits(value: f64) -> String {
    match value.abs() {
        0.0 => "0".into(),
        v if v >= 99.95 => format!("{value:.0}"),
        v if v >= 9.995 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_keep_three_digits_and_never_round_up_into_the_next_unit() {
        assert_eq!(rate(328.5), "3.04 M/s");
        assert_eq!(per_second(999_700.0), "1.00 M/s");
        assert_eq!(per_second(48.23), "48.2 /s");
        assert_eq!(duration(13_437.0), "13.4 µs");
        assert_eq!(duration(999_960.0), "1.00 ms");
        assert_eq!(duration(0.0), "0 ns");
        assert_eq!(duration(93e9), "93.0 s");
        assert_eq!(bytes(4_096.0), "4.00 KiB");
        assert_eq!(bytes(512.0), "512 B");
    }

    #[test]
    fn ratios_near_one_keep_their_thousandths() {
        let shown = |values: &[f64]| values.iter().map(|value| ratio(*value)).collect::<Vec<_>>().join(" ");
        assert_eq!(shown(&[0.9953, 1.0021, 1.352, 2.754]), "0.995 1.002 1.352 2.75");
        assert_eq!(shown(&[14.23, 142.7, 12_345.6]), "14.2 143 12,346");
        assert_eq!(shown(&[0.0123, 0.00041, 0.0]), "0.012 1/2439 0");
        assert_eq!(ratio_interval(1.35, Some(1.3014), Some(1.412)).as_deref(), Some("1.301–1.412"));
        assert_eq!(ratio_interval(0.017, Some(0.0078), Some(0.038)).as_deref(), Some("0.008–0.038"));
        assert_eq!(ratio_interval(0.005, Some(0.0043), Some(0.0125)).as_deref(), Some("1/233–1/80.0"));
        assert_eq!(ratio_interval(1.35, None, Some(1.4)), None);
    }

    #[test]
    fn counts_shares_and_lists_read_as_written_by_hand() {
        assert_eq!(grouped(1_157_285.5), "1,157,285.5");
        assert_eq!(grouped(0.0927), "0.0927");
        assert_eq!(grouped(70_000.0), "70,000");
        assert_eq!(percent(0.953), "95 %");
        assert_eq!(percent(0.0432), "4.3 %");
        assert_eq!(percent(0.02), "2.0 %");
        assert_eq!(percent(0.0), "0 %");
        assert_eq!(percent_chosen(0.01), "1 %");
        assert_eq!(percent_chosen(0.025), "2.5 %");
        assert_eq!(counted(1, "launch", "launches"), "1 launch");
        assert_eq!(listed(&["a", "b", "c"]), "a, b and c");
        assert_eq!(elapsed(312.4), "5 min 12 s");
    }
}
