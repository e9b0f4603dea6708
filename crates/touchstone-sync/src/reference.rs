//! The guide's tables of problems and of limits, made from the code. A test holds the page against them, and rewrites it with `UPDATE=1`.

use crate::connection::TAKEN_WITHIN;
use crate::http::body::SMALL_BYTES_MAX;
use crate::http::full::{EVERYTHING_OF_USER, ROOM_WITHIN};
use crate::http::rest::REST_WITHIN;
use crate::http::watch::UNASKED_MAX;
use crate::limits::{CONNECTIONS, Limits, NAME_BYTES_MAX, PAGE, PAGE_MAX, REMEMBER};
use crate::problem::{DETAIL_BYTES_MAX, Kind, Said};
use crate::serve::{END_WITHIN, HEAD_WITHIN, IDLE_FOR, LISTEN_WITHIN};
use crate::storage::decide::GIVEN_BACK_BYTES_MAX;
use crate::storage::embedded::{FAR_OF_USER, NEAR, TURNS, TURNS_OF_USER};
use crate::storage::gather::{BEYOND, OF_USER, QUEUE};
use crate::storage::postgres::{ANSWERS_WITHIN, CONNECTION_WITHIN, REGISTERING_OF_USER};
use crate::storage::{DEVICES_MAX, PAGE_BYTES_MAX, PASSED_OVER, postgres};
use std::time::Duration;

/// The words have the number.
const NEAR_OF_FILE: &str = "pages of a user with `others=true`, of a file, whose cursor is more than 500 revisions behind, at a time";
const _: () = assert!(NEAR == 500);
const _: () = assert!(postgres::REGISTERING == TURNS);

/// Every problem: its type, its status, when it is told, and what a client does about it.
pub fn problems() -> String {
    let head = "| type | status | it is told when | what a client does |\n|---|---|---|---|\n".to_owned();
    let rows = Kind::ALL.iter().map(|kind| {
        let Said { word, status, meaning, remedy, .. } = kind.said();
        let meaning = meaning.trim().trim_end_matches('.');
        let (first, rest) = meaning.split_at(1);
        format!("| `/problems/{word}` | {} | {}{rest} | {remedy} |\n", status.as_u16(), first.to_lowercase())
    });
    head + &rows.collect::<String>()
}

/// Every limit that a client or the service's owner may meet: how much is taken where nobody says, the option of `serve` that says otherwise, and
/// what becomes of more.
pub fn limits() -> String {
    let head = "| limit | unless said | option | beyond it |\n|---|---|---|---|\n".to_owned();
    let all = [of_requests(), of_answers(), of_users(), of_connections(), of_storages()];
    head + &all.concat().into_iter().map(Limit::row).collect::<String>()
}

/// A limit.
#[derive(Clone)]
struct Limit {
    what: &'static str,
    most: String,
    /// What sets it; an empty text where nothing does.
    option: &'static str,
    beyond: Beyond,
}

