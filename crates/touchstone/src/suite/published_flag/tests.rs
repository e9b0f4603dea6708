//! Flags of published figures against those of a page that gives them cause, and against tables that are honest.

use super::*;
use PublishedFlagKind::{
    AverageOfZero, AverageTooGreat, AverageTooSmall, BeyondMemory, ImpossiblePercentile, OtherDuration,
    OtherThroughput, WholeLatencies, WholeMilliseconds,
};

fn row() -> PublishedRow {
    PublishedRow { table: "table".into(), of: "row".into(), threads: Some(1), ..PublishedRow::default() }
}

/// The kinds of flags that rows of one source raise, with the arithmetic of each first row.
fn raised(rows: &[PublishedRow]) -> Vec<(PublishedFlagKind, String)> {
    let flags = flags_of("report", rows, Some(8e9));
    flags.into_iter().map(|flag| (flag.kind, flag.rows[0].arithmetic.clone())).collect()
}

/// A run of so many operations by a clock of whole milliseconds, or by a fine one, printed with so many decimals.
fn timed(operations: u64, ms: f64, decimals: usize) -> PublishedRow {
    let rate = format!("{:.decimals$}", operations as f64 * 1e3 / ms).parse().ok();
    PublishedRow { operations: Some(operations), per_second: rate, ..row() }
}

#[test]
fn rates_over_whole_milliseconds_are_told_from_those_of_a_fine_clock() {
    let coarse = [(10_000, 4.0), (10_000, 15.0), (20_000, 162.0), (25_600, 59.0), (1_000, 3_376.0)];
    let rows = coarse.map(|(operations, ms)| timed(operations, ms, 2));
    assert_eq!(
        raised(&rows),
        [(
            WholeMilliseconds,
            "10,000 at 2,500,000/s last 4 ms: a whole millisecond is 25 % of it".to_owned()
        )]
    );
    let fine = coarse.map(|(operations, ms)| timed(operations, ms + 0.37, 2));
    assert_eq!(raised(&fine), []);
    // Rates that are printed without decimals leave long durations open: any has a whole number in it.
    let open: Vec<PublishedRow> = (0..40).map(|at| timed(1_000, 3_376.37 + f64::from(at), 0)).collect();
    assert_eq!(raised(&open), []);
}

#[test]
fn one_row_of_another_clock_does_not_hide_the_others() {
    let mut rows: Vec<PublishedRow> = (4..20).map(|ms| timed(10_000, f64::from(ms), 0)).collect();
    rows.push(timed(10_000, 20.4, 0));
    let flags = flags_of("report", &rows, None);
    assert_eq!((flags.len(), flags[0].rows.len()), (1, 16));
}

/// Against the sum over all outcomes, which is exact.
#[test]
fn the_chance_bounds_the_probability_of_so_many() {
    let chances: [f64; 6] = [0.1, 0.5, 0.02, 0.9, 0.3, 0.07];
    for many in 1..=chances.len() {
        let exact: f64 = (0_u32..1 << chances.len())
            .filter(|outcome| outcome.count_ones() as usize >= many)
            .map(|outcome| {
                let factor =
                    |(at, chance): (usize, &f64)| if outcome >> at & 1 == 1 { *chance } else { 1.0 - chance };
                chances.iter().enumerate().map(factor).product::<f64>()
            })
            .sum();
        let bound = chance_of(many, &chances);
        assert!(bound >= exact - 1e-12, "{many}: {bound} below {exact}");
    }
    assert!((chance_of(6, &chances) - chances.iter().product::<f64>()).abs() < 1e-15);
}

#[test]
fn a_minute_of_6000_operations_at_258_a_second_lasts_23_seconds() {
    let minute = |operations| PublishedRow {
        operations: Some(operations),
        per_second: Some(258.04),
        seconds: Some(60.0),
        ..row()
    };
    let told = "6,000 at 258.04/s last 23.3 s, not 60 s".to_owned();
    assert_eq!(raised(&[minute(6_000)]), [(OtherDuration, told)]);
    assert_eq!(raised(&[minute(15_482)]), []);
}

