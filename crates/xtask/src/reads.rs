//! The pages that a program read of a file, from what `strace -f -y -s 0 -e trace=pread64` told of it.

use std::collections::BTreeMap;

/// Reads of whole pages of the files whose path ends as said, in their order.
///
/// # Errors
/// When a line begins as a read does and goes on otherwise.
pub fn pages(log: &str, file: &str, page_bytes: u64) -> Result<Vec<u32>, String> {
    let mut pages = Vec::new();
    // A read that another thread's call came between, by its thread.
    let mut begun: BTreeMap<&str, &str> = BTreeMap::new();
    for line in log.lines() {
        let (thread, call) = line.split_once(char::is_whitespace).unwrap_or(("", line));
        let call = call.trim_start();
        let whole = if let Some(start) = call.strip_suffix("<unfinished ...>") {
            begun.insert(thread, start);
            continue;
        } else if let Some(end) = call.strip_prefix("<... pread64 resumed>") {
            let Some(start) = begun.remove(thread) else { continue };
            format!("{} {}", start.trim_end(), end.trim_start())
        } else {
            call.to_owned()
        };
        let Some(read) = whole.strip_prefix("pread64(") else { continue };
        let (bytes, offset, path) =
            read_of(read).ok_or_else(|| format!("no read as strace -y tells it: {line}"))?;
        let is_page = bytes == page_bytes && offset % page_bytes == 0;
        if is_page && path.ends_with(file) {
            pages.push(u32::try_from(offset / page_bytes).map_err(|_| format!("too far in a file: {line}"))?);
        }
    }
    Ok(pages)
}

/// Of `4</a/b.db>, ""..., 4096, 8192) = 4096`: how many bytes were asked for, where, and of which file.
fn read_of(read: &str) -> Option<(u64, u64, &str)> {
    let (handle, rest) = read.split_once(", ")?;
    let path = handle.split_once('<')?.1.strip_suffix('>')?;
    let mut numbers = rest.rsplit_once(')')?.0.rsplit(", ");
    let offset = numbers.next()?.trim().parse().ok()?;
    let bytes = numbers.next()?.trim().parse().ok()?;
    Some((bytes, offset, path))
}

/// The text of a trace, whose remarks say how it was made.
#[must_use]
pub fn trace(pages: &[u32], remarks: &[String]) -> String {
    let count = pages.iter().max().map_or(0, |last| last + 1);
    let mut text = String::from("touchstone-trace 1\n");
    for remark in remarks {
        text.push_str(&format!("# {remark}\n"));
    }
    text.push_str(&format!("pages {count}\ngets {}\n", pages.len()));
    for line in pages.chunks(25) {
        let words: Vec<String> = line.iter().map(u32::to_string).collect();
        text.push_str(&words.join(" "));
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use touchstone::suite::Trace;

    const LOG: &str = r#"12 pread64(4</a/one.db>, ""..., 100, 0) = 100
12 pread64(4</a/one.db>, ""..., 16, 24) = 16
12 pread64(4</a/one.db>, ""..., 4096, 8192) = 4096
12 pread64(5</a/one.db-wal>, ""..., 4096, 4096) = 4096
12 pread64(4</a/one.db>,  <unfinished ...>
13 pread64(6</a/one.db>, ""..., 4096, 0) = 4096
12 <... pread64 resumed>""..., 4096, 4096) = 4096
13 +++ exited with 0 +++
"#;

    #[test]
    fn reads_of_whole_pages_of_the_file_are_its_trace() {
        assert_eq!(pages(LOG, "/one.db", 4096), Ok(vec![2, 0, 1]));
        assert_eq!(pages(LOG, "/two.db", 4096), Ok(vec![]));
        let trace = Trace::parse(&trace(&[2, 0, 1], &["of a test".into()])).expect("it is a trace");
        assert_eq!(trace, Trace { pages: 3, gets: vec![2, 0, 1] });
    }

    #[test]
    fn a_read_that_is_told_without_its_file_is_an_error() {
        let told = pages("12 pread64(4, \"\"..., 4096, 0) = 4096\n", "one.db", 4096);
        assert!(told.expect_err("its file is not told").contains("strace -y"));
    }
}
