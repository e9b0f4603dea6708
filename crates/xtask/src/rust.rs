//! Just enough of Rust's grammar for tidy: where comments, strings and functions begin and end.
//!
//! Not a parser: it never looks at types or macros, and whatever compiles passes through it.

use std::ops::Range;

/// A Rust file taken apart. All three texts have the length and the lines of the file; what belongs to the others is
/// blank in them.
#[derive(Clone, Debug)]
pub struct Source {
    /// The code without comments and without what stands between quotes.
    pub code: String,
    /// Comments only.
    pub comments: String,
    /// String literals, each with the line it begins on.
    pub strings: Vec<(usize, String)>,
}

/// A function and its length.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Function {
    /// Its name.
    pub name: String,
    /// The line of its `fn`, from 1.
    pub line: usize,
    /// Lines from its `fn` to its closing brace, without those that only hold a string: a snapshot is data.
    pub lines: usize,
}

impl Source {
    /// Takes a file apart.
    pub fn new(text: &str) -> Source {
        let bytes = text.as_bytes();
        let mut code = blank(text);
        let mut comments = blank(text);
        let mut strings = Vec::new();
        let mut at = 0;
        while at < bytes.len() {
            let (kind, end) = piece(bytes, at);
            match kind {
                Piece::Code => code[at..end].copy_from_slice(&bytes[at..end]),
                Piece::Comment => comments[at..end].copy_from_slice(&bytes[at..end]),
                Piece::String(inside) => {
                    strings.push((line_of(text, at), text[inside].to_owned()));
                    // The quotes stay, so that a call without its argument still looks like a call.
                    (code[at], code[end - 1]) = (b'"', b'"');
                }
                Piece::Character => (code[at], code[end - 1]) = (b'\'', b'\''),
            }
            at = end;
        }
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        Source { code: text(code), comments: text(comments), strings }
    }

    /// Every function with its length, by counting braces.
    pub fn functions(&self) -> Vec<Function> {
        let mut functions = Vec::new();
        for at in words(&self.code, "fn") {
            let rest = &self.code[at + 2..];
            let name: String =
                rest.trim_start().chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
            // A type such as `fn(u8) -> u8` has no name, a method without a body ends before a brace opens.
            let Some(body) = (!name.is_empty()).then(|| body(rest)).flatten() else { continue };
            let line = line_of(&self.code, at);
            let last = line + rest[..body].matches('\n').count();
            let data =
                self.strings.iter().map(|(from, text)| inner_lines(*from, text, line, last)).sum::<usize>();
            functions.push(Function { name, line, lines: last - line + 1 - data });
        }
        functions
    }

    /// The modules of files of their own that are compiled for tests only: `#[cfg(test)] mod name;`.
    pub fn test_modules(&self) -> Vec<String> {
        let after = self.code.split("#[cfg(test)]").skip(1);
        let named = after.filter_map(|rest| rest.trim_start().strip_prefix("mod ")?.split_once(';'));
        named.map(|(name, _)| name.trim().to_owned()).filter(|name| !name.contains('{')).collect()
    }

    /// The line of the first module of tests, from which on the file is tests.
    pub fn tests_begin(&self) -> Option<usize> {
        let module = |(at, mark): &(usize, &str)| {
            let rest = self.code[at + mark.len()..].trim_start();
            rest.starts_with("mod ") && rest.find('{') < rest.find(';').or(Some(usize::MAX))
        };
        let mut marks = self.code.match_indices("#[cfg(test)]").filter(module);
        marks.next().map(|(at, _)| line_of(&self.code, at))
    }
}

/// The lines between `first` and `last` that hold nothing but a string which begins on line `from`.
fn inner_lines(from: usize, text: &str, first: usize, last: usize) -> usize {
    let breaks = text.matches('\n').count();
    if from >= first && from + breaks <= last { breaks.saturating_sub(1) } else { 0 }
}

