//! Reads one HTTP/1.1 response from bytes as they come, however they are split (RFC 9112, section 6).
//!
//! The bytes stay in one buffer; a chunked body is joined where it lies. Nothing is guessed: what is no response is an error, and the
//! connection it came on is of no more use.

use crate::answer::Answer;
use crate::failure::Failure;
use crate::room::{ANSWERS_BYTES_MAX, BODY_BYTES_MAX, Taken};
use std::fmt;

/// A response whose headers are longer is refused.
pub const HEAD_BYTES_MAX: usize = 64 * 1024;
/// A response with more headers is refused.
const HEADERS_MAX: usize = 128;
/// Room beyond this is given back when a body is taken while it comes.
const KEPT_BYTES: usize = 4 * 1024;
/// A line that says how long a chunk is, with its extensions, and a trailer's line.
const LINE_BYTES_MAX: usize = 8 * 1024;

/// Why bytes are no response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Malformed {
    /// The head is none.
    Head(httparse::Error),
    /// The head does not end.
    HeadTooLong,
    /// A length that is no number, or two that differ, or a coding that nobody knows.
    Length,
    /// A chunk that is none.
    Chunk,
    /// A body longer than is kept.
    TooLong,
    /// There is no room for it beside the others that are under way.
    NoRoom,
    /// More came than was asked for.
    Surplus,
    /// The connection ended within the response.
    Cut,
    /// It is an alert of TLS.
    Tls,
}

impl fmt::Display for Malformed {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Malformed::Head(error) => write!(formatter, "the head is not HTTP: {error}"),
            Malformed::HeadTooLong => write!(formatter, "the head is longer than {HEAD_BYTES_MAX} bytes"),
            Malformed::Length => formatter.write_str("the length of the body cannot be told"),
            Malformed::Chunk => formatter.write_str("a chunk of the body is none"),
            Malformed::TooLong => {
                write!(formatter, "the body is longer than {} MiB", BODY_BYTES_MAX >> 20)
            }
            Malformed::NoRoom => write!(
                formatter,
                "the bodies that are under way together are longer than {} MiB: offer less at a time",
                ANSWERS_BYTES_MAX >> 20
            ),
            Malformed::Surplus => formatter.write_str("more came than was asked for"),
            Malformed::Cut => formatter.write_str("the connection ended within the response"),
            Malformed::Tls => formatter.write_str("the service speaks TLS there: say https:// for the host"),
        }
    }
}

impl Malformed {
    /// How a request counts whose response is none for this reason.
    pub fn failure(self) -> Failure {
        match self {
            Malformed::Cut => Failure::Closed,
            Malformed::TooLong | Malformed::NoRoom => Failure::TooLong,
            _ => Failure::Malformed,
        }
    }
}

/// What a whole response says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Complete {
    /// Its status.
    pub status: u16,
    /// Whether the connection may be used again.
    pub keeps: bool,
}

/// A whole response, as answers are judged.
#[derive(Clone, Copy, Debug)]
pub struct Whole<'r> {
    /// What it says.
    pub complete: Complete,
    /// The rest.
    pub response: &'r Response,
}

impl Answer for Whole<'_> {
    fn status(&self) -> u16 {
        self.complete.status
    }

    fn body(&self) -> &[u8] {
        self.response.body()
    }

    fn header(&self, name: &str) -> Option<&[u8]> {
        self.response.header(name)
    }
}

/// How the end of a body is told.
#[derive(Clone, Copy, Debug)]
enum Framing {
    Length(u64),
    Chunked,
    UntilClosed,
}

#[derive(Clone, Copy, Debug)]
struct Head {
    status: u16,
    bytes: usize,
    framing: Framing,
    keeps: bool,
}

/// A response that is being read.
#[derive(Debug, Default)]
pub struct Response {
    buffer: Vec<u8>,
    head: Option<Head>,
    /// Where the body that has been joined ends.
    body_end: usize,
    /// Where what has not been looked at begins.
    read: usize,
    chunk: Chunk,
    /// What came of interim responses before it.
    interim_bytes: u64,
    /// What came besides and is not kept.
    forgotten_bytes: u64,
    /// Its room among all that are under way.
    taken: Taken,
}

