//! How each record type is made from its number, the salt and a stream of random values. Keys and sizes go by the number
//! alone.

use crate::random::Stream;
use rand::{Rng, RngExt};
use touchstone_protocol::{Colour, Content, Doc, Document, Position, Row};

/// A row: random bytes do not compress.
pub fn row(key: i64, bytes: usize, values: &mut Stream) -> Row {
    let mut value = vec![0; bytes];
    values.fill_bytes(&mut value);
    Row { key, value }
}

/// A document of that many bytes of JSON.
pub fn document(number: u64, bytes: usize, values: &mut Stream) -> Document {
    let mut hash = vec![0; 16];
    values.fill_bytes(&mut hash);
    let mut data = format!("{{\"name\":\"bench{number}\",\"text\":\"");
    while data.len() + 2 < bytes {
        data.push(char::from(values.random_range(b'a'..=b'z')));
    }
    data.push_str("\"}");
    Document { id: format!("bench{number}"), revision: 1, hash, data }
}

/// A document as the code of the couch page makes them, but for whose number it holds: with a salt it is another's.
pub fn page_document(number: u64, salt: u64) -> Document {
    Document {
        id: format!("bench{number}"),
        revision: 0,
        hash: Vec::new(),
        data: format!("{{ \"number\": {} }}", salted(number, salt)),
    }
}

/// Another number of as many digits, so that no text becomes longer or shorter; no two numbers have the same.
fn salted(number: u64, salt: u64) -> u64 {
    let digits = number.checked_ilog10().unwrap_or(0);
    let least = if digits == 0 { 0 } else { 10_u64.pow(digits) };
    let numbers = 10_u64.pow(digits + 1) - least;
    least + (number - least + salt % numbers) % numbers
}

/// An object: colour, content and priority go by its number modulo three, and priorities reach from minus to plus half
/// of all `objects`, so that a bound finds the same share of them however many there are.
pub fn object(number: u64, objects: u64, salt: u64, values: &mut Stream) -> Doc {
    Doc { tag: format!("tag{}", salted(number, salt)), ..of_kind(number, number, objects, values) }
}

/// The new state of object `number` in a round of updates: every field but the title may differ, and from round to
/// round colour, content and priority do.
pub fn new_state(number: u64, round: u64, objects: u64, salt: u64, values: &mut Stream) -> Doc {
    Doc {
        tag: format!("tag{}.{round}", salted(number, salt)),
        ..of_kind(number, number + round + 1, objects, values)
    }
}

/// The object with the priority of its number: each is so much lower than the one before it.
pub fn ranked(doc: Doc, number: u64, spacing: u64) -> Doc {
    moved_state(doc, number, spacing, 0)
}

/// The state moved to the place of object `place`, that much above its priority: below the one before it.
pub fn moved_state(state: Doc, place: u64, spacing: u64, above: u64) -> Doc {
    Doc { priority: Some(above as i64 - ((place + 1) * spacing) as i64), ..state }
}

/// An object with everything that goes by a number modulo three as `like` has it.
fn of_kind(number: u64, like: u64, objects: u64, values: &mut Stream) -> Doc {
    let above = number as i64 - (objects / 2) as i64;
    let (colour, content, priority) = match like % 3 {
        0 => {
            let images = (0..=like / 3 % 3).map(|image| format!("image{number}.{image}"));
            (Colour::Red, Content::Images(images.collect()), Some(-above))
        }
        1 => (Colour::Green, Content::None, Some(above)),
        _ => (Colour::Blue, Content::Text(format!("text{number}")), None),
    };
    let mut coordinate = || values.random_range(0.0_f32..1000.0);
    let position = Position { x: coordinate(), y: coordinate(), z: coordinate() };
    Doc { title: format!("title{number}"), tag: String::new(), position, colour, content, priority }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::stream;
    use std::collections::BTreeSet;

    #[test]
    fn a_sixth_of_the_objects_is_above_a_quarter_of_their_number() {
        let found = |objects: u64| {
            let mut values = stream(42, "test");
            let docs = (0..objects).map(|number| object(number, objects, 7, &mut values));
            docs.filter(|doc| doc.priority > Some((objects / 4) as i64)).count()
        };
        assert_eq!([found(1_000), found(10_000), found(100_000)], [167, 1_667, 16_667]);
    }

    #[test]
    fn the_documents_of_the_page_are_those_of_its_code() {
        let expected = Document {
            id: "bench100".into(),
            revision: 0,
            hash: Vec::new(),
            data: "{ \"number\": 100 }".into(),
        };
        assert_eq!(page_document(100, 0), expected);
        let salted = page_document(100, 3);
        assert_eq!(salted, Document { data: "{ \"number\": 103 }".into(), ..expected });
    }

    #[test]
    fn a_salted_number_has_as_many_digits_and_is_no_other_numbers() {
        for salt in [0, 1, 8, 123_456_789, u64::MAX] {
            let all: BTreeSet<u64> = (0..2_000).map(|number| salted(number, salt)).collect();
            assert!(
                (0..10_000).all(|number| salted(number, salt).to_string().len() == number.to_string().len())
            );
            assert!(all.len() == 2_000 && (salt != 0 || all.iter().copied().eq(0..2_000)));
        }
    }

    #[test]
    fn a_new_state_keeps_the_title_and_differs_from_the_one_before() {
        let mut values = stream(42, "test");
        let mut last = object(7, 100, 5, &mut values);
        for round in 0..4 {
            let state = new_state(7, round, 100, 5, &mut values);
            assert_eq!(state.title, last.title);
            assert!(state.tag != last.tag && state.colour != last.colour && state.priority != last.priority);
            last = state;
        }
    }
}
