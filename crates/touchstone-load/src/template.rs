//! Texts with places that are filled for each request: `/v1/items/${item_id}?limit=100`.
//!
//! A template is parsed once. What has no places is one piece of bytes, and costs a copy.

use crate::error::{Error, Result};
use crate::user::User;
use rand::RngExt;
use std::io::Write;

/// What may stand in `${…}` beside the names of values and fragments, with what it gives. The page of the format lists the same.
pub const FIELDS: [(&str, &str); 8] = [
    ("user", "the number of the user, from 0 on"),
    ("iteration", "how many iterations the user has begun before"),
    ("sequence", "a number that no other request of the run has, from 0 on"),
    ("item", "the number of the repetition within a fragment, from 0 on"),
    ("uuid", "a random UUID (version 4)"),
    ("time_ms", "milliseconds of the wall clock since 1970"),
    ("integer FROM TO", "a random whole number, both ends included"),
    ("letters COUNT", "random small letters"),
];

/// A piece of a template.
#[derive(Clone, Debug, PartialEq)]
enum Piece {
    Text(Box<[u8]>),
    User,
    Iteration,
    Sequence,
    Item,
    Uuid,
    TimeMs,
    Integer(i64, i64),
    Letters(usize),
    Value(usize),
    Fragment(Box<Repeated>),
}

#[derive(Clone, Debug, PartialEq)]
struct Repeated {
    count: u32,
    separator: Box<[u8]>,
    template: Template,
}

/// A parsed text.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Template {
    pieces: Vec<Piece>,
}

/// What stands in a written text whatever else does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part<'t> {
    /// These bytes.
    Text(&'t [u8]),
    /// The user's value of this number.
    Value(usize),
}

/// The names that a template may speak of.
pub struct Names<'n> {
    /// Values of users; the number of one is its place here.
    pub values: &'n [String],
    /// Fragments by name.
    pub fragments: &'n std::collections::BTreeMap<String, crate::scenario::Fragment>,
}

impl Template {
    /// Parses a text. A `$` that is no place is written `$$` where a brace follows.
    ///
    /// # Errors
    /// When a place is not closed, or its name leads nowhere.
    pub fn parse(text: &str, names: &Names<'_>) -> Result<Template> {
        parse(text, names, None)
    }

    /// Its bytes, where it is always the same.
    pub fn fixed(&self) -> Option<&[u8]> {
        match self.pieces.as_slice() {
            [] => Some(b""),
            [Piece::Text(text)] => Some(text),
            _ => None,
        }
    }

    /// Whether it says the same each time that it is written in one step of one user.
    pub fn is_steady(&self) -> bool {
        let is_steady = |piece: &Piece| {
            matches!(piece, Piece::Text(_) | Piece::User | Piece::Iteration | Piece::Value(_))
        };
        self.pieces.iter().all(is_steady)
    }

    /// Its texts and values, those of its fragments too; what the generator makes is digits, letters and hyphens.
    pub fn parts(&self) -> Vec<Part<'_>> {
        let mut parts = Vec::new();
        for piece in &self.pieces {
            match piece {
                Piece::Text(text) => parts.push(Part::Text(text)),
                Piece::Value(number) => parts.push(Part::Value(*number)),
                Piece::Fragment(repeated) => {
                    parts.push(Part::Text(&repeated.separator));
                    parts.extend(repeated.template.parts());
                }
                _ => {}
            }
        }
        parts
    }

    /// How many bytes it is written with at the most. `value` tells how many a value has, by its number.
    pub fn bytes_most(&self, value: &impl Fn(usize) -> u64) -> u64 {
        let bytes = self.pieces.iter().map(|piece| match piece {
            Piece::Text(text) => text.len() as u64,
            Piece::Value(number) => value(*number),
            Piece::Uuid => 36,
            Piece::Letters(count) => *count as u64,
            Piece::Fragment(repeated) => {
                let each = repeated.separator.len() as u64 + repeated.template.bytes_most(value);
                each.saturating_mul(u64::from(repeated.count))
            }
            Piece::User
            | Piece::Iteration
            | Piece::Sequence
            | Piece::Item
            | Piece::TimeMs
            | Piece::Integer(..) => 20,
        });
        bytes.fold(0, u64::saturating_add)
    }

    /// Writes it for a user.
    pub fn write(&self, user: &mut User, into: &mut Vec<u8>) {
        self.write_item(user, 0, into);
    }

    fn write_item(&self, user: &mut User, item: u32, into: &mut Vec<u8>) {
        for piece in &self.pieces {
            match piece {
                Piece::Text(text) => into.extend_from_slice(text),
                Piece::User => whole(into, user.number),
                Piece::Iteration => whole(into, user.iteration),
                Piece::Sequence => whole(into, user.next_sequence()),
                Piece::Item => whole(into, item),
                Piece::Uuid => uuid(into, user.random.random()),
                Piece::TimeMs => whole(into, wall_clock_ms()),
                Piece::Integer(from, to) => whole(into, user.random.random_range(*from..=*to)),
                Piece::Letters(count) => letters(into, user, *count),
                Piece::Value(number) => into.extend_from_slice(&user.values[*number]),
                Piece::Fragment(repeated) => {
                    for item in 0..repeated.count {
                        if item > 0 {
                            into.extend_from_slice(&repeated.separator);
                        }
                        repeated.template.write_item(user, item, into);
                    }
                }
            }
        }
    }
}