/// The line, from 1, of a byte of a text.
pub fn line_of(text: &str, at: usize) -> usize {
    text.as_bytes()[..at].iter().filter(|byte| **byte == b'\n').count() + 1
}

/// Where `word` stands in `code` as a word of its own.
pub fn words<'c>(code: &'c str, word: &'c str) -> impl Iterator<Item = usize> + 'c {
    let part_of_word =
        |byte: Option<&u8>| byte.is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_');
    let bytes = code.as_bytes();
    code.match_indices(word).map(|(at, _)| at).filter(move |at| {
        !part_of_word(at.checked_sub(1).and_then(|before| bytes.get(before)))
            && !part_of_word(bytes.get(at + word.len()))
    })
}

enum Piece {
    Code,
    Character,
    Comment,
    String(Range<usize>),
}

/// What begins at `at`, and where it ends.
fn piece(bytes: &[u8], at: usize) -> (Piece, usize) {
    let rest = &bytes[at..];
    if rest.starts_with(b"//") {
        let length = rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len());
        return (Piece::Comment, at + length);
    }
    if rest.starts_with(b"/*") {
        return (Piece::Comment, at + block_comment(rest));
    }
    let word_before = at > 0 && (bytes[at - 1].is_ascii_alphanumeric() || bytes[at - 1] == b'_');
    let prefix = if word_before { 0 } else { string_prefix(rest) };
    let raw = prefix > 0 && rest[prefix - 1] == b'r';
    if raw && let Some((hashes, end)) = raw_string(rest, prefix) {
        return (Piece::String(at + prefix + hashes + 1..at + end - 1 - hashes), at + end);
    }
    if !raw && rest.get(prefix) == Some(&b'"') {
        let end = at + prefix + 1 + plain_string(&rest[prefix + 1..]);
        return (Piece::String(at + prefix + 1..end - 1), end);
    }
    if rest[0] == b'\'' {
        let length = character(rest);
        return (if length > 1 { Piece::Character } else { Piece::Code }, at + length);
    }
    (Piece::Code, at + 1)
}

/// The length of `b`, `c`, `r`, `br` or `cr` before a quote or a hash; 0 where there is none.
fn string_prefix(rest: &[u8]) -> usize {
    let length = rest.iter().take(2).take_while(|byte| b"bcr".contains(byte)).count();
    let quoted = |byte: Option<&u8>| matches!(byte, Some(b'"' | b'#'));
    if quoted(rest.get(length)) { length } else { 0 }
}

fn block_comment(rest: &[u8]) -> usize {
    let (mut depth, mut at) = (0, 0);
    while at < rest.len() {
        if rest[at..].starts_with(b"/*") {
            (depth, at) = (depth + 1, at + 2);
        } else if rest[at..].starts_with(b"*/") {
            (depth, at) = (depth - 1, at + 2);
            if depth == 0 {
                break;
            }
        } else {
            at += 1;
        }
    }
    at
}

/// The length of what follows an opening quote, its closing quote included.
fn plain_string(rest: &[u8]) -> usize {
    let mut at = 0;
    while at < rest.len() {
        match rest[at] {
            b'\\' => at += 2,
            b'"' => return at + 1,
            _ => at += 1,
        }
    }
    rest.len()
}

/// Hashes and length of a raw string whose `r` ends at `prefix`.
fn raw_string(rest: &[u8], prefix: usize) -> Option<(usize, usize)> {
    let hashes = rest.get(prefix..)?.iter().take_while(|byte| **byte == b'#').count();
    if rest.get(prefix + hashes) != Some(&b'"') {
        return None;
    }
    let mut closing = vec![b'"'];
    closing.resize(1 + hashes, b'#');
    let inside = prefix + hashes + 1;
    let length = rest[inside..].windows(closing.len()).position(|window| window == closing)?;
    Some((hashes, inside + length + closing.len()))
}

