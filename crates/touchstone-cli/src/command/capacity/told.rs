//! What searches found, in words: a service after the other, then what was published.

use super::searches::{Held, Searches};
use touchstone::plan::{PlannedCase, PlannedSuite};
use touchstone::report::format::count;
use touchstone::suite::Claim;

/// From this rate on its decimals say nothing.
const WHOLE_FROM: f64 = 1_000.0;

/// What the words are about.
pub(super) struct Told<'t> {
    pub(super) case: &'t PlannedCase,
    pub(super) suite: &'t PlannedSuite,
    /// The suite as the user named it, which may be by a file.
    pub(super) named: &'t str,
}

impl Told<'_> {
    /// All of it.
    pub(super) fn text(&self, searches: &Searches) -> String {
        let mut lines = vec![format!("{}: {}", self.case.id, self.case.title)];
        lines.push(format!(
            "Open loop, Poisson, {} users, {}:",
            count(searches.users.into()),
            searches.limits
        ));
        lines.extend(searches.contenders.iter().flat_map(lines_of));
        lines.extend(self.published());
        lines.push(format!(
            "Nothing was killed and no sync was counted: that a service keeps what its class promises is looked at by touchstone bench \
             --suite {} --case {}",
            self.named,
            self.case.name()
        ));
        lines.push(format!("Searches, with a page of each: {}", searches.folder));
        lines.join("\n") + "\n"
    }

    fn published(&self) -> Vec<String> {
        let of_case = |claim: &&Claim| {
            let is_of_devices = claim.figures.iter().any(|figure| figure.unit == "devices/s");
            is_of_devices && claim.untested.as_ref().is_some_and(|untested| untested.case == self.case.name())
        };
        let line = |claim: &Claim| {
            let notes = claim.figures.iter().filter_map(|figure| figure.note.as_deref());
            let notes: Vec<&str> = notes.collect();
            let words = claim.words.as_deref().map_or(String::new(), |words| format!(": \"{words}\""));
            format!("Published: {}{words}; {}", claim.statement, notes.join("; "))
        };
        self.suite.claims.iter().filter(of_case).map(line).collect()
    }
}

fn lines_of(held: &Held) -> Vec<String> {
    let mut lines = vec![format!("  {}: {}", held.contender, answer(held))];
    let read: Vec<String> = held.settings.iter().map(|(name, value)| format!("{name} {value}")).collect();
    let read = if read.is_empty() { String::new() } else { format!("; read back: {}", read.join(", ")) };
    lines.push(format!("    class {}, as its kit states it{read}", held.class));
    lines.extend(held.contradicted.iter().map(|what| format!("    not as asked: {what}")));
    lines.extend(held.fault.iter().map(|fault| format!("    fault, after the search: {fault}")));
    lines
}

fn answer(held: &Held) -> String {
    let doubts = held.doubts.join("; ");
    let invalid = if held.is_valid() { String::new() } else { format!("INVALID ({doubts}): ") };
    let (Some(holds), Some(devices)) = (held.holds, held.devices) else {
        return format!("{invalid}no answer: {}", held.why.as_deref().unwrap_or("none"));
    };
    let not = held.fails.map_or(String::new(), |fails| format!(" ({} do not hold)", rate(fails)));
    let least = if held.fails.is_none() || !held.beyond.is_empty() { "at least " } else { "" };
    let beyond = match held.beyond.join("; ") {
        none if none.is_empty() => none,
        doubts => format!("; the search came to the load generator's own limits: {doubts}"),
    };
    format!(
        "{invalid}{least}{} iterations a second{not}: {least}{} devices, at one iteration in ten minutes each{beyond}",
        rate(holds),
        count(devices as u64)
    )
}

/// A rate, so that the devices can be worked out from it: `47.88`, `1,601`.
pub(super) fn rate(rate: f64) -> String {
    if rate >= WHOLE_FROM {
        return count(rate.round() as u64);
    }
    let written = format!("{rate:.2}");
    written.strip_suffix(".00").unwrap_or(&written).to_owned()
}

#[cfg(test)]
mod tests {
    use super::{answer, lines_of, rate};
    use crate::command::capacity::searches::{Held, Searches};
    use touchstone::kit::DurabilityClass;

    fn held(fails: Option<f64>, doubts: &[&str]) -> Held {
        Held {
            contender: "one@plain".into(),
            class: DurabilityClass::Strict,
            settings: [].into(),
            contradicted: Vec::new(),
            holds: Some(47.88),
            fails,
            devices: Some(28_728.0),
            why: None,
            doubts: doubts.iter().map(|doubt| (*doubt).to_owned()).collect(),
            beyond: Vec::new(),
            fault: None,
            search: Some("there".into()),
            limits: Some("p99 < 1s, failures < 1%".into()),
        }
    }

    #[test]
    fn a_rate_has_decimals_where_they_say_something() {
        assert_eq!([25.0, 47.884, 1_600.6].map(rate), ["25", "47.88", "1,601"]);
    }

    #[test]
    fn an_answer_is_told_in_devices_and_says_where_it_cannot_be_believed() {
        assert_eq!(
            answer(&held(Some(50.0), &[])),
            "47.88 iterations a second (50 do not hold): 28,728 devices, at one iteration in ten minutes each"
        );
        let doubted = answer(&held(None, &["it sent late"]));
        assert!(
            doubted
                .starts_with("INVALID (it sent late): at least 47.88 iterations a second: at least 28,728"),
            "{doubted}"
        );
        let beyond = Held { beyond: vec!["it sent late (3 of 9 steps)".into()], ..held(Some(60.0), &[]) };
        assert_eq!(
            answer(&beyond),
            "at least 47.88 iterations a second (60 do not hold): at least 28,728 devices, at one iteration in ten minutes each; the \
             search came to the load generator's own limits: it sent late (3 of 9 steps)"
        );
    }

    #[test]
    fn each_setting_that_took_no_effect_is_a_line() {
        let contradicted = ["one was asked for as 1, 2 took effect", "two was asked for as 2, 3 took effect"];
        let held = Held { contradicted: contradicted.map(str::to_owned).into(), ..held(None, &[]) };
        let told = lines_of(&held).join("\n");
        assert_eq!(told.matches("\n    not as asked: ").count(), 2, "{told}");
    }

    /// The limit of failures that a search has in any case stood nowhere.
    #[test]
    fn limits_are_told_as_the_search_had_them() {
        let mut searches = Searches::new("a/b", 2, "p99 < 1s", "there");
        searches.add(Held { limits: None, ..held(None, &[]) });
        assert_eq!(searches.limits, "p99 < 1s");
        searches.add(held(None, &["it sent late"]));
        assert_eq!((searches.limits.as_str(), searches.is_valid), ("p99 < 1s, failures < 1%", false));
    }
}
