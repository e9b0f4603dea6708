//! The reader of responses against every split of known ones, against what is none, and against noise.

use super::*;
use crate::room::Room;
use proptest::prelude::*;

mod damaged;

/// A response: its name and bytes, whether a HEAD asked for it, whether the end of the connection ends it, and what it says: status,
/// body, and whether the connection is kept.
type Known = (&'static str, Vec<u8>, bool, bool, u16, &'static [u8], bool);

fn raw(text: &str) -> Vec<u8> {
    text.replace('\n', "\r\n").into_bytes()
}

/// Responses of all shapes.
fn known() -> Vec<Known> {
    [of_a_length(), of_other_ends()].concat()
}

fn of_a_length() -> Vec<Known> {
    vec![
        ("length", raw("HTTP/1.1 200 OK\nContent-Length: 5\n\nhello"), false, false, 200, b"hello", true),
        ("empty", raw("HTTP/1.1 201 Created\ncontent-length: 0\n\n"), false, false, 201, b"", true),
        (
            "closes",
            raw("HTTP/1.1 200 OK\nConnection: close\nContent-Length: 2\n\nok"),
            false,
            false,
            200,
            b"ok",
            false,
        ),
        ("old", raw("HTTP/1.0 200 OK\nContent-Length: 2\n\nok"), false, false, 200, b"ok", false),
        (
            "old that keeps",
            raw("HTTP/1.0 200 OK\nConnection: Keep-Alive\nContent-Length: 2\n\nok"),
            false,
            false,
            200,
            b"ok",
            true,
        ),
    ]
}

fn of_other_ends() -> Vec<Known> {
    vec![
        (
            "chunked",
            raw("HTTP/1.1 200 OK\nTransfer-Encoding: chunked\n\n5\nhello\n7;a=b\n, world\n0\n\n"),
            false,
            false,
            200,
            b"hello, world",
            true,
        ),
        (
            "chunked with trailers",
            raw("HTTP/1.1 200 OK\nTransfer-Encoding: Chunked\n\nA\n0123456789\n0\nX-Sum: 1\nY: 2\n\n"),
            false,
            false,
            200,
            b"0123456789",
            true,
        ),
        ("no content", raw("HTTP/1.1 204 No Content\n\n"), false, false, 204, b"", true),
        (
            "not modified",
            raw("HTTP/1.1 304 Not Modified\nContent-Length: 9\n\n"),
            false,
            false,
            304,
            b"",
            true,
        ),
        ("head", raw("HTTP/1.1 200 OK\nContent-Length: 100\n\n"), true, false, 200, b"", true),
        (
            "interim",
            raw(
                "HTTP/1.1 100 Continue\n\nHTTP/1.1 103 Early Hints\nLink: </a>\n\nHTTP/1.1 200 OK\nContent-Length: 1\n\nx",
            ),
            false,
            false,
            200,
            b"x",
            true,
        ),
        (
            "until closed",
            raw("HTTP/1.1 200 OK\n\nall that comes"),
            false,
            true,
            200,
            b"all that comes",
            false,
        ),
        (
            "twice the same length",
            raw("HTTP/1.1 200 OK\nContent-Length: 2, 2\n\nok"),
            false,
            false,
            200,
            b"ok",
            true,
        ),
        ("no reason", raw("HTTP/1.1 500 \nContent-Length: 0\n\n"), false, false, 500, b"", true),
    ]
}

/// Feeds pieces. What the last of them made of it.
fn feed(pieces: &[&[u8]], is_head: bool, closed: bool) -> (Response, Result<Option<Complete>, Malformed>) {
    let mut response = Response::default();
    let mut outcome = Ok(None);
    for piece in pieces {
        assert_eq!(outcome, Ok(None), "it ended before all had come");
        response.buffer().extend_from_slice(piece);
        outcome = response.advance(is_head, false);
    }
    if closed && outcome == Ok(None) {
        outcome = response.advance(is_head, true);
    }
    (response, outcome)
}

#[test]
fn every_split_of_every_response_is_read_as_the_same() {
    for (name, bytes, is_head, closed, status, body, keeps) in known() {
        let expected = Ok(Some(Complete { status, keeps }));
        for first in 0..=bytes.len() {
            for second in first..=bytes.len() {
                let pieces = [&bytes[..first], &bytes[first..second], &bytes[second..]];
                let pieces: Vec<&[u8]> = pieces.into_iter().filter(|piece| !piece.is_empty()).collect();
                let (response, outcome) = feed(&pieces, is_head, closed);
                assert_eq!(outcome, expected, "{name} split at {first} and {second}");
                assert_eq!(response.body(), body, "{name} split at {first} and {second}");
            }
        }
        let single: Vec<&[u8]> = bytes.chunks(1).collect();
        let (response, outcome) = feed(&single, is_head, closed);
        assert_eq!((outcome, response.body()), (expected, body), "{name} byte by byte");
    }
}