/// Where in a chunked body the reader is.
#[derive(Clone, Copy, Debug, Default)]
enum Chunk {
    #[default]
    Size,
    Data(u64),
    DataEnd,
    Trailer,
}

impl Response {
    /// One that takes its room from what others may have too.
    pub fn within(taken: Taken) -> Response {
        Response { taken, ..Response::default() }
    }

    /// What comes from the connection is appended here, followed by [`advance`](Response::advance).
    pub fn buffer(&mut self) -> &mut Vec<u8> {
        &mut self.buffer
    }

    /// Whether nothing of a response has come.
    pub fn is_empty(&self) -> bool {
        self.buffer.is_empty() && self.interim_bytes == 0
    }

    /// How many bytes have come of it.
    pub fn bytes(&self) -> u64 {
        self.buffer.len() as u64 + self.interim_bytes + self.forgotten_bytes
    }

    /// Makes it ready for the next response, and keeps the buffer unless it has grown beyond reason.
    pub fn clear(&mut self) {
        if self.buffer.capacity() > (1 << 20) {
            self.buffer = Vec::new();
        }
        self.buffer.clear();
        self.taken.give_back();
        self.head = None;
        (self.body_end, self.read, self.chunk) = (0, 0, Chunk::Size);
        (self.interim_bytes, self.forgotten_bytes) = (0, 0);
    }

    /// The status, as soon as the head has come.
    pub fn status(&self) -> Option<u16> {
        self.head.map(|head| head.status)
    }

    /// Moves what has come of the body to the end of `into`: of one that is read while it comes nothing is kept. Follows
    /// [`advance`](Response::advance), whatever came of that.
    pub fn take_body(&mut self, into: &mut Vec<u8>) {
        let Some(head) = &mut self.head else { return };
        let taken = head.bytes..self.body_end;
        let bytes = taken.len();
        into.extend_from_slice(&self.buffer[taken.clone()]);
        if let Framing::Length(left) = &mut head.framing {
            *left -= bytes as u64;
        }
        self.buffer.drain(taken);
        (self.body_end, self.read) = (head.bytes, self.read - bytes);
        self.forgotten_bytes += bytes as u64;
        // Ten thousand bodies that come for as long as a run lasts would each hold as much as their longest piece.
        self.buffer.shrink_to(KEPT_BYTES);
        let _ = self.taken.hold(self.buffer.len() as u64);
    }

    /// The body of a whole response.
    pub fn body(&self) -> &[u8] {
        self.head.map_or(&[], |head| &self.buffer[head.bytes..self.body_end])
    }

    /// The value of a header, the first of its name, once the head has come.
    pub fn header(&self, name: &str) -> Option<&[u8]> {
        let mut headers = [httparse::EMPTY_HEADER; HEADERS_MAX];
        let mut parsed = httparse::Response::new(&mut headers);
        parsed.parse(&self.buffer[..self.head?.bytes]).ok()?;
        parsed.headers.iter().find(|header| header.name.eq_ignore_ascii_case(name)).map(|header| header.value)
    }

    /// Looks at what has come. `is_head` says that the request was a HEAD, `closed` that nothing more will come.
    ///
    /// # Errors
    /// When it is no response.
    pub fn advance(&mut self, is_head: bool, closed: bool) -> Result<Option<Complete>, Malformed> {
        if !self.taken.hold(self.buffer.len() as u64) {
            return Err(Malformed::NoRoom);
        }
        let head = match self.head {
            Some(head) => head,
            None => match self.read_head(is_head)? {
                Some(head) => head,
                None if closed => return Err(Malformed::Cut),
                None => return Ok(None),
            },
        };
        let done = match head.framing {
            Framing::Length(length) => {
                // Bounded by `BODY_BYTES_MAX`, which a usize holds.
                self.body_end = self.buffer.len().min(head.bytes + length as usize);
                self.read = self.body_end;
                self.body_end == head.bytes + length as usize
            }
            Framing::Chunked => {
                let is_done = self.join_chunks()?;
                if !is_done {
                    self.forget_what_was_moved();
                }
                is_done
            }
            Framing::UntilClosed => {
                self.body_end = self.buffer.len();
                self.read = self.body_end;
                if (self.body_end - head.bytes) as u64 > BODY_BYTES_MAX {
                    return Err(Malformed::TooLong);
                }
                closed
            }
        };
        if !done {
            return if closed { Err(Malformed::Cut) } else { Ok(None) };
        }
        if self.read < self.buffer.len() {
            return Err(Malformed::Surplus);
        }
        Ok(Some(Complete { status: head.status, keeps: head.keeps && !closed }))
    }

