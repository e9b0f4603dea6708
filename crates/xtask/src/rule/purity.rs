//! Who may do what: only a kit reads a clock around a subject, the core touches nothing impure, renderers decide
//! nothing, and tests neither sleep nor hide.

use crate::Findings;
use crate::rust::{Source, line_of, words};

/// How a program reads a clock, by the ending of its file.
const CLOCKS: [(&str, &[&str]); 8] = [
    (".rs", &["Instant", "SystemTime", "clock_gettime", "clock_gettime_nsec_np", "_rdtsc"]),
    (".c", &["clock_gettime", "gettimeofday", "__rdtsc"]),
    (
        ".cpp",
        &[
            "clock_gettime",
            "gettimeofday",
            "__rdtsc",
            "steady_clock",
            "system_clock",
            "high_resolution_clock",
        ],
    ),
    (".mm", &["clock_gettime", "gettimeofday", "__rdtsc", "steady_clock", "system_clock", "NSDate"]),
    (".go", &["time.Now", "time.Since"]),
    (".py", &["perf_counter", "perf_counter_ns", "monotonic_ns", "time.time"]),
    (".ts", &["performance.now", "Date.now", "hrtime"]),
    (".java", &["nanoTime", "currentTimeMillis"]),
];

/// What the pure core may not speak of: processes, clocks, the network, threads.
const IMPURE: [&str; 6] = ["Instant", "SystemTime", "Command", "TcpStream", "thread", "clock_gettime"];

/// Where verdicts are made: what a renderer may not call.
const DECISIONS: [&str; 12] = [
    "decide",
    "decide_family",
    "null_arm_moved",
    "judge",
    "paired",
    "from_launches",
    "from_launch_values",
    "holm",
    "holm_adjusted",
    "benjamini_hochberg",
    "estimate::estimate",
    "verdict::compare",
];

/// Checks a file of a driver: the kit reads the clock, nobody else.
pub fn no_clock(path: &str, text: &str) -> Findings {
    let Some((_, clocks)) = CLOCKS.iter().find(|(ending, _)| path.ends_with(ending)) else {
        return Vec::new();
    };
    found(path, &code_of(path, text), clocks, "reads a clock: only kits/*/kit/ may")
}

/// Checks a file of the pure core.
pub fn pure(path: &str, text: &str) -> Findings {
    found(path, &Source::new(text).code, &IMPURE, "is impure: it belongs to the runner")
}

/// Checks a file of the report.
pub fn decides_nothing(path: &str, text: &str) -> Findings {
    found(path, &Source::new(text).code, &DECISIONS, "decides: that is the verdict's to do")
}

/// Checks the tests of a Rust file, which begin on line `begin`.
pub fn honest_tests(path: &str, text: &str, begin: usize) -> Findings {
    let source = Source::new(text);
    let patterns = ["#[ignore", "should_panic", "thread::sleep"];
    let all = patterns.iter().flat_map(|pattern| source.code.match_indices(pattern));
    let lines =
        all.map(|(at, pattern)| (line_of(&source.code, at), pattern)).filter(|(line, _)| *line >= begin);
    lines
        .map(|(line, pattern)| format!("{path}:{line}: `{pattern}` in a test: it would prove nothing"))
        .collect()
}

/// The text without Rust's comments, strings and tests; of other languages, the text as it is.
fn code_of(path: &str, text: &str) -> String {
    if !path.ends_with(".rs") {
        return text.to_owned();
    }
    let source = Source::new(text);
    let before_tests = source.tests_begin().map_or(usize::MAX, |line| line - 1);
    source.code.lines().take(before_tests).fold(String::new(), |code, line| code + line + "\n")
}

fn found(path: &str, code: &str, forbidden: &[&str], why: &str) -> Findings {
    let all = forbidden.iter().flat_map(|word| words(code, word).map(move |at| (line_of(code, at), *word)));
    all.map(|(line, word)| format!("{path}:{line}: `{word}` {why}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_in_a_driver_is_found() {
        let bad = "fn get() { let start = std::time::Instant::now(); }";
        assert_eq!(no_clock("kits/rust/drivers/src/bin/x.rs", bad).len(), 1);
        assert_eq!(no_clock("kits/python/drivers/x.py", "start = time.perf_counter_ns()").len(), 1);
        assert_eq!(
            no_clock("kits/cpp/drivers/x.cpp", "auto start = std::chrono::steady_clock::now();").len(),
            1
        );
        assert_eq!(no_clock("kits/objc/drivers/x.mm", "NSDate *start = [NSDate date];").len(), 2);
        assert_eq!(no_clock("kits/rust/drivers/src/bin/x.rs", "// no Instant here\n\"Instant\";").len(), 0);
        let in_tests = "#[cfg(test)]\nmod tests { fn f() { Instant::now() } }";
        assert_eq!(no_clock("kits/rust/drivers/src/bin/x.rs", in_tests).len(), 0, "a deadline in a test");
    }

    #[test]
    fn a_process_in_the_core_is_found() {
        assert_eq!(pure("plan.rs", "use std::process::Command;").len(), 1);
        assert_eq!(pure("plan.rs", "/// The command.\npub command: String,").len(), 0);
    }

    #[test]
    fn a_renderer_that_decides_is_found() {
        assert_eq!(decides_nothing("report/html.rs", "use crate::statistics::decide;").len(), 1);
        assert_eq!(decides_nothing("report/html.rs", "let v = crate::verdict::compare(a, b);").len(), 1);
        assert_eq!(
            decides_nothing("report/html.rs", "use crate::statistics::P_LOOK;\nlet decided = 1;").len(),
            0
        );
    }

    #[test]
    fn a_test_that_sleeps_or_hides_is_found() {
        let bad = "#[test]\n#[ignore = \"slow\"]\nfn f() { std::thread::sleep(x) }";
        assert_eq!(honest_tests("crates/x/tests/y.rs", bad, 1).len(), 2);
        assert_eq!(honest_tests("crates/x/src/y.rs", bad, 4).len(), 0, "its tests begin below");
        assert_eq!(honest_tests("crates/x/src/y.rs", "#[should_panic]", 1).len(), 1);
    }
}
