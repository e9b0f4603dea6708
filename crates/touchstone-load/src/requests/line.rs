//! How a request that has ended is written: a line of CSV (RFC 4180), but for the line's end, which is a line feed alone.

use super::{COLUMNS, Ended};
use crate::outcome::SETUP;
use crate::plan::Plan;

/// The names that stand in lines, as they are written.
pub(super) struct Names {
    phases: Vec<String>,
    requests: Vec<String>,
}

impl Names {
    pub(super) fn of(plan: &Plan) -> Names {
        let phases = plan.phases.iter().map(|phase| phase.name.as_str()).chain([SETUP]);
        Names {
            phases: phases.map(quoted).collect(),
            requests: plan.requests.iter().map(|request| quoted(&request.name)).collect(),
        }
    }
}

/// A text that is a field whatever is in it.
fn quoted(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}

/// The first line.
pub(super) fn head() -> String {
    COLUMNS.map(|(name, _)| name).join(",") + "\n"
}

/// Writes one behind others.
pub(super) fn write(ended: &Ended, names: &Names, into: &mut Vec<u8>) {
    let mut digits = itoa::Buffer::new();
    into.extend_from_slice(digits.format(ended.began_ns).as_bytes());
    let mut field = |bytes: &[u8]| {
        into.push(b',');
        into.extend_from_slice(bytes);
    };
    field(digits.format(ended.user).as_bytes());
    field(digits.format(ended.iteration).as_bytes());
    field(names.phases[ended.phase].as_bytes());
    field(names.requests[ended.request].as_bytes());
    field(ended.status.map_or("", |status| digits.format(status)).as_bytes());
    field(ended.failure.map_or("", |failure| failure.word()).as_bytes());
    field(digits.format(ended.response_ns).as_bytes());
    field(ended.service_ns.map_or("", |ns| digits.format(ns)).as_bytes());
    into.push(b'\n');
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::failure::Failure;

    #[test]
    fn a_line_has_a_field_for_each_column() {
        let names =
            Names { phases: vec![quoted("warm, up")], requests: vec![quoted("a \"b\""), quoted("c")] };
        let answered = Ended {
            seen_ns: 9,
            began_ns: -5,
            user: 1,
            iteration: 2,
            phase: 0,
            request: 1,
            status: Some(200),
            failure: None,
            response_ns: 14,
            service_ns: Some(13),
        };
        let unsent =
            Ended { request: 0, status: None, failure: Some(Failure::Unsent), service_ns: None, ..answered };
        let mut lines = Vec::new();
        write(&answered, &names, &mut lines);
        write(&unsent, &names, &mut lines);
        assert_eq!(
            String::from_utf8_lossy(&lines),
            "-5,1,2,\"warm, up\",c,200,,14,13\n-5,1,2,\"warm, up\",\"a \"\"b\"\"\",,unsent,14,\n"
        );
        let fields = head().split(',').count();
        assert_eq!(
            String::from_utf8_lossy(&lines).lines().next().map(|line| line.split(',').count() - 1),
            Some(fields)
        );
    }
}