/// The length of a character literal, or 1 for the quote of a lifetime.
fn character(rest: &[u8]) -> usize {
    if rest.get(1) == Some(&b'\\') {
        let end = rest.iter().skip(3).position(|byte| *byte == b'\'');
        return end.map_or(1, |end| end + 4);
    }
    // One character of up to four bytes, then the closing quote.
    let end = rest.iter().skip(2).take(4).position(|byte| *byte == b'\'');
    match end {
        Some(0) => 3,
        Some(more) if !rest[1].is_ascii() => more + 3,
        _ => 1,
    }
}

/// Where the body of a function ends, counted from after its `fn`; none for a function without a body.
fn body(rest: &str) -> Option<usize> {
    let (mut depth, mut parentheses) = (0, 0);
    for (at, byte) in rest.bytes().enumerate() {
        match byte {
            b'(' | b'[' => parentheses += 1,
            b')' | b']' => parentheses -= 1,
            b';' if depth == 0 && parentheses == 0 => return None,
            b'{' => depth += 1,
            b'}' => {
                depth -= 1;
                if depth == 0 {
                    return Some(at);
                }
            }
            _ => {}
        }
    }
    None
}

fn blank(text: &str) -> Vec<u8> {
    text.bytes().map(|byte| if byte == b'\n' { b'\n' } else { b' ' }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_strings_are_told_from_code() {
        let source =
            Source::new("let a = \"x // y\"; // z \"q\"\nlet b = r#\"{\"#; /* { /* } */ */ let c = '\"';");
        assert_eq!(source.strings, [(1, "x // y".to_owned()), (2, "{".to_owned())]);
        assert_eq!(source.comments.trim_end().lines().next().unwrap().trim(), "// z \"q\"");
        assert!(!source.code.contains('{') && !source.code.contains('z'), "{}", source.code);
        assert!(source.code.contains("let c = ' '"), "{}", source.code);
    }

    #[test]
    fn lifetimes_characters_and_byte_strings_do_not_confuse_it() {
        let source = Source::new(
            "fn f<'a>(x: &'a str) -> char { let q = b\"}\"; match '{' { '\\'' => 'é', c => c } }",
        );
        assert_eq!(source.functions(), [Function { name: "f".into(), line: 1, lines: 1 }]);
        assert_eq!(source.strings, [(1, "}".to_owned())]);
        let raw = Source::new("let a = r\"\\\"; let r#type = br##\"x\"#y\"##;");
        assert_eq!(raw.strings, [(1, "\\".to_owned()), (1, "x\"#y".to_owned())]);
    }

    #[test]
    fn functions_are_measured_to_their_closing_brace() {
        let source =
            Source::new("type F = fn(u8);\ntrait T { fn g(&self); }\n\nfn f() {\n    if x {\n    }\n}\n");
        assert_eq!(source.functions(), [Function { name: "f".into(), line: 4, lines: 4 }]);
        let array = Source::new("fn f() -> [u8; 2] {\n    [0; 2]\n}");
        assert_eq!(array.functions()[0].lines, 3);
    }

    #[test]
    fn a_snapshot_does_not_make_a_function_long() {
        let source = Source::new("fn f() {\n    check(\n        \"\na\nb\nc\n\",\n    );\n}\n");
        assert_eq!(source.functions()[0].lines, 6);
    }

    #[test]
    fn modules_of_tests_are_found() {
        let source = Source::new(
            "#[cfg(test)]\nmod sample;\n\nfn f() {}\n\n#[cfg(test)]\nmod tests {\n    use x;\n}\n",
        );
        assert_eq!(source.test_modules(), ["sample"]);
        assert_eq!(source.tests_begin(), Some(6));
        assert_eq!(Source::new("#[cfg(test)]\nfn only_for_tests() {}").tests_begin(), None);
    }

    #[test]
    fn words_are_whole() {
        assert_eq!(words("Instant InstantX my_Instant Instant::now", "Instant").collect::<Vec<_>>(), [0, 28]);
    }
}
