//! What is made of an answer: whether it is right, and what the user keeps of it.

use crate::failure::Failure;
use crate::scenario;
use crate::template::Template;
use crate::user::User;
use memchr::memmem::{self, Finder};
use std::borrow::Cow;

/// A longer value is not kept: each user has its own.
pub const KEPT_BYTES_MAX: usize = 1 << 20;

/// A whole answer, whichever engine has received it.
pub trait Answer {
    /// Its status.
    fn status(&self) -> u16;
    /// Its body.
    fn body(&self) -> &[u8];
    /// The value of a header, the first of its name.
    fn header(&self, name: &str) -> Option<&[u8]>;
}

/// What must be true of an answer, and what is kept of it.
#[derive(Debug, Default)]
pub struct Expectation {
    /// Statuses that are right; those from 200 to 299, where there are none.
    pub statuses: Vec<u16>,
    /// What the body must be.
    pub checks: Vec<Check>,
    /// Texts that the body contains, which are other for each user.
    pub own: Vec<Template>,
    /// What is kept, by the number of the value, and where it goes.
    pub captures: Vec<(usize, Capture, Place)>,
}

/// Where a value goes in requests. What has no place there would end the line that it stands on, and begin another request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// Into bodies alone, or nowhere.
    #[default]
    Body,
    /// Into a header.
    Header,
    /// Into a path.
    Path,
}

impl Place {
    /// The first byte that cannot stand there.
    pub fn refuses(self, bytes: &[u8]) -> Option<u8> {
        let is_refused = |byte: &u8| match self {
            Place::Body => false,
            Place::Header => (*byte < b' ' && *byte != b'\t') || *byte == 0x7f,
            Place::Path => *byte <= b' ' || *byte == 0x7f,
        };
        bytes.iter().copied().find(is_refused)
    }

    /// What it is called.
    pub fn word(self) -> &'static str {
        match self {
            Place::Body => "body",
            Place::Header => "header",
            Place::Path => "path",
        }
    }
}