#[test]
fn an_average_is_held_against_the_rate() {
    let average = |threads, rate, ms| PublishedRow {
        threads: Some(threads),
        per_second: Some(rate),
        average_ms: Some(ms),
        ..row()
    };
    let zero = "0 ms, where 433,898/s leave 0.0023 ms".to_owned();
    assert_eq!(raised(&[average(1, 433_898.0, 0.0)]), [(AverageOfZero, zero)]);
    let small = raised(&[average(1, 328_205.0, 0.000_039)]);
    assert_eq!(small[0].0, AverageTooSmall);
    assert_eq!(small[0].1, "0.000039 ms at 328,205/s keep 0.013 of one thread busy: it leaves 0.0030 ms");
    assert_eq!(raised(&[average(8, 2_044.99, 3.521), average(1, 296.21, 3.135)]), []);
    assert_eq!(raised(&[average(1, 296.21, 3.6)])[0].0, AverageTooGreat);
    // 3.4 is printed for 3.35 as well.
    assert_eq!(raised(&[average(1, 296.21, 3.4)]), []);
}

#[test]
fn percentiles_that_no_latencies_have_are_told() {
    let told = |average, p50, p95, p99, max| PublishedRow {
        average_ms: Some(average),
        p50_ms: p50,
        p95_ms: p95,
        p99_ms: p99,
        max_ms: max,
        ..row()
    };
    let only = |row: PublishedRow| raised(&[row]);
    assert_eq!(only(told(3.135, None, Some(5.0), Some(8.0), None)), []);
    let fallen = only(told(3.0, Some(9.0), Some(5.0), None, None));
    assert_eq!(fallen, [(ImpossiblePercentile, "a P50 of 9 ms is above a P95 of 5 ms".to_owned())]);
    let heavy = only(told(0.1, None, None, Some(41.0), None));
    assert_eq!(
        heavy,
        [(ImpossiblePercentile, "a P99 of 41 ms makes the average at least 0.41 ms, not 0.1 ms".to_owned())]
    );
    // A tool that rounds percentiles to two digits prints 310 for 305.
    assert_eq!(only(told(98.0, Some(92.0), None, Some(310.0), Some(305.6))), []);
    assert_eq!(only(told(98.0, Some(92.0), None, Some(311.0), Some(305.6))).len(), 1);
    let light = only(told(9.0, None, None, Some(2.0), Some(100.0)));
    assert_eq!(light[0].0, ImpossiblePercentile);
    assert_eq!(only(told(3.0, None, None, Some(2.0), Some(200.0))), []);
}

/// Figures of latencies that there are never contradict each other, however they are rounded.
#[test]
fn figures_of_real_latencies_are_possible() {
    let mut state = 7_u64;
    for round in 0..2_000 {
        let mut latencies: Vec<f64> = (0..1 + round % 200)
            .map(|_| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                ((state >> 40) as f64 / 1e5).powi(3)
            })
            .collect();
        latencies.sort_by(f64::total_cmp);
        let at = |share: f64| latencies[((latencies.len() as f64 * share).ceil() as usize).max(1) - 1];
        let rounded = |value: f64| (value * 10_f64.powi(round % 4)).round() / 10_f64.powi(round % 4);
        let average = latencies.iter().sum::<f64>() / latencies.len() as f64;
        let row = PublishedRow {
            average_ms: Some(rounded(average)),
            p50_ms: Some(rounded(at(0.5))),
            p95_ms: Some(rounded(at(0.95))),
            p99_ms: Some(rounded(at(0.99))),
            max_ms: Some(rounded(at(1.0))),
            ..row()
        };
        assert_eq!(percentiles(&row), None, "{row:?}");
    }
}