    /// Reads the head, and passes over interim ones (1xx).
    fn read_head(&mut self, is_head: bool) -> Result<Option<Head>, Malformed> {
        loop {
            let mut headers = [const { std::mem::MaybeUninit::uninit() }; HEADERS_MAX];
            let mut parsed = httparse::Response::new(&mut []);
            let config = httparse::ParserConfig::default();
            let status = config.parse_response_with_uninit_headers(&mut parsed, &self.buffer, &mut headers);
            let bytes = match status.map_err(|error| not_http(error, &self.buffer))? {
                httparse::Status::Complete(bytes) if bytes <= HEAD_BYTES_MAX => bytes,
                httparse::Status::Partial if self.buffer.len() <= HEAD_BYTES_MAX => return Ok(None),
                _ => return Err(Malformed::HeadTooLong),
            };
            let status = parsed.code.unwrap_or_default();
            // 101 changes the protocol, which nobody asked for.
            if (100..200).contains(&status) && status != 101 {
                self.interim_bytes += bytes as u64;
                if self.interim_bytes > HEAD_BYTES_MAX as u64 {
                    return Err(Malformed::HeadTooLong);
                }
                self.buffer.drain(..bytes);
                continue;
            }
            let head = Head { bytes, ..read_framing(&parsed, status, is_head)? };
            (self.body_end, self.read) = (bytes, bytes);
            self.head = Some(head);
            return Ok(self.head);
        }
    }

    /// Moves the data of chunks together. Whether the last one has come.
    fn join_chunks(&mut self) -> Result<bool, Malformed> {
        let head_bytes = self.head.map_or(0, |head| head.bytes);
        loop {
            match self.chunk {
                Chunk::Size => {
                    let Some(line) = self.line()? else { return Ok(false) };
                    let size = chunk_size(&self.buffer[line.clone()])?;
                    self.read = line.end + 2;
                    if (self.body_end - head_bytes) as u64 + size > BODY_BYTES_MAX {
                        return Err(Malformed::TooLong);
                    }
                    self.chunk = if size == 0 { Chunk::Trailer } else { Chunk::Data(size) };
                }
                Chunk::Data(left) => {
                    let here = (self.buffer.len() - self.read).min(left as usize);
                    self.buffer.copy_within(self.read..self.read + here, self.body_end);
                    self.body_end += here;
                    self.read += here;
                    let left = left - here as u64;
                    self.chunk = if left == 0 { Chunk::DataEnd } else { Chunk::Data(left) };
                    if left > 0 {
                        return Ok(false);
                    }
                }
                Chunk::DataEnd => {
                    let here = &self.buffer[self.read..];
                    match here {
                        [] | [b'\r'] => return Ok(false),
                        [b'\r', b'\n', ..] => self.read += 2,
                        _ => return Err(Malformed::Chunk),
                    }
                    self.chunk = Chunk::Size;
                }
                Chunk::Trailer => {
                    let Some(line) = self.line()? else { return Ok(false) };
                    self.read = line.end + 2;
                    if line.is_empty() {
                        return Ok(true);
                    }
                }
            }
        }
    }

    /// What lies between the joined body and what was read is not needed any more: without this, a long body would be kept twice, and one
    /// of tiny chunks many times.
    fn forget_what_was_moved(&mut self) {
        let bytes = self.read - self.body_end;
        self.buffer.copy_within(self.read.., self.body_end);
        self.buffer.truncate(self.buffer.len() - bytes);
        self.forgotten_bytes += bytes as u64;
        self.read = self.body_end;
    }

