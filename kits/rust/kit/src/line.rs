//! Reads the lab's lines, none of them longer than the protocol allows.

use std::io::{self, BufRead, Read};
use touchstone_protocol::LINE_BYTES_MAX;

/// What was read.
pub(crate) enum Line {
    /// A line.
    Whole,
    /// A line over the limit, which was skipped.
    TooLong,
    /// The end of the input. What stands before it without a line feed was cut off, and nobody waits for a reply.
    End,
}

/// Reads one line into `line`, its line feed included. Of one that is too long, nothing is kept.
///
/// # Errors
/// When the input cannot be read.
pub(crate) fn read_line(input: &mut impl BufRead, line: &mut Vec<u8>) -> io::Result<Line> {
    let limit = LINE_BYTES_MAX as u64;
    input.by_ref().take(limit).read_until(b'\n', line)?;
    match line.last() {
        None => Ok(Line::End),
        Some(b'\n') => Ok(Line::Whole),
        Some(_) if line.len() as u64 == limit => {
            while *line.last().expect("the line is not empty") != b'\n' {
                line.clear();
                if input.by_ref().take(limit).read_until(b'\n', line)? == 0 {
                    return Ok(Line::End);
                }
            }
            Ok(Line::TooLong)
        }
        Some(_) => Ok(Line::End),
    }
}