#[test]
fn whole_latencies_matter_where_a_millisecond_is_much() {
    let told = |p95, p99| PublishedRow { p95_ms: Some(p95), p99_ms: Some(p99), ..row() };
    let coarse = vec![told(7.0, 8.0); 4];
    assert_eq!(
        raised(&coarse),
        [(WholeLatencies, "7 and 8 ms, where a millisecond is 14 % of the least".to_owned())]
    );
    assert_eq!(raised(&vec![told(710.0, 1_200.0); 4]), []);
    assert_eq!(raised(&[coarse.clone(), vec![told(7.0, 8.5)]].concat()), []);
    assert_eq!(raised(&coarse[..3]), []);
}

#[test]
fn bytes_a_second_are_operations_a_second() {
    let disk = |mib| PublishedRow {
        per_second: Some(433_898.0),
        operation_bytes: Some(4_096),
        mib_per_second: Some(mib),
        ..row()
    };
    assert_eq!(raised(&[disk(1_694.92)]), []);
    assert_eq!(raised(&[disk(1_777.0)]), [], "megabytes are as good");
    let other = "433,898/s of 4,096 bytes are 1694.91 MiB/s, not 3,389.84".to_owned();
    assert_eq!(raised(&[disk(3_389.84)]), [(OtherThroughput, other)]);
    let quick = PublishedRow { mib_per_second: Some(9_000.0), ..row() };
    assert_eq!(
        raised(&[quick]),
        [(BeyondMemory, "9,000 MiB/s, where this machine copies 7629 MiB/s".to_owned())]
    );
}

#[test]
fn a_number_stands_for_all_that_are_printed_so() {
    assert_eq!(Printed::of(258.04), Printed { low: 258.035, high: 258.045 });
    assert_eq!(Printed::of(433_898.0), Printed { low: 433_897.5, high: 433_898.5 });
    assert_eq!(Printed::of(0.0), Printed { low: 0.0, high: 0.5 });
    let tiny = Printed::of(0.000_039);
    assert!((tiny.high - 0.000_039_5).abs() < 1e-12 && (tiny.low - 0.000_038_5).abs() < 1e-12);
}

/// What a reader of SQLCC's report found in it by hand, and what the page of this project says of it.
#[test]
fn the_report_of_a_storage_engine_gives_itself_away() {
    let suite =
        Suite::parse(include_str!("../../../../../suites/sqlcc.toml"), "sqlcc.toml").expect("it is a suite");
    let flags = suite.published_flags(None);
    let of = |kind| {
        let flag = flags.iter().find(|flag| flag.kind == kind);
        flag.map_or(Vec::new(), |flag| flag.rows.iter().map(|row| row.arithmetic.as_str()).collect())
    };
    let kinds: Vec<PublishedFlagKind> = flags.iter().map(|flag| flag.kind).collect();
    assert_eq!(kinds, [WholeMilliseconds, WholeLatencies, OtherDuration, AverageOfZero, AverageTooSmall]);
    let rows = suite.published_rows.len();
    // One of them, 1,000 at 253.17 a second, misses a whole number by less than a hundredth of a millisecond.
    assert_eq!((rows, of(WholeMilliseconds).len()), (45, 44));
    for told in [
        "10,000 at 2,500,000/s last 4 ms: a whole millisecond is 25 % of it",
        "25,600 at 433,898/s last 59 ms: a whole millisecond is 2 % of it",
        "25,600 at 691,892/s last 37 ms: a whole millisecond is 3 % of it",
        "1,000 at 2,044.99/s last 489 ms",
    ] {
        assert!(of(WholeMilliseconds).contains(&told), "{told}: {:?}", of(WholeMilliseconds));
    }
    assert_eq!(
        of(OtherDuration),
        ["6,000 at 258.04/s last 23.3 s, not 60 s", "30,000 at 256.59/s last 116.9 s, not 300 s"]
    );
    assert_eq!(of(WholeLatencies).len(), 14);
    assert_eq!(of(AverageOfZero).len(), 21);
    assert_eq!(
        of(AverageTooSmall),
        ["0.000039 ms at 328,205/s keep 0.013 of one thread busy: it leaves 0.0030 ms"]
    );
}
