//! What went wrong, among all that a driver said on standard error. A driver that dies rarely says so in its last line: below the
//! error stand the frames of its stack, and a JVM that says nothing has greeted.

use touchstone::name::is_unreadable;

/// What is kept of it, in characters.
const WORDS_MAX: usize = 300;

/// In front of the first failure of each kind, as kits tell them.
const FIRST_WITH: &str = "), the first with: ";

/// The words that say best why a driver ended; none where it said nothing, or greeted only.
pub(crate) fn why_ended(stderr: &str) -> Option<String> {
    let said: Vec<&str> = stderr.lines().filter(|line| !line.trim().is_empty() && !is_aside(line)).collect();
    // Whoever waited for a thread that panicked may panic of it, so that the first says why.
    if let Some(head) =
        said.iter().position(|line| line.starts_with("thread '") && line.contains(" panicked at "))
    {
        let message = said.get(head + 1).copied().unwrap_or_default();
        return Some(one_line(&[said[head], message]));
    }
    let last = said.iter().rposition(|line| !is_indented(line));
    let Some(last) = last else { return said.last().map(|line| one_line(&[line])) };
    // C++ says what an exception says below its type.
    let what = said.get(last + 1).filter(|line| line.trim_start().starts_with("what():"));
    Some(one_line(&[said[last], what.copied().unwrap_or_default()]))
}

/// With what the first operation failed, in the words in which every kit tells it; none where no kit did.
pub(crate) fn first_failure(stderr: &str) -> Option<String> {
    let first = stderr.lines().find_map(|line| line.split_once(FIRST_WITH))?;
    Some(one_line(&[first.1])).filter(|words| !words.is_empty())
}

/// What a runtime says of itself, with or without an error.
fn is_aside(line: &str) -> bool {
    ["NOTE: Picked up ", "Picked up ", "note: ", "stack backtrace:"]
        .iter()
        .any(|aside| line.starts_with(aside))
}

/// Frames of a stack, the code that they were in, and other details of the line above.
fn is_indented(line: &str) -> bool {
    line.starts_with(char::is_whitespace)
}

fn one_line(lines: &[&str]) -> String {
    let words: Vec<&str> = lines.iter().map(|line| line.trim()).filter(|line| !line.is_empty()).collect();
    words.join(" ").chars().filter(|character| !is_unreadable(*character)).take(WORDS_MAX).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(stderr: &str, why: &str) {
        assert_eq!(why_ended(stderr).as_deref(), Some(why), "{stderr}");
    }

    const GREETING: &str = "NOTE: Picked up JDK_JAVA_OPTIONS:  \"-Djava.io.tmpdir=/scratch/temporary\"\n";

    #[test]
    fn java_says_it_above_the_frames() {
        let thrown = "Exception in thread \"main\" java.lang.OutOfMemoryError: Java heap space\n\
                      \tat touchstone.liar.Liar$Rows.get(Liar.java:34)\n\
                      \tat touchstone.liar.Liar.main(Liar.java:17)\n";
        let why = "Exception in thread \"main\" java.lang.OutOfMemoryError: Java heap space";
        check(&format!("{GREETING}{thrown}"), why);
        let caused = "Caused by: java.lang.NoSuchMethodError: 'void touchstone.kit.Lane.<init>()'\n\
                      \tat touchstone.kit.Session.run(Session.java:3)\n\t... 3 more\n";
        check(
            &format!("{thrown}{caused}"),
            "Caused by: java.lang.NoSuchMethodError: 'void touchstone.kit.Lane.<init>()'",
        );
    }

    #[test]
    fn a_jvm_that_only_greeted_said_nothing() {
        assert_eq!(why_ended(GREETING), None);
        assert_eq!(why_ended("Picked up JAVA_TOOL_OPTIONS: -Xmx1g\n"), None);
        assert_eq!(why_ended(" \n\n"), None);
    }

    #[test]
    fn python_says_it_last() {
        check(
            "Traceback (most recent call last):\n  File \"liar.py\", line 9, in get\n    \
             raise RuntimeError(\"no such row\")\n    ^^^^^^^^^^^^\nRuntimeError: no such row\n",
            "RuntimeError: no such row",
        );
        check(
            "  File \"liar.py\", line 1\n    import = 3\n           ^\nSyntaxError: invalid syntax\n",
            "SyntaxError: invalid syntax",
        );
    }

    #[test]
    fn cpp_says_a_type_and_below_it_what() {
        check(
            "terminate called after throwing an instance of 'std::runtime_error'\n  what():  disk I/O error\n",
            "terminate called after throwing an instance of 'std::runtime_error' what():  disk I/O error",
        );
        check("free(): invalid pointer\n", "free(): invalid pointer");
    }

    #[test]
    fn rust_says_where_and_below_it_why() {
        let panic = "\nthread 'main' (4711) panicked at drivers/src/bin/liar.rs:12:5:\nno such row\n";
        let why = "thread 'main' (4711) panicked at drivers/src/bin/liar.rs:12:5: no such row";
        let note = "note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace\n";
        check(&format!("{panic}{note}"), why);
        let frames =
            "stack backtrace:\n   0: __rustc::rust_begin_unwind\n             at ./panicking.rs:689:5\n";
        check(&format!("{panic}{frames}"), why);
        let joined = "\nthread 'main' panicked at src/lanes.rs:3:4:\nlanes do not panic: Any { .. }\n";
        check(&format!("{panic}{note}{joined}"), why);
    }

    #[test]
    fn a_kit_tells_with_what_the_first_operation_failed() {
        let told = "watching\n280 operations failed (other), the first with: no such row: 7\n\
                    3 operations failed (busy), the first with: database is locked\n";
        assert_eq!(first_failure(told).as_deref(), Some("no such row: 7"));
        assert_eq!(first_failure("1 operations failed (other), the first with: \n"), None);
        assert_eq!(first_failure("no widget here\n"), None);
    }

    #[test]
    fn words_of_one_line_are_all_that_is_said() {
        check("starting\nno widget here\n", "no widget here");
        check("  all is indented\n", "all is indented");
        check("\u{1b}[31mno widget\u{7}\n", "[31mno widget");
        check("no \u{202e}widget\u{200b}\n", "no widget");
        assert_eq!(why_ended(&"x".repeat(1000)).unwrap().len(), WORDS_MAX);
    }
}
