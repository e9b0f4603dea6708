//! The README's two tables, made from `suites/` and `kits/`.

use std::fmt::Write as _;
use touchstone::kit::Kits;
use touchstone::suite::{By, Suite};

/// What is asked: a row a suite, those for testing the lab itself left out.
pub fn suites(suites: &[Suite]) -> String {
    let mut table = String::from(
        "| suite | what it asks | the page; its device | cases | claims of the page | ours |\n|---|---|---|---|---|---|\n",
    );
    for suite in suites.iter().filter(|suite| !suite.internal) {
        let claims = |by: By| suite.claims.iter().filter(|claim| claim.by == by).count();
        let _ = writeln!(
            table,
            "| [`{0}`](suites/{0}.toml) | {1} | {2}; {3} | {4} | {5} | {6} |",
            suite.name,
            suite.title,
            suite.source.trim_end_matches('.'),
            suite.device,
            suite.cases.len(),
            claims(By::Page),
            claims(By::Ours)
        );
    }
    table
}

/// Who answers: a row a subject, canaries counted beneath.
pub fn subjects(kits: &Kits) -> String {
    let mut table = String::from("| language | subject | what it is | profiles |\n|---|---|---|---|\n");
    for (language, subject) in kits.subjects().filter(|(_, subject)| !subject.canary) {
        let profiles: Vec<String> =
            subject.profiles.iter().map(|profile| format!("`{}`", profile.name)).collect();
        let (name, summary) = (&subject.name, &subject.summary);
        let _ = writeln!(table, "| {language} | `{name}` | {summary} | {} |", profiles.join(", "));
    }
    let canaries: Vec<String> = kits
        .subjects()
        .filter(|(_, subject)| subject.canary)
        .map(|(_, canary)| format!("`{}`", canary.name))
        .collect();
    let _ =
        write!(table, "\n{} canaries misbehave on purpose, so that the lab is tested too: ", canaries.len());
    let _ = writeln!(table, "{}.", canaries.join(", "));
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use touchstone::kit::Kit;

    #[test]
    fn canaries_are_counted_and_not_ranked() {
        let row = |name: &str, more: &str| {
            format!(
                "[[subject]]\nname = \"{name}\"\nsummary = \"s\"\nbuild = [\"b\"]\nrun = [\"r\"]\n{more}\n"
            )
        };
        let profile = "profile = [{ name = \"p\", class = \"strict\" }]";
        let text =
            format!("[kit]\nlanguage = \"l\"\n{}{}", row("store", profile), row("bird", "canary = true"));
        let table = subjects(&Kits { kits: vec![Kit::parse(&text, "test").unwrap()] });
        assert!(table.contains("| l | `store` | s | `p` |"), "{table}");
        assert!(table.contains("1 canaries") && !table.contains("| `bird`"), "{table}");
    }
}