fn whole(into: &mut Vec<u8>, number: impl itoa::Integer) {
    into.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
}

/// RFC 9562, version 4, variant 10.
fn uuid(into: &mut Vec<u8>, bits: u128) {
    let bits = bits & !(0xf << 76) & !(0x3 << 62) | (0x4 << 76) | (0x2 << 62);
    let digits = bits.to_be_bytes();
    for (at, byte) in digits.iter().enumerate() {
        if matches!(at, 4 | 6 | 8 | 10) {
            into.push(b'-');
        }
        const HEX: &[u8; 16] = b"0123456789abcdef";
        into.extend_from_slice(&[HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 0xf)]]);
    }
}

/// Five bits of randomness a letter: the share of 26 that is left over only makes some letters likelier.
fn letters(into: &mut Vec<u8>, user: &mut User, count: usize) {
    let mut left = count;
    while left > 0 {
        let mut bits: u64 = user.random.random();
        for _ in 0..left.min(12) {
            into.push(b'a' + (bits & 31) as u8 % 26);
            bits >>= 5;
        }
        left -= left.min(12);
    }
}

fn wall_clock_ms() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.map_or(0, |since| since.as_millis() as u64)
}

fn parse(text: &str, names: &Names<'_>, within: Option<&str>) -> Result<Template> {
    let mut pieces = Vec::new();
    let mut plain = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find("${") {
        if rest[..at].ends_with('$') {
            let _ = write!(plain, "{}{{", &rest[..at]);
            rest = &rest[at + 2..];
            continue;
        }
        plain.extend_from_slice(&rest.as_bytes()[..at]);
        let Some(end) = rest[at..].find('}') else {
            return Err(Error::input(format!("`{}` is not closed: a place ends with a brace", &rest[at..])));
        };
        if !plain.is_empty() {
            pieces.push(Piece::Text(std::mem::take(&mut plain).into()));
        }
        pieces.push(place(&rest[at + 2..at + end], names, within)?);
        rest = &rest[at + end + 1..];
    }
    plain.extend_from_slice(rest.as_bytes());
    if !plain.is_empty() {
        pieces.push(Piece::Text(plain.into()));
    }
    Ok(Template { pieces })
}

fn place(said: &str, names: &Names<'_>, within: Option<&str>) -> Result<Piece> {
    let words: Vec<&str> = said.split_whitespace().collect();
    Ok(match words.as_slice() {
        ["user"] => Piece::User,
        ["iteration"] => Piece::Iteration,
        ["sequence"] => Piece::Sequence,
        ["item"] if within.is_some() => Piece::Item,
        ["item"] => {
            return Err(Error::input("`${item}` is the number of a repetition: it stands in a fragment"));
        }
        ["uuid"] => Piece::Uuid,
        ["time_ms"] => Piece::TimeMs,
        ["integer", from, to] => {
            let (from, to) = (number(said, from)?, number(said, to)?);
            if from > to {
                return Err(Error::input(format!("`${{{said}}}` ends before it begins")));
            }
            Piece::Integer(from, to)
        }
        ["letters", count] => match number(said, count)? {
            count @ 0..=1_000_000 => Piece::Letters(count as usize),
            _ => return Err(Error::input(format!("`${{{said}}}`: there are 0 to 1000000 letters"))),
        },
        [name] => named(name, names, within)?,
        _ => return Err(unknown(said, names)),
    })
}