/// What is taken while it comes is the body, and the response ends where it ends.
#[test]
fn a_body_that_is_taken_while_it_comes_is_whole() {
    for (name, bytes, is_head, closed, status, body, keeps) in known() {
        for size in 1..=bytes.len() {
            let (mut response, mut taken, mut outcome) = (Response::default(), Vec::new(), Ok(None));
            let pieces =
                bytes.chunks(size).map(|piece| (piece, false)).chain(closed.then_some((&[][..], true)));
            for (piece, closed) in pieces {
                response.buffer().extend_from_slice(piece);
                outcome = response.advance(is_head, closed);
                response.take_body(&mut taken);
                assert!(response.body().is_empty());
            }
            assert_eq!(outcome, Ok(Some(Complete { status, keeps })), "{name} by {size}");
            assert_eq!((taken.as_slice(), response.status()), (body, Some(status)), "{name} by {size}");
            assert_eq!(response.bytes(), bytes.len() as u64, "{name} by {size}");
        }
    }
}

/// Regression: a body that was taken held the room of its last piece, and the memory of its longest, until the next came.
#[test]
fn a_body_that_is_taken_while_it_comes_holds_no_room() {
    const HEAD: &[u8] = b"HTTP/1.1 200 OK\r\n\r\n";
    let room = Room::of(100 << 10);
    let mut responses: [Response; 3] = std::array::from_fn(|_| Response::within(room.taken()));
    for response in &mut responses {
        response.buffer().extend_from_slice(&[HEAD, &[b'x'; 64 << 10]].concat());
        let mut taken = Vec::new();
        assert_eq!(response.advance(false, false), Ok(None));
        response.take_body(&mut taken);
        assert!(taken.len() == 64 << 10 && response.buffer().capacity() < 8 << 10);
    }
}

#[test]
fn a_response_that_is_cut_anywhere_is_no_response() {
    for (name, bytes, is_head, closed, ..) in known() {
        if closed {
            continue;
        }
        for end in 0..bytes.len() {
            let (_, outcome) = feed(&[&bytes[..end]], is_head, true);
            // Nothing at all is no response either: the caller tells the two apart.
            assert_eq!(outcome, Err(Malformed::Cut), "{name} cut at {end}");
        }
    }
}

#[test]
fn what_is_no_response_is_refused() {
    let bad: [(&str, Malformed); 13] = [
        ("SSH-2.0-OpenSSH\r\n\r\n", Malformed::Head(httparse::Error::Version)),
        ("HTTP/1.1 2000 OK\r\n\r\n", Malformed::Head(httparse::Error::Status)),
        ("HTTP/1.1 200 OK\r\nContent-Length: two\r\n\r\nok", Malformed::Length),
        ("HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", Malformed::Length),
        ("HTTP/1.1 200 OK\r\nContent-Length: 1, 2\r\n\r\nok", Malformed::Length),
        ("HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\n", Malformed::Length),
        ("HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n", Malformed::TooLong),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n", Malformed::Length),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 1\r\n\r\n", Malformed::Length),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n", Malformed::Chunk),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nokay", Malformed::Chunk),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffff\r\n", Malformed::TooLong),
        ("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 200 OK\r\n", Malformed::Surplus),
    ];
    for (text, expected) in bad {
        let (_, outcome) = feed(&[text.as_bytes()], false, false);
        assert_eq!(outcome, Err(expected), "{text}");
    }
}

#[test]
fn a_head_without_end_is_refused_in_time() {
    let mut response = Response::default();
    response.buffer().extend_from_slice(b"HTTP/1.1 200 OK\r\n");
    let outcome = (0..).find_map(|number| {
        response.buffer().extend_from_slice(format!("X-Header: {:01000}\r\n", number).as_bytes());
        response.advance(false, false).err()
    });
    assert_eq!(outcome, Some(Malformed::HeadTooLong));
    assert!(response.buffer().len() < HEAD_BYTES_MAX + 2_000);
}

#[test]
fn interim_responses_without_end_are_refused_in_time() {
    let mut response = Response::default();
    let outcome = (0..100_000).find_map(|_| {
        response.buffer().extend_from_slice(b"HTTP/1.1 100 Continue\r\n\r\n");
        response.advance(false, false).err()
    });
    assert_eq!(outcome, Some(Malformed::HeadTooLong));
}

