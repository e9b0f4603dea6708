//! `touchstone list`: what can be asked, of whom, and what was claimed.

mod check;

use crate::{Context, say};
use check::Checked;
use clap::Args;
use serde::Serialize;
use std::fmt::Write as _;
use std::process::ExitCode;
use touchstone::suite::{ArmSpec, By, Claim, Suite};

/// Lists suites with their cases and claims, and subjects with their profiles
#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  touchstone list\n  touchstone list --json | jq -r '.subjects[].name'\n  \
                  touchstone list --suite sqlcc --check"
)]
pub struct List {
    /// A suite to list, by name or by path to its file; all, unless given
    #[arg(long = "suite", value_name = "SUITE")]
    suites: Vec<String>,
    /// Check the suites instead: whether they can be planned, and what their published figures give cause to doubt, by their own arithmetic
    #[arg(long)]
    check: bool,
}

#[derive(Serialize)]
struct Listing {
    suites: Vec<ListedSuite>,
    subjects: Vec<ListedSubject>,
}

#[derive(Serialize)]
struct ListedSuite {
    name: String,
    title: String,
    cases: Vec<ListedCase>,
    claims: Vec<ListedClaim>,
}

#[derive(Serialize)]
struct ListedCase {
    id: String,
    title: String,
    /// Its own name at each of its scales, where it has any.
    scales: Vec<String>,
    arms: Vec<String>,
}

#[derive(Serialize)]
struct ListedClaim {
    id: String,
    statement: String,
    /// Whose claim it is.
    by: By,
}

#[derive(Serialize)]
struct ListedSubject {
    name: String,
    language: String,
    summary: String,
    canary: bool,
    profiles: Vec<String>,
}

impl List {
    pub(crate) fn run(self, context: &Context) -> anyhow::Result<ExitCode> {
        if self.check {
            return Checked::read(context, &self.suites)?.print(context);
        }
        let listing = Listing::read(context, &self.suites)?;
        if context.json {
            say::json(&listing)?;
        } else {
            say::text(&listing.text())?;
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// The page's claims first, then ours.
fn listed_claims(suite: &Suite) -> Vec<ListedClaim> {
    let listed = |claim: &Claim| ListedClaim {
        id: claim.id.clone(),
        statement: claim.statement.clone(),
        by: claim.by,
    };
    let mut claims: Vec<ListedClaim> = suite.claims.iter().map(listed).collect();
    claims.sort_by_key(|claim| claim.by);
    claims
}

impl Listing {
    fn read(context: &Context, suites: &[String]) -> anyhow::Result<Listing> {
        let project = context.project()?;
        let suites = project.suites(suites)?.into_iter().map(|suite| ListedSuite {
            claims: listed_claims(&suite),
            cases: suite
                .cases
                .into_iter()
                .map(|case| ListedCase {
                    scales: match case.scales {
                        Some(_) => case.everywhere().into_iter().map(|scaled| scaled.id).collect(),
                        None => Vec::new(),
                    },
                    arms: case.arms.iter().map(ArmSpec::name).collect(),
                    id: case.id,
                    title: case.title,
                })
                .collect(),
            name: suite.name,
            title: suite.title,
        });
        let subjects = project.kits.subjects().map(|(language, subject)| ListedSubject {
            name: subject.name.clone(),
            language: language.to_owned(),
            summary: subject.summary.clone(),
            canary: subject.canary,
            profiles: subject.profiles.iter().map(|profile| profile.name.clone()).collect(),
        });
        Ok(Listing { suites: suites.collect(), subjects: subjects.collect() })
    }

    fn text(&self) -> String {
        let mut text = String::new();
        for suite in &self.suites {
            let _ = writeln!(text, "Suite {}: {}", suite.name, suite.title);
            for case in &suite.cases {
                let _ = writeln!(text, "  {:<16} {}", case.id, case.title);
                if !case.scales.is_empty() {
                    let _ = writeln!(text, "  {:<16} {}", "", case.scales.join(" "));
                }
            }
            let width = suite.claims.iter().map(|claim| claim.id.len()).max().unwrap_or_default();
            for (by, title) in [(By::Page, "Claims of the page"), (By::Ours, "Claims of ours")] {
                let claims: Vec<&ListedClaim> = suite.claims.iter().filter(|claim| claim.by == by).collect();
                if !claims.is_empty() {
                    let _ = writeln!(text, "  {title}:");
                }
                for claim in claims {
                    let _ = writeln!(text, "    {:<width$} {}", claim.id, claim.statement);
                }
            }
            text.push('\n');
        }
        for (title, canary) in [("Subjects", false), ("Canaries, which misbehave on purpose", true)] {
            let _ = writeln!(text, "{title}:");
            for subject in self.subjects.iter().filter(|subject| subject.canary == canary) {
                let _ = writeln!(text, "  {:<16} {} ({})", subject.name, subject.summary, subject.language);
                if !subject.profiles.is_empty() {
                    let _ = writeln!(text, "  {:<16} {}", "", subject.profiles.join(" "));
                }
            }
        }
        text
    }
}
