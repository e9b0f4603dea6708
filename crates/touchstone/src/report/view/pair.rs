//! Who was asked whether a claim holds, in words: two arms with what was found of them, and what makes it doubtful.

use super::measured::{BoundView, TestView};
use crate::report::format;
use crate::verdict::{ClaimStatus, Flag, PairOutcome, Side};

/// Two arms, or one where a claim compares with nothing.
pub(in crate::report) struct PairView {
    pub status: ClaimStatus,
    /// What is decided of the size of a published difference, where one was published.
    pub size: Option<ClaimStatus>,
    /// Its arms; of the pair that decides with the libraries of the page whose places they take.
    pub asked: String,
    /// Whether one of them takes the place of a library that is not there.
    pub by_stand_in: bool,
    /// Whether its tests are of different arms, so that a figure is told with its own.
    pub own_arms: bool,
    pub tests: Vec<TestView>,
    pub doubts: Vec<Doubt>,
}

/// A red flag beside a claim.
pub(in crate::report) struct Doubt {
    pub kind: String,
    /// The arm, or the case where the flag is about all of it.
    pub about: String,
    pub evidence: String,
}

impl PairView {
    /// `first` is the pair that decides; none where this one does.
    pub(super) fn new(pair: &PairOutcome, first: Option<&PairOutcome>) -> PairView {
        let mut tests: Vec<TestView> = Vec::new();
        for test in &pair.tests {
            match tests.last_mut().filter(|last| last.is_of(test)) {
                Some(last) => last.add(test),
                None => tests.push(TestView::new(test)),
            }
        }
        let known = |flag: &&Flag| first.is_some_and(|first| first.flags.contains(flag));
        let arms = arms(pair);
        PairView {
            status: pair.status,
            size: pair.size,
            asked: match first {
                _ if arms.len() > 1 => arms.join(", and "),
                Some(first) => also_asked(&pair.sides, &first.sides),
                None => asked(&pair.sides),
            },
            own_arms: arms.len() > 1,
            by_stand_in: by_stand_in(pair),
            tests,
            doubts: pair.flags.iter().filter(|flag| !known(flag)).map(Doubt::new).collect(),
        }
    }

    /// The first of the measurements whose status is the pair's: the one that outweighs the others.
    fn deciding(&self) -> Option<(&TestView, &BoundView)> {
        self.bound(false, self.status)
    }

    /// The arms with what is measured of them, where that is one thing: `store@consistent; rate in read`.
    pub(in crate::report) fn asked_what(&self) -> String {
        match self.tests.as_slice() {
            [] => self.asked.clone(),
            [first, others @ ..] if others.iter().all(|other| other.question == first.question) => {
                format!("{}; {}", self.asked, first.question)
            }
            tests => format!("{}; {} tests", self.asked, tests.len()),
        }
    }

    fn bound(&self, of_size: bool, status: ClaimStatus) -> Option<(&TestView, &BoundView)> {
        let mut asked = self.tests.iter().flat_map(|test| test.bounds.iter().map(move |bound| (test, bound)));
        asked.find(|(_, bound)| bound.of_size == of_size && bound.status == status)
    }

    /// What was found by what decides, with the bound: `1.241× (1.220–1.256), wanted at least 1×`; which test that is, where
    /// there are several.
    pub(in crate::report) fn found(&self) -> String {
        let Some((test, bound)) = self.deciding() else { return format::NONE.into() };
        let wanted = match bound.wanted.as_str() {
            wanted if test.is_figure() && !wanted.is_empty() => format!(", wanted {wanted}"),
            _ => String::new(),
        };
        format!("{}{wanted}{}", test.found(), self.which(test))
    }

    /// Which of several tests one is: ` (1 of 2 tests: rate in read)`.
    fn which(&self, test: &TestView) -> String {
        let name = if self.own_arms { &test.what } else { &test.question };
        match self.tests.len() {
            1 => String::new(),
            all => format!(" (1 of {all} tests: {name})"),
        }
    }

    /// What is decided of the size, with its bound: `at least 1.92×: refuted`. The figure is that of the direction.
    pub(in crate::report) fn size_said(&self) -> Option<String> {
        let (test, bound) = self.bound(true, self.size?)?;
        let wanted = if test.is_figure() { format!("{}: ", bound.wanted) } else { String::new() };
        Some(format!("{wanted}{}", bound.status))
    }