/// What is read of a chunked response was kept until its end: the sizes of tiny chunks, and trailers.
#[test]
fn only_the_body_of_chunks_is_kept() {
    for (begins, piece, kept) in [("", "1;some=extension\r\na\r\n", 1), ("0\r\n", "Trailer: 1\r\n", 0)] {
        let mut response = Response::default();
        let head = format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{begins}");
        response.buffer().extend_from_slice(head.as_bytes());
        for _ in 0..1_000 {
            response.buffer().extend_from_slice(piece.as_bytes());
            assert_eq!(response.advance(false, false), Ok(None));
        }
        assert!(response.buffer().len() <= head.len() + 1_000 * kept + 2, "{}", response.buffer().len());
        assert_eq!(response.bytes(), (head.len() + 1_000 * piece.len()) as u64);
    }
}

#[test]
fn responses_share_the_room_that_there_is() {
    let room = Room::of(300);
    let mut responses = [room.taken(), room.taken()].map(Response::within);
    let begun = [b"HTTP/1.1 200 OK\r\nContent-Length: 999\r\n\r\n".to_vec(), vec![b'x'; 200]].concat();
    let mut outcomes = responses.iter_mut().map(|response| {
        response.buffer().extend_from_slice(&begun);
        response.advance(false, false)
    });
    assert_eq!((outcomes.next(), outcomes.next()), (Some(Ok(None)), Some(Err(Malformed::NoRoom))));
    responses[0].clear();
    assert_eq!(responses[1].advance(false, false), Ok(None));
    assert_eq!(Malformed::NoRoom.failure(), Failure::TooLong);
}

#[test]
fn headers_are_found_whatever_their_case() {
    let (response, outcome) =
        feed(&[b"HTTP/1.1 200 OK\r\nETag: \"a\"\r\nContent-Length: 0\r\n\r\n"], false, false);
    assert!(outcome.is_ok());
    assert_eq!(response.header("etag"), Some(b"\"a\"".as_slice()));
    assert_eq!(response.header("missing"), None);
}

#[test]
fn a_reader_that_is_cleared_reads_the_next() {
    let mut response = Response::default();
    for (_, bytes, is_head, closed, status, body, _) in known() {
        response.clear();
        assert!(response.is_empty());
        response.buffer().extend_from_slice(&bytes);
        let outcome = response.advance(is_head, closed).expect("it is one").expect("it is whole");
        assert_eq!((outcome.status, response.body()), (status, body));
    }
}

proptest! {
    #[test]
    fn bytes_of_any_kind_do_no_harm(bytes in prop::collection::vec(any::<u8>(), 0..400), cut in 0..400usize) {
        let (first, second) = bytes.split_at(cut.min(bytes.len()));
        let mut response = Response::default();
        for piece in [first, second] {
            response.buffer().extend_from_slice(piece);
            if response.advance(false, false).is_err() {
                return Ok(());
            }
        }
        let _ = response.advance(false, true);
    }

    #[test]
    fn a_response_with_some_bytes_changed_does_no_harm(
        which in 0..14usize,
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        sizes in prop::collection::vec(1..40usize, 1..60),
    ) {
        let (_, mut bytes, is_head, ..) = known().swap_remove(which);
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        let mut response = Response::default();
        let mut rest = bytes.as_slice();
        for size in sizes.into_iter().cycle() {
            if rest.is_empty() {
                break;
            }
            let (piece, after) = rest.split_at(size.min(rest.len()));
            rest = after;
            response.buffer().extend_from_slice(piece);
            match response.advance(is_head, false) {
                Ok(None) => {}
                _ => return Ok(()),
            }
            prop_assert!(response.body().len() <= bytes.len());
        }
        let _ = response.advance(is_head, true);
    }

    #[test]
    fn chunks_of_any_sizes_are_joined(
        pieces in prop::collection::vec(prop::collection::vec(any::<u8>(), 1..300), 0..20),
        read in 1..200usize,
    ) {
        let mut bytes = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n".to_vec();
        for piece in &pieces {
            bytes.extend_from_slice(format!("{:X}\r\n", piece.len()).as_bytes());
            bytes.extend_from_slice(piece);
            bytes.extend_from_slice(b"\r\n");
        }
        bytes.extend_from_slice(b"0\r\n\r\n");
        let all: Vec<&[u8]> = bytes.chunks(read).collect();
        let (response, outcome) = feed(&all, false, false);
        prop_assert_eq!(outcome, Ok(Some(Complete { status: 200, keeps: true })));
        prop_assert_eq!(response.body(), pieces.concat());
    }
}
