//! The two sanitizers that the store's tests are run under: how they are asked for, what they are told, and the mistakes
//! on purpose that each must see before it is believed.

use std::path::Path;

/// Races that are by design, each with a sentence that says why.
pub const RACES: &str = "crates/touchstone-store/tests/stress/races_by_design.txt";

/// Memory that tests lose on purpose, likewise.
pub const LEAKS: &str = "crates/touchstone-store/tests/stress/leaks_by_design.txt";

/// What a program's exit says where it had something to report.
const EXIT: u8 = 66;

/// A sanitizer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sanitizer {
    /// Of what is read and written beyond what was got, or after it was given back, and of what never is.
    Address,
    /// Of what threads use at once, ordered by nothing.
    Thread,
}

/// A mistake on purpose, or none, of `crates/touchstone-store/src/engine/canary.rs`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Canary {
    /// What it is called there.
    pub mistake: &'static str,
    /// What the report must say, and of which functions; nothing where there may be no report.
    pub told: &'static [&'static str],
}

const fn canary(mistake: &'static str, told: &'static [&'static str]) -> Canary {
    Canary { mistake, told }
}

const OF_ADDRESSES: [Canary; 5] = [
    canary("library reads beyond", &["heap-buffer-overflow", "library_beyond"]),
    canary("library reads what is freed", &["heap-use-after-free", "library_freed"]),
    canary("engine reads beyond", &["heap-buffer-overflow", "touchstone_canary_beyond"]),
    canary("engine reads what is freed", &["heap-use-after-free", "touchstone_canary_freed"]),
    canary("nothing", &[]),
];

const OF_THREADS: [Canary; 4] = [
    canary("library races", &["data race", "library_raced"]),
    canary("engine races", &["data race", "touchstone_canary_raced"]),
    canary("library and engine race", &["data race", "library_raced", "touchstone_canary_raced"]),
    // A standard library that is not instrumented makes races of what is none.
    canary("nothing", &[]),
];

impl Sanitizer {
    /// As the compilers call it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Sanitizer::Address => "address",
            Sanitizer::Thread => "thread",
        }
    }

    /// Whether the standard library is built anew, with the sanitizer in it. Threads meet in it, so one that is not
    /// instrumented hides where they do: every `Mutex` that two threads wait for is then a race. Memory is watched where it
    /// is got and given back, whoever does it, and what is generic is compiled with the store.
    #[must_use]
    pub fn builds_std(self) -> bool {
        self == Sanitizer::Thread
    }

    /// The variables that a program's sanitizer reads, and what they say. Reports go to files, one for each process: what a
    /// test starts may have nobody who reads what it says.
    #[must_use]
    pub fn told(self, root: &Path, reports: &Path) -> Vec<(&'static str, String)> {
        let suppressed =
            |list: &str| format!("suppressions={}:print_suppressions=0", root.join(list).display());
        let to = format!("log_path={}:exitcode={EXIT}", reports.display());
        match self {
            Sanitizer::Address => {
                let asked = "detect_leaks=1:detect_stack_use_after_return=1";
                vec![("ASAN_OPTIONS", format!("{to}:{asked}")), ("LSAN_OPTIONS", suppressed(LEAKS))]
            }
            Sanitizer::Thread => {
                let races = suppressed(RACES);
                vec![("TSAN_OPTIONS", format!("{to}:{races}:history_size=4:second_deadlock_stack=1"))]
            }
        }
    }

    /// What it must see, and what it must not.
    #[must_use]
    pub fn canaries(self) -> &'static [Canary] {
        match self {
            Sanitizer::Address => &OF_ADDRESSES,
            Sanitizer::Thread => &OF_THREADS,
        }
    }

    /// Tests that make no sense under it.
    #[must_use]
    pub fn skips(self, program: &str) -> &'static [&'static str] {
        match (self, program) {
            // What it knows of threads does not outlive a fork.
            (Sanitizer::Thread, "file") => &["forks::"],
            _ => &[],
        }
    }
}

impl Canary {
    /// Whether reports, and how the program ended, are as they must be.
    #[must_use]
    pub fn is_caught(&self, reports: &str, is_success: bool) -> bool {
        if self.told.is_empty() {
            return reports.is_empty() && is_success;
        }
        !is_success && self.told.iter().all(|words| reports.contains(words))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_canary_is_caught_by_a_report_that_names_it() {
        let [beyond, .., nothing] = OF_ADDRESSES;
        let report = "ERROR: AddressSanitizer: heap-buffer-overflow on address 0x1\n  #0 in touchstone_store::canary::library_beyond";
        assert!(beyond.is_caught(report, false));
        assert!(!beyond.is_caught("", false), "it crashed, and nobody has seen why");
        assert!(!beyond.is_caught("", true));
        assert!(
            !beyond.is_caught("heap-buffer-overflow in (program+0x1)", false),
            "no names, so none is suppressed"
        );
        assert!(nothing.is_caught("", true));
        assert!(!nothing.is_caught(report, false));
        assert!(!nothing.is_caught("", false));
    }

    #[test]
    fn every_suppression_says_why() {
        for list in [RACES, LEAKS] {
            let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(list);
            let text = std::fs::read_to_string(&path).expect("the list is there");
            let mut before = "";
            for line in text.lines().filter(|line| !line.is_empty()) {
                assert!(line.starts_with('#') || before.starts_with('#'), "`{line}` does not say why");
                before = line;
            }
        }
    }
}
