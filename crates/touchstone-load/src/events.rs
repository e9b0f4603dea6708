//! Reads server-sent events from bytes as they come, however they are split (WHATWG HTML, section 9.2.6): their data alone, for names,
//! ids and times of reconnection say nothing to a load.
//!
//! The libraries that read events, as `eventsource-stream` and `sse-stream`, are streams of futures that pull bytes themselves and keep an
//! event of any length. A lane has no futures: it is told by the kernel on which of ten thousand sockets something has come, and counts an
//! event with that moment. So this takes bytes that are pushed, and has a bound.

use crate::response::Malformed;
use crate::room::Taken;
use memchr::{memchr, memchr2};
use std::fmt;

/// A longer event is not kept: its stream has failed.
pub const EVENT_BYTES_MAX: usize = 1 << 20;
/// Room beyond this is given back after an event.
const KEPT_BYTES: usize = 4 << 10;

/// Why events cannot be read on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unkept {
    /// An event, or a line of one, has more bytes than are kept.
    TooLong,
    /// There is no room for it beside the answers and events that are under way.
    NoRoom,
}

impl fmt::Display for Unkept {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unkept::TooLong => write!(formatter, "an event is longer than {} KiB", EVENT_BYTES_MAX >> 10),
            Unkept::NoRoom => fmt::Display::fmt(&Malformed::NoRoom, formatter),
        }
    }
}

/// Events that are being read.
#[derive(Debug, Default)]
pub struct Events {
    /// The line that has not ended.
    line: Vec<u8>,
    /// The data of the event that has not ended, a line feed behind each of its lines.
    data: Vec<u8>,
    /// Whether a carriage return has just ended a line: a line feed behind it ends no other.
    is_behind_return: bool,
    /// Whether a line has ended: only before the first may stand a mark of the order of bytes.
    has_begun: bool,
    /// Their room among all answers that are under way.
    taken: Taken,
}

impl Events {
    /// Those that take their room from what answers have.
    pub fn within(taken: Taken) -> Events {
        Events { taken, ..Events::default() }
    }

    /// Reads on. `each` is given the data of every event that ends here.
    ///
    /// # Errors
    /// When an event is longer than is kept, or has no room. Nothing can be read after that.
    pub fn read(&mut self, bytes: &[u8], each: impl FnMut(&[u8])) -> Result<(), Unkept> {
        self.read_lines(bytes, each)?;
        let kept = (self.line.len() + self.data.len()) as u64;
        if self.taken.hold(kept) { Ok(()) } else { Err(Unkept::NoRoom) }
    }

    fn read_lines(&mut self, bytes: &[u8], mut each: impl FnMut(&[u8])) -> Result<(), Unkept> {
        let mut rest = bytes;
        while let Some(first) = rest.first() {
            if std::mem::take(&mut self.is_behind_return) && *first == b'\n' {
                rest = &rest[1..];
                continue;
            }
            let Some(end) = memchr2(b'\r', b'\n', rest) else { return self.keep(rest) };
            self.keep(&rest[..end])?;
            self.is_behind_return = rest[end] == b'\r';
            rest = &rest[end + 1..];
            self.end_line(&mut each);
        }
        Ok(())
    }

    fn keep(&mut self, bytes: &[u8]) -> Result<(), Unkept> {
        if self.line.len() + self.data.len() + bytes.len() > EVENT_BYTES_MAX {
            return Err(Unkept::TooLong);
        }
        self.line.extend_from_slice(bytes);
        Ok(())
    }

    fn end_line(&mut self, each: &mut impl FnMut(&[u8])) {
        let mut line = self.line.as_slice();
        if !std::mem::replace(&mut self.has_begun, true) {
            line = line.strip_prefix("\u{feff}".as_bytes()).unwrap_or(line);
        }
        if line.is_empty() {
            // An event without data is none.
            if let Some((_, data)) = self.data.split_last() {
                each(data);
            }
            empty(&mut self.data);
        } else {
            let (name, value) = match memchr(b':', line) {
                Some(at) => (&line[..at], &line[at + 1..]),
                None => (line, &[][..]),
            };
            if name == b"data" {
                self.data.extend_from_slice(value.strip_prefix(b" ").unwrap_or(value));
                self.data.push(b'\n');
            }
        }
        empty(&mut self.line);
    }
}