/// What becomes of more than a limit.
#[derive(Clone, Copy)]
enum Beyond {
    Told(Kind),
    Words(&'static str),
}

impl Limit {
    fn row(self) -> String {
        let Limit { what, most, option, beyond } = self;
        let option = if option.is_empty() { String::new() } else { format!("`{option}`") };
        let beyond = match beyond {
            Beyond::Told(kind) => format!("`{}`", kind.said().word),
            Beyond::Words(words) => words.to_owned(),
        };
        format!("| {what} | {most} | {option} | {beyond} |\n")
    }
}

/// A limit that nobody can set.
fn fixed(what: &'static str, most: String, beyond: Beyond) -> Limit {
    Limit { what, most, option: "", beyond }
}

fn of_requests() -> Vec<Limit> {
    let Limits { body_bytes, changes, data_bytes, body_time, .. } = Limits::default();
    let told = Beyond::Told;
    vec![
        fixed(
            "the name of a user, a device, an object or a change",
            bytes(NAME_BYTES_MAX),
            told(Kind::Malformed),
        ),
        fixed("an object's data", bytes(data_bytes), told(Kind::Malformed)),
        fixed("changes of an upload", number(changes), told(Kind::Malformed)),
        fixed(
            "the body of an upload, before and after it is unpacked",
            bytes(body_bytes),
            told(Kind::TooLong),
        ),
        fixed("the body of a registration", bytes(SMALL_BYTES_MAX), told(Kind::TooLong)),
        fixed("time for a body to come", time(body_time), told(Kind::TooSlow)),
        fixed(
            "time for the rest of a body whose request is refused, and its bytes twice those of a body",
            time(REST_WITHIN),
            Beyond::Words("the connection is closed"),
        ),
        fixed(
            "data that an upload gives back, as `overwritten` or `current`",
            bytes(GIVEN_BACK_BYTES_MAX),
            told(Kind::TooLong),
        ),
    ]
}

fn of_answers() -> Vec<Limit> {
    let ends = Beyond::Words("the page ends, and has `more`");
    let passed_over = usize::try_from(PASSED_OVER).unwrap_or_default();
    vec![
        Limit {
            what: "versions of a page",
            most: format!("{PAGE}; {} at most", number(PAGE_MAX as usize)),
            option: "limit=",
            beyond: Beyond::Told(Kind::Malformed),
        },
        fixed("data of a page, and one version more", bytes(PAGE_BYTES_MAX), ends),
        fixed(
            "the device's own versions that a page passes over with `others=true`",
            number(passed_over),
            ends,
        ),
        fixed("the `detail` of a problem", bytes(DETAIL_BYTES_MAX), Beyond::Words("it ends there, with `…`")),
        Limit {
            what: "time for which deletions, and the names of changes, are remembered",
            most: format!("{REMEMBER}, which is {} days", hours(REMEMBER) / 24),
            option: "--remember",
            beyond: Beyond::Told(Kind::CursorLost),
        },
    ]
}

/// Without a rest: a limit that is new has a row, or this is no code.
fn of_users() -> Vec<Limit> {
    let Limits {
        body_bytes: _,
        changes: _,
        data_bytes: _,
        body_time: _,
        room_bytes,
        streams,
        user_room_bytes,
        unread_bytes,
        user_unread_bytes,
        user_streams,
        user_rate,
    } = Limits::default();
    let told = Beyond::Told;
    let rate = user_rate.map_or("as many as there are".to_owned(), |rate| rate.to_string());
    vec![
        fixed("devices of a user", number(DEVICES_MAX as usize), told(Kind::TooManyDevices)),
        Limit {
            what: "requests of a user in a second",
            most: rate,
            option: "--user-rate",
            beyond: told(Kind::TooMany),
        },
        Limit {
            what: "open streams of `watch` of a user",
            most: number(user_streams),
            option: "--user-streams",
            beyond: told(Kind::TooMany),
        },
        Limit {
            what: "open streams of `watch`",
            most: number(streams),
            option: "--streams",
            beyond: told(Kind::Busy),
        },
        fixed(
            "answers of everything of a user that are under way",
            number(EVERYTHING_OF_USER),
            told(Kind::TooMany),
        ),
        fixed("bodies of a user that are under way", bytes(user_room_bytes), told(Kind::Busy)),
        fixed("bodies that are under way", bytes(room_bytes), told(Kind::Busy)),
        fixed(
            "answers of a user that are not read yet, and one more",
            bytes(user_unread_bytes),
            told(Kind::Busy),
        ),
        fixed("answers that are not read yet, and one more", bytes(unread_bytes), told(Kind::Busy)),
    ]
}

fn of_connections() -> Vec<Limit> {
    let closed = Beyond::Words("the connection is closed");
    vec![
        fixed("time for the head of a connection's first request", time(HEAD_WITHIN), closed),
        fixed("time between an answer and the head of the next request", time(IDLE_FOR), closed),
        fixed(
            "time for which a client takes nothing of its answer, over HTTP/1.1",
            time(TAKEN_WITHIN),
            closed,
        ),
        fixed("time for which everything waits until its user's answers are read", time(ROOM_WITHIN), closed),
        fixed(
            "what a client sends after a request for a stream of `watch`, over HTTP/1.1",
            bytes(UNASKED_MAX),
            Beyond::Words("the stream ends"),
        ),
        fixed("time for answers that are under way when the service ends", time(END_WITHIN), closed),
        fixed(
            "time for an older service to listen no more at the address",
            time(LISTEN_WITHIN),
            Beyond::Words("`serve` ends with status 74"),
        ),
    ]
}

fn of_storages() -> Vec<Limit> {
    let told = Beyond::Told;
    vec![
        fixed("requests that wait in a queue before the storage", number(QUEUE), told(Kind::Busy)),
        fixed("uploads of one user of them, and downloads on PostgreSQL", number(OF_USER), told(Kind::Busy)),
        fixed("requests beyond them, one of each user who has none", number(BEYOND), told(Kind::Busy)),
        fixed(NEAR_OF_FILE, number(FAR_OF_USER), told(Kind::Busy)),
        fixed("registrations that wait to be stored", number(TURNS), told(Kind::Busy)),
        fixed("registrations of one user of them, in a file", number(TURNS_OF_USER), told(Kind::Busy)),
        fixed(
            "registrations of one user of them, on PostgreSQL",
            number(REGISTERING_OF_USER),
            told(Kind::Busy),
        ),
        Limit {
            what: "connections to PostgreSQL",
            most: number(CONNECTIONS),
            option: "--connections",
            beyond: Beyond::Words("requests wait for one"),
        },
        fixed(
            "time for a connection to PostgreSQL, and its answers",
            time(CONNECTION_WITHIN + ANSWERS_WITHIN),
            told(Kind::Away),
        ),
    ]
}

/// Bytes in the largest unit that they are a whole number of.
fn bytes(bytes: usize) -> String {
    match bytes {
        _ if bytes.is_multiple_of(1 << 20) => format!("{} MiB", bytes >> 20),
        _ if bytes.is_multiple_of(1 << 10) => format!("{} KiB", bytes >> 10),
        _ => format!("{} bytes", number(bytes)),
    }
}

/// A number as pages have it: 20,000.
fn number(number: usize) -> String {
    match number / 1_000 {
        0 => number.to_string(),
        thousands => format!("{},{:03}", self::number(thousands), number % 1_000),
    }
}

fn time(time: Duration) -> String {
    format!("{} s", time.as_secs())
}

/// The hours of a time as an option has it.
fn hours(time: &str) -> u64 {
    time.strip_suffix('h').and_then(|hours| hours.parse().ok()).expect("it is in hours")
}
