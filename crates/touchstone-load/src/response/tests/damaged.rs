//! The reader against known responses that were damaged: nothing panics, no more is kept than came, and whether the bytes come whole or in
//! pieces makes no difference.
//!
//! `TOUCHSTONE_CASES=30000000 TOUCHSTONE_SEED=2 cargo test --release -p touchstone-load --lib damaged` looks for longer, at other cases.

use super::*;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// What is put where it does not belong.
const WORDS: [&[u8]; 16] = [
    b"\r\n",
    b"\r\n\r\n",
    b"\n",
    b"\r",
    b":",
    b";",
    b",",
    b"0",
    b"f",
    b"\0",
    b"\xff",
    b"Content-Length: 3\r\n",
    b"Transfer-Encoding: chunked\r\n",
    b"HTTP/1.1 100 Continue\r\n\r\n",
    b"HTTP/1.1 200 OK\r\n",
    b"999999999999999999",
];
/// The longest damaged response: damage that doubles parts ends here.
const BYTES_MAX: usize = 4_096;

fn of_environment(name: &str, usual: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(usual)
}

fn damage(bytes: &mut Vec<u8>, known: &[Known], random: &mut Xoshiro256PlusPlus) {
    let at = random.random_range(0..=bytes.len());
    let until = bytes.len().min(at + random.random_range(0..24));
    match random.random_range(0..6) {
        0 if at < bytes.len() => bytes[at] = random.random(),
        1 if at < bytes.len() => bytes[at] ^= 1 << random.random_range(0..8),
        2 => drop(bytes.drain(at..until)),
        3 => bytes.extend_from_within(at..until),
        4 => drop(bytes.splice(at..at, WORDS[random.random_range(0..WORDS.len())].iter().copied())),
        _ => {
            // The end of another one.
            let other = &known[random.random_range(0..known.len())].1;
            bytes.truncate(at);
            bytes.extend_from_slice(&other[random.random_range(0..other.len())..]);
        }
    }
    bytes.truncate(BYTES_MAX);
}

/// What a reader makes of pieces, and how many bytes it had seen by then.
fn read(pieces: &[&[u8]], is_head: bool) -> (Response, Result<Complete, Malformed>, usize) {
    let mut response = Response::default();
    let mut came = 0;
    for piece in pieces {
        response.buffer().extend_from_slice(piece);
        came += piece.len();
        let outcome = response.advance(is_head, false);
        assert!(response.buffer().len() <= came && response.body().len() <= came, "more is kept than came");
        match outcome {
            Ok(None) => {}
            Ok(Some(complete)) => return (response, Ok(complete), came),
            Err(why) => return (response, Err(why), came),
        }
    }
    match response.advance(is_head, true) {
        Ok(None) => panic!("nothing more will come, and the reader waits"),
        Ok(Some(complete)) => (response, Ok(complete), came),
        Err(why) => (response, Err(why), came),
    }
}

fn pieces<'b>(bytes: &'b [u8], random: &mut Xoshiro256PlusPlus) -> Vec<&'b [u8]> {
    let longest = [1, 2, 7, 40, bytes.len().max(1)][random.random_range(0..5)];
    let mut rest = bytes;
    let mut pieces = Vec::new();
    while !rest.is_empty() {
        let (piece, after) = rest.split_at(random.random_range(1..=longest).min(rest.len()));
        pieces.push(piece);
        rest = after;
    }
    pieces
}

#[test]
fn damage_does_no_harm_and_pieces_are_read_as_the_whole() {
    let (cases, seed) = (of_environment("TOUCHSTONE_CASES", 20_000), of_environment("TOUCHSTONE_SEED", 1));
    let known = known();
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    for case in 0..cases {
        let (name, mut bytes, is_head, ..) = known[random.random_range(0..known.len())].clone();
        for _ in 0..random.random_range(1..6) {
            damage(&mut bytes, &known, &mut random);
        }
        let told = || format!("case {case} of seed {seed}, {name}: {}", bytes.escape_ascii());
        let (whole, expected, _) = read(&[&bytes], is_head);
        let (joined, outcome, came) = read(&pieces(&bytes, &mut random), is_head);
        match (outcome, expected) {
            // Who reads in pieces has the answer before the surplus comes.
            (Ok(_), Err(Malformed::Surplus)) => assert!(came < bytes.len(), "{}", told()),
            // The first byte alone does not say that it is an alert of TLS.
            (Err(Malformed::Head(_)), Err(Malformed::Tls)) => {}
            (outcome, expected) => {
                assert_eq!(outcome, expected, "{}", told());
                if outcome.is_ok() {
                    assert_eq!(joined.body(), whole.body(), "{}", told());
                    assert_eq!(joined.header("etag"), whole.header("etag"), "{}", told());
                }
            }
        }
    }
}