/// What a body must be.
#[derive(Debug)]
pub enum Check {
    /// It contains a text.
    Contains(Finder<'static>),
    /// It does not.
    Lacks(Finder<'static>),
    /// It contains a text so many times.
    Times(Finder<'static>, usize),
    /// Its numbers rise.
    Rising {
        /// What stands before each.
        after: Finder<'static>,
        /// The value than which the first is greater: its number and its name.
        above: Option<(usize, String)>,
        /// Each is the next.
        contiguous: bool,
    },
}

/// What is kept.
#[derive(Debug)]
pub enum Capture {
    /// The text between two others.
    Text {
        /// Before it.
        after: Box<Finder<'static>>,
        /// Behind it.
        until: Box<Finder<'static>>,
        /// The last one.
        last: Option<Box<memmem::FinderRev<'static>>>,
    },
    /// A value of a JSON body.
    Json(String),
    /// A header.
    Header(String),
}

/// What is wrong with an answer, in words for the first of its kind.
#[derive(Debug, PartialEq, Eq)]
pub struct Wrong {
    /// How it counts.
    pub failure: Failure,
    /// What is told of it.
    pub detail: String,
}

impl Expectation {
    /// Judges an answer, and keeps what is to be kept.
    ///
    /// # Errors
    /// What is wrong with it. The user then keeps nothing of it.
    #[inline]
    pub fn judge(&self, answer: &impl Answer, user: &mut User) -> Result<(), Wrong> {
        let right = if self.statuses.is_empty() {
            (200..300).contains(&answer.status())
        } else {
            self.statuses.contains(&answer.status())
        };
        if !right {
            let detail = format!("status {}{}", answer.status(), excerpt(answer.body()));
            return Err(Wrong { failure: Failure::Status, detail });
        }
        for check in &self.checks {
            let judged = check.judge(answer.body(), &user.values);
            judged.map_err(|detail| Wrong { failure: Failure::Check, detail })?;
        }
        for text in &self.own {
            let mut wanted = Vec::new();
            text.write(user, &mut wanted);
            if memmem::find(answer.body(), &wanted).is_none() {
                let wanted = String::from_utf8_lossy(&wanted);
                let detail = format!("`{wanted}` is not in it{}", excerpt(answer.body()));
                return Err(Wrong { failure: Failure::Check, detail });
            }
        }
        self.keep(answer, &mut user.values)
    }

    /// Nothing is kept before all is found.
    fn keep(&self, answer: &impl Answer, values: &mut [Vec<u8>]) -> Result<(), Wrong> {
        if let [(number, capture, place)] = self.captures.as_slice() {
            let found = capture.found(answer, *place)?;
            replace(&mut values[*number], &found);
            return Ok(());
        }
        let found = self.captures.iter().map(|(_, capture, place)| capture.found(answer, *place));
        let found = found.collect::<Result<Vec<_>, _>>()?;
        for ((number, ..), found) in self.captures.iter().zip(found) {
            replace(&mut values[*number], &found);
        }
        Ok(())
    }
}

fn replace(value: &mut Vec<u8>, found: &[u8]) {
    value.clear();
    value.extend_from_slice(found);
}

impl Check {
    /// A body contains that text.
    pub fn contains(text: &[u8]) -> Check {
        Check::Contains(Finder::new(text).into_owned())
    }

    /// A scenario's checks but for the texts that a body contains. `value` tells the number of a value by its name.
    pub fn of(said: &scenario::Check, value: impl Fn(&str) -> Option<usize>) -> Vec<Check> {
        let mut checks: Vec<Check> = Vec::new();
        checks.extend(said.lacks.iter().map(|text| Check::Lacks(finder(text))));
        checks.extend(said.times.iter().map(|times| Check::Times(finder(&times.text), times.count)));
        checks.extend(said.rising.iter().map(|rising| Check::Rising {
            after: finder(&rising.after),
            above: rising.above.as_deref().and_then(|name| Some((value(name)?, name.to_owned()))),
            contiguous: rising.contiguous,
        }));
        checks
    }

    fn judge(&self, body: &[u8], values: &[Vec<u8>]) -> Result<(), String> {
        match self {
            Check::Contains(finder) if finder.find(body).is_none() => {
                Err(format!("`{}` is not in it{}", needle(finder), excerpt(body)))
            }
            Check::Lacks(finder) if finder.find(body).is_some() => {
                Err(format!("`{}` is in it", needle(finder)))
            }
            Check::Times(finder, count) => match finder.find_iter(body).count() {
                found if found == *count => Ok(()),
                found => Err(format!("`{}` stands in it {found} times, not {count}", needle(finder))),
            },
            Check::Rising { after, above, contiguous } => {
                let above = above
                    .as_ref()
                    .and_then(|(number, name)| Some((leading_number(&values[*number])?, name.as_str())));
                rising(body, after, above, *contiguous)
            }
            _ => Ok(()),
        }
    }
}

fn rising(
    body: &[u8],
    after: &Finder<'_>,
    above: Option<(u64, &str)>,
    contiguous: bool,
) -> Result<(), String> {
    let mut before = above.map(|(number, _)| number);
    for (place, at) in after.find_iter(body).enumerate() {
        let here = &body[at + after.needle().len()..];
        let Some(number) = leading_number(here) else {
            return Err(format!("behind `{}` stands no whole number", needle(after)));
        };
        let right = match before {
            Some(before) if contiguous => before.checked_add(1) == Some(number),
            Some(before) => number > before,
            None => true,
        };
        if !right {
            let (before, after) = (before.unwrap_or_default(), needle(after));
            // Who is wrong is not known: the service may repeat what it had given, or the scenario's capture the value it had kept.
            return Err(match above.filter(|_| place == 0) {
                Some((_, name)) => format!(
                    "the first number behind `{after}` is {number}, and the user's value `{name}` is {before}: either the service gave \
                     again what it had given before, or the scenario keeps another value there than the last"
                ),
                None => format!("{number} follows {before} behind `{after}`"),
            });
        }
        before = Some(number);
    }
    Ok(())
}

/// The whole number that bytes begin with.
pub(crate) fn leading_number(bytes: &[u8]) -> Option<u64> {
    let bytes = bytes.trim_ascii_start();
    let digits = bytes.iter().take_while(|byte| byte.is_ascii_digit()).count();
    std::str::from_utf8(&bytes[..digits]).ok()?.parse().ok()
}

impl Capture {
    /// A scenario's capture.
    pub fn of(said: &scenario::Capture) -> Capture {
        match said {
            scenario::Capture::Text { after, until, last } => Capture::Text {
                after: Box::new(finder(after)),
                until: Box::new(finder(until)),
                last: last.then(|| Box::new(memmem::FinderRev::new(after.as_bytes()).into_owned())),
            },
            scenario::Capture::Json { json } => Capture::Json(json.clone()),
            scenario::Capture::Header { header } => Capture::Header(header.clone()),
        }
    }

    fn name(&self) -> String {
        match self {
            Capture::Text { after, .. } => format!("`{}`", needle(after)),
            Capture::Json(pointer) => format!("the JSON value at `{pointer}`"),
            Capture::Header(name) => format!("the header `{name}`"),
        }
    }

    /// What is kept of an answer, where it is there and can stand in its place.
    fn found<'a>(&self, answer: &'a impl Answer, place: Place) -> Result<Cow<'a, [u8]>, Wrong> {
        let wrong = |detail| Wrong { failure: Failure::Capture, detail };
        let Some(found) = self.find(answer) else {
            return Err(wrong(format!("{} is not in it{}", self.name(), excerpt(answer.body()))));
        };
        if found.len() > KEPT_BYTES_MAX {
            return Err(wrong(format!("{} is longer than {} KiB", self.name(), KEPT_BYTES_MAX >> 10)));
        }
        if let Some(byte) = place.refuses(&found) {
            let (name, place) = (self.name(), place.word());
            return Err(wrong(format!(
                "{name} has the byte {byte:#04x}, which cannot stand in the {place} that it goes into"
            )));
        }
        Ok(found)
    }

    fn find<'a>(&self, answer: &'a impl Answer) -> Option<Cow<'a, [u8]>> {
        match self {
            Capture::Text { after, until, last } => {
                let body = answer.body();
                let at = match last {
                    Some(last) => last.rfind(body)?,
                    None => after.find(body)?,
                };
                let rest = &body[at + after.needle().len()..];
                Some(Cow::Borrowed(&rest[..until.find(rest)?]))
            }
            Capture::Json(pointer) => {
                let body: serde_json::Value = serde_json::from_slice(answer.body()).ok()?;
                Some(Cow::Owned(match body.pointer(pointer)? {
                    serde_json::Value::String(text) => text.clone().into_bytes(),
                    other => other.to_string().into_bytes(),
                }))
            }
            Capture::Header(name) => answer.header(name).map(Cow::Borrowed),
        }
    }
}