fn named(name: &str, names: &Names<'_>, within: Option<&str>) -> Result<Piece> {
    if let Some(number) = names.values.iter().position(|value| value == name) {
        return Ok(Piece::Value(number));
    }
    match names.fragments.get(name) {
        Some(_) if within.is_some() => {
            Err(Error::input(format!("`${{{name}}}` is a fragment, and fragments do not stand in fragments")))
        }
        Some(fragment) => {
            let template = parse(&fragment.text, names, Some(name))
                .map_err(|error| error.within(format_args!("fragment `{name}`")))?;
            let separator = fragment.separator.as_bytes().into();
            Ok(Piece::Fragment(Box::new(Repeated { count: fragment.count, separator, template })))
        }
        None => Err(unknown(name, names)),
    }
}

fn unknown(said: &str, names: &Names<'_>) -> Error {
    let known = FIELDS.iter().map(|(field, _)| *field);
    let known = known.chain(names.values.iter().map(String::as_str));
    let known = known.chain(names.fragments.keys().map(String::as_str));
    Error::input(format!("`${{{said}}}` leads nowhere: {}", touchstone::name::there_are(said, known)))
}

fn number(said: &str, digits: &str) -> Result<i64> {
    digits.parse().map_err(|_| Error::input(format!("`${{{said}}}`: `{digits}` is no whole number")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::Fragment;
    use std::collections::BTreeMap;

    fn fragments() -> BTreeMap<String, Fragment> {
        let items = Fragment { count: 3, separator: ",".into(), text: "[${item}]".into() };
        BTreeMap::from([("items".to_owned(), items)])
    }

    fn written(text: &str) -> Result<String> {
        let fragments = fragments();
        let values = ["cursor".to_owned()];
        let template = Template::parse(text, &Names { values: &values, fragments: &fragments })?;
        let mut user = User::new(7, 1, 1, vec![b"12".to_vec()]);
        let mut bytes = Vec::new();
        template.write(&mut user, &mut bytes);
        Ok(String::from_utf8(bytes).expect("it is text"))
    }

    #[test]
    fn places_are_filled() {
        for (text, expected) in [
            ("", ""),
            ("plain", "plain"),
            ("/a?u=${user}&c=${cursor}", "/a?u=7&c=12"),
            ("[${items}]", "[[0],[1],[2]]"),
            ("$${user} costs 5$", "${user} costs 5$"),
            ("${sequence} ${sequence}", "7 8"),
            ("${integer 5 5}", "5"),
            ("${iteration}", "0"),
        ] {
            assert_eq!(written(text).map_err(|error| error.to_string()), Ok(expected.to_owned()), "{text}");
        }
    }

    #[test]
    fn random_fields_have_their_shape() {
        let uuid = written("${uuid}").expect("it is a field");
        let parts: Vec<&str> = uuid.split('-').collect();
        assert_eq!(parts.iter().map(|part| part.len()).collect::<Vec<_>>(), [8, 4, 4, 4, 12]);
        assert!(parts[2].starts_with('4') && "89ab".contains(&parts[3][..1]), "{uuid}");
        let letters = written("${letters 190}").expect("it is a field");
        assert!(letters.len() == 190 && letters.bytes().all(|byte| byte.is_ascii_lowercase()));
    }

    #[test]
    fn what_leads_nowhere_is_told_with_what_there_is() {
        for (text, part) in [
            ("${cursr}", "did you mean `cursor`?"),
            ("${user", "not closed"),
            ("${item}", "stands in a fragment"),
            ("${integer 5 1}", "ends before it begins"),
            ("${integer x 1}", "no whole number"),
            ("${letters -1}", "letters"),
            ("${}", "leads nowhere"),
        ] {
            let error = written(text).expect_err(text).to_string();
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}