    /// The next line, without its end; none, if its end has not come.
    fn line(&self) -> Result<Option<std::ops::Range<usize>>, Malformed> {
        let here = &self.buffer[self.read..];
        let end = memchr::memchr(b'\n', &here[..here.len().min(LINE_BYTES_MAX)]);
        match end {
            Some(end) if end > 0 && here[end - 1] == b'\r' => Ok(Some(self.read..self.read + end - 1)),
            Some(_) => Err(Malformed::Chunk),
            None if here.len() >= LINE_BYTES_MAX => Err(Malformed::Chunk),
            None => Ok(None),
        }
    }
}

/// The size that begins a chunk, in hexadecimal; what stands behind a semicolon is passed over.
fn chunk_size(line: &[u8]) -> Result<u64, Malformed> {
    let digits = line.split(|byte| *byte == b';').next().unwrap_or_default().trim_ascii();
    if digits.is_empty() || digits.len() > 15 || !digits.iter().all(u8::is_ascii_hexdigit) {
        return Err(Malformed::Chunk);
    }
    let digits = std::str::from_utf8(digits).map_err(|_| Malformed::Chunk)?;
    u64::from_str_radix(digits, 16).map_err(|_| Malformed::Chunk)
}

/// How the body is framed, and whether the connection is kept (RFC 9112, sections 6.3 and 9.3).
fn read_framing(parsed: &httparse::Response<'_, '_>, status: u16, is_head: bool) -> Result<Head, Malformed> {
    let mut length: Option<u64> = None;
    let mut chunked = false;
    let mut keeps = parsed.version == Some(1);
    for header in parsed.headers.iter() {
        if header.name.eq_ignore_ascii_case("content-length") {
            for said in header.value.split(|byte| *byte == b',') {
                let said = whole_number(said.trim_ascii())?;
                if length.is_some_and(|length| length != said) {
                    return Err(Malformed::Length);
                }
                length = Some(said);
            }
        } else if header.name.eq_ignore_ascii_case("transfer-encoding") {
            if !header.value.trim_ascii().eq_ignore_ascii_case(b"chunked") {
                return Err(Malformed::Length);
            }
            chunked = true;
        } else if header.name.eq_ignore_ascii_case("connection") {
            for word in header.value.split(|byte| *byte == b',').map(<[u8]>::trim_ascii) {
                if word.eq_ignore_ascii_case(b"close") {
                    keeps = false;
                } else if word.eq_ignore_ascii_case(b"keep-alive") {
                    keeps = true;
                }
            }
        }
    }
    let framing = if is_head || status == 204 || status == 304 || status == 101 {
        Framing::Length(0)
    } else if chunked {
        if length.is_some() {
            // A proxy and a client could take such a response for two different ones.
            return Err(Malformed::Length);
        }
        Framing::Chunked
    } else if let Some(length) = length {
        if length > BODY_BYTES_MAX {
            return Err(Malformed::TooLong);
        }
        Framing::Length(length)
    } else {
        keeps = false;
        Framing::UntilClosed
    };
    Ok(Head { status, bytes: 0, framing, keeps: keeps && status != 101 })
}

/// What bytes are that are no head: a service that speaks TLS answers plain HTTP with an alert (RFC 8446, section 5.1).
fn not_http(error: httparse::Error, bytes: &[u8]) -> Malformed {
    if bytes.starts_with(&[0x15, 0x03]) { Malformed::Tls } else { Malformed::Head(error) }
}

fn whole_number(digits: &[u8]) -> Result<u64, Malformed> {
    if digits.is_empty() || digits.len() > 18 || !digits.iter().all(u8::is_ascii_digit) {
        return Err(Malformed::Length);
    }
    Ok(digits.iter().fold(0, |sum, digit| sum * 10 + u64::from(digit - b'0')))
}

#[cfg(test)]
mod tests;