fn finder(text: &str) -> Finder<'static> {
    Finder::new(text.as_bytes()).into_owned()
}

fn needle<'f>(finder: &'f Finder<'_>) -> Cow<'f, str> {
    String::from_utf8_lossy(finder.needle())
}

/// The beginning of a body, for a message.
fn excerpt(body: &[u8]) -> String {
    const BYTES_MAX: usize = 200;
    if body.is_empty() {
        return String::new();
    }
    let text = String::from_utf8_lossy(&body[..body.len().min(BYTES_MAX)]);
    let text: String =
        text.chars().map(|c| if touchstone::name::is_unreadable(c) { ' ' } else { c }).collect();
    format!(": {}{}", text.trim(), if body.len() > BYTES_MAX { "…" } else { "" })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::response::{Complete, Response, Whole};
    use crate::template::Names;
    use std::collections::BTreeMap;

    fn response(body: &str) -> (Complete, Response) {
        let mut response = Response::default();
        let head = format!("HTTP/1.1 200 OK\r\nETag: \"x\"\r\nContent-Length: {}\r\n\r\n{body}", body.len());
        response.buffer().extend_from_slice(head.as_bytes());
        let complete = response.advance(false, false).expect("it is one").expect("it is whole");
        (complete, response)
    }

    fn judged(check: scenario::Check, body: &str, value: &str) -> Result<(), Failure> {
        let checks = Check::of(&check, |name| (name == "cursor").then_some(0));
        let expectation = Expectation { checks, ..Expectation::default() };
        let (complete, response) = response(body);
        let mut user = User::new(0, 1, 0, vec![value.as_bytes().to_vec()]);
        expectation.judge(&Whole { complete, response: &response }, &mut user).map_err(|wrong| wrong.failure)
    }

    fn rising(above: bool, contiguous: bool) -> scenario::Check {
        let above = above.then(|| "cursor".to_owned());
        let rising = scenario::Rising { after: "\"n\":".into(), above, contiguous };
        scenario::Check { rising: Some(rising), ..scenario::Check::default() }
    }

    #[test]
    fn numbers_rise_or_the_check_fails() {
        for (body, value, above, contiguous, right) in [
            (r#"[{"n":1},{"n": 5},{"n":6}]"#, "", false, false, true),
            (r#"[{"n":1},{"n":5},{"n":5}]"#, "", false, false, false),
            (r#"[{"n":1},{"n":2},{"n":4}]"#, "", false, true, false),
            (r#"[{"n":8},{"n":9}]"#, "7", true, true, true),
            (r#"[{"n":9}]"#, "7", true, true, false),
            (r#"[{"n":7}]"#, "7", true, false, false),
            (r#"[{"n":"x"}]"#, "", false, false, false),
            ("[]", "7", true, true, true),
        ] {
            let expected = if right { Ok(()) } else { Err(Failure::Check) };
            assert_eq!(judged(rising(above, contiguous), body, value), expected, "{body} above {value}");
        }
    }

    /// A capture that always kept the same cursor was told as numbers of the service's that did not rise.
    #[test]
    fn a_value_that_stays_the_same_is_told_by_its_name() {
        let checks = Check::of(&rising(true, false), |_| Some(0));
        let told = |body: &str| checks[0].judge(body.as_bytes(), &[b"7".to_vec()]).expect_err(body);
        assert!(
            told(r#"[{"n":7}]"#).contains("the user's value `cursor` is 7: either the service gave again")
        );
        assert_eq!(told(r#"[{"n":8},{"n":8}]"#), "8 follows 8 behind `\"n\":`");
    }

    #[test]
    fn a_body_contains_what_is_the_users_own() {
        let values = ["cursor".to_owned()];
        let names = Names { values: &values, fragments: &BTreeMap::new() };
        let own = vec![Template::parse("${user}-${iteration}-${cursor}", &names).expect("it is a template")];
        let expectation = Expectation { own, checks: vec![Check::contains(b"ok")], ..Expectation::default() };
        let judged = |body: &str| {
            let (complete, response) = response(body);
            let mut user = User::new(4, 9, 0, vec![b"7".to_vec()]);
            user.iteration = 2;
            let judged = expectation.judge(&Whole { complete, response: &response }, &mut user);
            judged.map_err(|wrong| wrong.detail)
        };
        assert_eq!(judged("ok: 4-2-7"), Ok(()));
        assert!(judged("ok: 5-2-7").expect_err("it is another's").starts_with("`4-2-7` is not in it"));
        assert!(judged("4-2-7").expect_err("it is not ok").starts_with("`ok` is not in it"));
    }

    #[test]
    fn texts_are_there_or_not_and_so_many_times() {
        let lacks = scenario::Check { lacks: vec!["error".into()], ..Default::default() };
        assert_eq!(judged(lacks.clone(), "fine", ""), Ok(()));
        assert_eq!(judged(lacks, "an error", ""), Err(Failure::Check));
        let times = scenario::Times { text: "id".into(), count: 2 };
        let times = scenario::Check { times: Some(times), ..Default::default() };
        assert_eq!(judged(times.clone(), "id id", ""), Ok(()));
        assert_eq!(judged(times, "id id id", ""), Err(Failure::Check));
    }

    #[test]
    fn a_value_without_measure_is_not_kept() {
        let capture = scenario::Capture::Text { after: "<".into(), until: ">".into(), last: false };
        let expectation =
            Expectation { captures: vec![(0, Capture::of(&capture), Place::Body)], ..Default::default() };
        for (length, is_kept) in [(KEPT_BYTES_MAX, true), (KEPT_BYTES_MAX + 1, false)] {
            let (complete, response) = response(&format!("<{}>", "x".repeat(length)));
            let mut user = User::new(0, 1, 0, vec![Vec::new()]);
            let outcome = expectation.judge(&Whole { complete, response: &response }, &mut user);
            assert_eq!((outcome.is_ok(), user.values[0].len()), (is_kept, if is_kept { length } else { 0 }));
        }
    }

    /// The first of two was kept where the second was not there.
    #[test]
    fn of_several_values_all_are_kept_or_none() {
        let json = |at: usize, pointer: &str| {
            (at, Capture::of(&scenario::Capture::Json { json: pointer.into() }), Place::Path)
        };
        for (body, expected) in [
            (r#"{"a":"1","b":"2"}"#, ["1", "2"]),
            (r#"{"a":"1"}"#, ["x", "y"]),
            (r#"{"a":"1","b":"2 3"}"#, ["x", "y"]),
        ] {
            let expectation =
                Expectation { captures: vec![json(0, "/a"), json(1, "/b")], ..Default::default() };
            let (complete, response) = response(body);
            let mut user = User::new(0, 1, 0, vec![b"x".to_vec(), b"y".to_vec()]);
            let judged = expectation.judge(&Whole { complete, response: &response }, &mut user);
            assert_eq!(judged.is_ok(), expected[0] == "1", "{body}");
            assert_eq!(user.values, expected.map(|value| value.as_bytes().to_vec()), "{body}");
        }
    }

    /// A value of an answer ended the head of a request, and what followed it was another request.
    #[test]
    fn a_value_that_would_split_a_request_is_not_kept() {
        for (place, value, is_kept) in [
            (Place::Body, "a\r\nb", true),
            (Place::Header, "a b\tc", true),
            (Place::Header, "a\r\nb", false),
            (Place::Header, "a\u{0}b", false),
            (Place::Path, "a/b?c=%0D", true),
            (Place::Path, "a b", false),
            (Place::Path, "a\nb", false),
        ] {
            let capture = Capture::of(&scenario::Capture::Json { json: "/v".into() });
            let expectation = Expectation { captures: vec![(0, capture, place)], ..Default::default() };
            let (complete, response) = response(&serde_json::json!({ "v": value }).to_string());
            let mut user = User::new(0, 1, 0, vec![Vec::new()]);
            let outcome = expectation.judge(&Whole { complete, response: &response }, &mut user);
            assert_eq!(outcome.is_ok(), is_kept, "{place:?} {value:?}");
            assert_eq!(user.values[0].is_empty(), !is_kept);
        }
    }

    #[test]
    fn what_is_to_be_kept_is_found_wherever_it_is() {
        let text = |last| scenario::Capture::Text { after: "\"c\":".into(), until: ",".into(), last };
        let json = |pointer: &str| scenario::Capture::Json { json: pointer.into() };
        let body = r#"{"c":1, "list":[{"c":2,"t":"a\"b"}],"end":null}"#;
        for (capture, expected) in [
            (text(false), Some("1")),
            (text(true), Some("2")),
            (json("/list/0/t"), Some("a\"b")),
            (json("/c"), Some("1")),
            (json("/missing"), None),
            (scenario::Capture::Header { header: "etag".into() }, Some("\"x\"")),
            (scenario::Capture::Header { header: "missing".into() }, None),
        ] {
            let expectation =
                Expectation { captures: vec![(0, Capture::of(&capture), Place::Body)], ..Default::default() };
            let (complete, response) = response(body);
            let mut user = User::new(0, 1, 0, vec![b"before".to_vec()]);
            let outcome = expectation.judge(&Whole { complete, response: &response }, &mut user);
            match expected {
                Some(expected) => assert_eq!(user.values[0], expected.as_bytes(), "{capture:?}"),
                None => {
                    assert_eq!(outcome.expect_err("nothing is there").failure, Failure::Capture);
                    assert_eq!(user.values[0], b"before", "{capture:?}");
                }
            }
        }
    }
}
