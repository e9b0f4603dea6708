//! Sizes: of files, of functions, of blobs. What does not fit a head is split; what does not fit a clone is left out.

use crate::Findings;
use crate::rust::Source;

/// A source file longer than this fails.
pub const FILE_LINES_MAX: usize = 1_000;

/// A function longer than this fails.
pub const FUNCTION_LINES_MAX: usize = 70;

/// The README fails above this; its generated tables grow with what there is, and do not count.
pub const README_LINES_MAX: usize = 160;

/// A file of more bytes fails unless it is listed.
pub const FILE_BYTES_MAX: u64 = 512 << 10;

/// Checks the length of a text.
pub fn lines(path: &str, text: &str, lines_max: usize) -> Findings {
    let lines = text.lines().count();
    let too_long =
        (lines > lines_max).then(|| format!("{path}: {lines} lines, at most {lines_max}: split it"));
    too_long.into_iter().collect()
}

/// Checks the functions of a Rust file.
pub fn functions(path: &str, text: &str) -> Findings {
    let functions = Source::new(text).functions();
    let long = functions.into_iter().filter(|function| function.lines > FUNCTION_LINES_MAX);
    long.map(|function| {
        let (line, name, lines) = (function.line, function.name, function.lines);
        format!("{path}:{line}: `{name}` has {lines} lines, at most {FUNCTION_LINES_MAX}: split it")
    })
    .collect()
}

/// Checks the size of a file; `allowed` paths may be larger.
pub fn bytes(path: &str, bytes: u64, allowed: &[&str]) -> Findings {
    let too_large = bytes > FILE_BYTES_MAX && !allowed.iter().any(|allowed| path.starts_with(allowed));
    too_large.then(|| format!("{path}: {bytes} bytes, at most {FILE_BYTES_MAX}")).into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_file_and_a_long_function_are_found() {
        let body = "    x();\n".repeat(FUNCTION_LINES_MAX);
        assert_eq!(functions("a.rs", &format!("fn f() {{\n{body}}}\n")).len(), 1);
        assert_eq!(functions("a.rs", "fn f() {\n    x();\n}\n").len(), 0);
        assert_eq!(lines("a.rs", &"x\n".repeat(FILE_LINES_MAX + 1), FILE_LINES_MAX).len(), 1);
        assert_eq!(lines("a.rs", &"x\n".repeat(FILE_LINES_MAX), FILE_LINES_MAX).len(), 0);
    }

    #[test]
    fn a_blob_is_found_unless_it_is_allowed() {
        assert_eq!(bytes("assets/a.js", FILE_BYTES_MAX + 1, &[]).len(), 1);
        assert_eq!(bytes("assets/a.js", FILE_BYTES_MAX + 1, &["assets/"]).len(), 0);
        assert_eq!(bytes("assets/a.js", FILE_BYTES_MAX, &[]).len(), 0);
    }
}