fn empty(bytes: &mut Vec<u8>) {
    bytes.clear();
    bytes.shrink_to(KEPT_BYTES);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::room::Room;
    use proptest::prelude::*;

    fn read(pieces: &[&[u8]]) -> Vec<String> {
        let (mut events, mut found) = (Events::default(), Vec::new());
        for piece in pieces {
            let each = |data: &[u8]| found.push(String::from_utf8_lossy(data).into_owned());
            events.read(piece, each).expect("it is short");
        }
        found
    }

    /// The examples of the standard, and what services do besides.
    #[test]
    fn data_of_events_are_read() {
        for (text, expected) in [
            ("data: YHOO\ndata: +2\ndata: 10\n\n", &["YHOO\n+2\n10"][..]),
            (
                ": test stream\n\ndata: first event\nid: 1\n\ndata:second event\nid\n\ndata:  third event\n\n",
                &["first event", "second event", " third event"],
            ),
            ("data\n\ndata\ndata\n\ndata:", &["", "\n"]),
            ("data:test\n\ndata: test\n\n", &["test", "test"]),
            (
                "event: changes\r\ndata: {\"cursor\":7}\r\n\r\n: alive\r\n\r\ndata: 8\r\r",
                &["{\"cursor\":7}", "8"],
            ),
            ("\u{feff}data: a\n\n\u{feff}data: b\n\n", &["a"]),
            ("event: none\nretry: 10\n\ndatab: x\n\n data: x\n\n", &[]),
            ("data: cut", &[]),
        ] {
            assert_eq!(read(&[text.as_bytes()]), expected, "{text:?}");
        }
    }

    proptest! {
        /// Whatever stands in a line, and wherever the bytes are split.
        #[test]
        fn pieces_are_the_whole(
            lines in prop::collection::vec(("(data: ?|data|: |id: )?[a-c:]{0,6}", "\r\n|\n|\r"), 0..30),
            size in 1..9usize,
        ) {
            let text: String = lines.iter().map(|(line, end)| format!("{line}{end}")).collect();
            let pieces: Vec<&[u8]> = text.as_bytes().chunks(size).collect();
            prop_assert_eq!(read(&pieces), read(&[text.as_bytes()]));
        }

        #[test]
        fn what_was_written_is_read(all in prop::collection::vec("[a-z\n]{0,20}", 0..20), end in "\r\n|\n|\r") {
            let written = |data: &String| {
                data.split('\n').map(|line| format!("data: {line}{end}")).collect::<String>() + &end
            };
            let text: String = all.iter().map(written).collect();
            prop_assert_eq!(read(&[text.as_bytes()]), all);
        }
    }

    #[test]
    fn an_event_without_end_is_not_kept() {
        let (mut events, kib) = (Events::default(), [b'x'; 1024]);
        let read = (0..EVENT_BYTES_MAX / 1024).try_for_each(|_| events.read(&kib, |_| ()));
        assert_eq!((read, events.read(b"x", |_| ())), (Ok(()), Err(Unkept::TooLong)));
    }

    /// Regression: ten thousand streams could keep a MiB each of events that did not end.
    #[test]
    fn events_that_have_not_ended_have_the_room_of_answers_together() {
        let room = Room::of(100);
        let mut all = [0, 1].map(|_| Events::within(room.taken()));
        let mut read = |at: usize, bytes: &[u8]| all[at].read(bytes, |_| ());
        assert_eq!(read(0, &[b'x'; 60]), Ok(()));
        assert_eq!(read(1, &[b'x'; 60]), Err(Unkept::NoRoom));
        assert_eq!(read(0, b"\n\n"), Ok(()), "one that has ended takes none");
        assert!(room.taken().hold(100));
    }
}