    /// What is to be known of the figure that is told.
    pub(in crate::report) fn notes(&self) -> &[String] {
        self.deciding().filter(|(test, _)| test.is_figure()).map_or(&[], |(test, _)| &test.notes)
    }

    /// `holds, size refuted`.
    pub(in crate::report) fn outcome(&self) -> String {
        match self.size {
            Some(size) => format!("{}, size {size}", self.status),
            None => self.status.to_string(),
        }
    }

    /// Beneath the pair that decides: `rusqlite@wal-normal, 1.241× (1.220–1.256): holds, size refuted`.
    pub(in crate::report) fn line(&self) -> String {
        let found = self.deciding().map_or(format::NONE.into(), |(test, _)| test.found() + &self.which(test));
        let doubts = self.doubts_said().map_or(String::new(), |doubts| format!("; {doubts}"));
        let notes: String = self.notes().iter().map(|note| format!("; {note}")).collect();
        format!("{}, {found}: {}{notes}{doubts}", self.asked, self.outcome())
    }

    /// `red flag: contended machine (rusqlite@wal-normal)`; none where there are no doubts.
    pub(in crate::report) fn doubts_said(&self) -> Option<String> {
        let mut kinds: Vec<(&str, Vec<&str>)> = Vec::new();
        for doubt in &self.doubts {
            match kinds.iter_mut().find(|(kind, _)| *kind == doubt.kind) {
                Some((_, about)) if about.contains(&doubt.about.as_str()) => {}
                Some((_, about)) => about.push(&doubt.about),
                None => kinds.push((&doubt.kind, vec![&doubt.about])),
            }
        }
        let said: Vec<String> =
            kinds.iter().map(|(kind, about)| format!("{kind} ({})", about.join(", "))).collect();
        match said.as_slice() {
            [] => None,
            [only] => Some(format!("red flag: {only}")),
            many => Some(format!("red flags: {}", many.join(", "))),
        }
    }
}

/// `store@consistent for WCDB, against rusqlite-plain@wal-normal for FMDB`; an arm alone where it is the page's library
/// itself.
fn asked(sides: &[Side]) -> String {
    let libraries: Vec<Option<&str>> = sides.iter().map(stands_for).collect();
    match (sides, libraries.as_slice()) {
        ([mine, theirs], [Some(library), Some(other)]) if library == other => {
            format!("{} against {}, both for {library}", mine.arm, theirs.arm)
        }
        _ => {
            let said = |(side, library): (&Side, &Option<&str>)| match library {
                Some(library) => format!("{} for {library}", side.arm),
                None => side.arm.clone(),
            };
            let comma = if libraries.first().is_some_and(Option::is_some) { "," } else { "" };
            let said: Vec<String> = sides.iter().zip(&libraries).map(said).collect();
            said.join(&format!("{comma} against "))
        }
    }
}

/// The arms that its tests ask, each once: `one@plain against two@plain`.
fn arms(pair: &PairOutcome) -> Vec<String> {
    let mut arms: Vec<String> = Vec::new();
    for test in &pair.tests {
        let against = test.against.as_ref().map_or(String::new(), |against| format!(" against {against}"));
        let said = format!("{}{against}", test.arm);
        if !arms.contains(&said) {
            arms.push(said);
        }
    }
    arms
}

/// The arms of a pair beneath another one, whose libraries they stand for too; what both are compared with is left out.
fn also_asked(sides: &[Side], first: &[Side]) -> String {
    match (sides, first) {
        ([mine, theirs], [_, known]) if theirs.arm == known.arm => mine.arm.clone(),
        _ => sides.iter().map(|side| side.arm.as_str()).collect::<Vec<_>>().join(" against "),
    }
}

/// Whether one of a pair takes the place of a library that is not there.
pub(super) fn by_stand_in(pair: &PairOutcome) -> bool {
    pair.sides.iter().any(|side| stands_for(side).is_some())
}

/// The library of the page whose place a side takes; none where it is that library itself, and stands for nobody.
fn stands_for(side: &Side) -> Option<&str> {
    side.library.as_deref().filter(|_| !side.itself)
}

impl Doubt {
    fn new(flag: &Flag) -> Doubt {
        let about = match (flag.case.as_str(), flag.arm.as_str()) {
            ("", "") => "the whole run",
            (case, "") => case,
            (_, arm) => arm,
        };
        Doubt { kind: flag.kind.to_string(), about: about.into(), evidence: flag.evidence.clone() }
    }
}
