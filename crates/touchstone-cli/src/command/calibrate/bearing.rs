//! What this machine can bear now, in one sentence: the last line of a calibration.

use serde::Serialize;
use std::fmt;
use touchstone::statistics::median;
use touchstone::verdict::{Comparison, Verdict};

/// More false verdicts than this share of the identical contenders, and more than one, are too many: 4 of 40 are.
const FALSE_SHARE_MOST: f64 = 0.075;

/// With this share of its cases contended, what was measured is the work of others.
const CONTENDED_SHARE: f64 = 0.25;

/// Fewer comparisons of identical contenders tell nothing of how often they are told apart.
const COMPARISONS_LEAST: usize = 8;

/// What a calibration found, as far as it bears claims.
#[derive(Debug, Serialize)]
pub(super) struct Bearing {
    /// What is said.
    answer: Answer,
    /// It was stopped before its end.
    stopped: bool,
    identical: usize,
    false_verdicts: usize,
    canaries: usize,
    canaries_found: usize,
    /// Comparisons of which the machine was contended.
    contended: usize,
    /// The smallest difference that the typical comparison of identical contenders could show, a share.
    smallest_median: Option<f64>,
    /// The same of the comparison that could show the most.
    smallest_best: Option<f64>,
    /// And of the one that could show the least.
    smallest_worst: Option<f64>,
}

/// Whether claims can be believed that are tested here now.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
enum Answer {
    /// They can, down to the differences that are told.
    Bears,
    /// Identical contenders were told apart too often.
    BearsNoClaim,
    /// Other work had the processors: the machine was not measured.
    Contended,
    /// Too little was measured to say.
    TooLittle,
}

impl Bearing {
    pub(super) fn of(
        identical: &[&Comparison],
        canaries: &[&Comparison],
        contended: usize,
        stopped: bool,
    ) -> Bearing {
        let differs = |known: &&&Comparison| matches!(known.verdict, Verdict::Better | Verdict::Worse);
        let smallest: Vec<f64> = identical.iter().filter_map(|known| known.smallest_detectable).collect();
        let mut bearing = Bearing {
            answer: Answer::Bears,
            stopped,
            identical: identical.len(),
            false_verdicts: identical.iter().filter(differs).count(),
            canaries: canaries.len(),
            canaries_found: canaries.iter().filter(|known| known.verdict == Verdict::Worse).count(),
            contended,
            smallest_median: (!smallest.is_empty()).then(|| median(&smallest)),
            smallest_best: smallest.iter().copied().reduce(f64::min),
            smallest_worst: smallest.iter().copied().reduce(f64::max),
        };
        bearing.answer = bearing.answer();
        bearing
    }

    pub(super) fn is_contended(&self) -> bool {
        let cases = self.identical + self.canaries;
        cases > 0 && self.contended as f64 >= CONTENDED_SHARE * cases as f64
    }

    fn answer(&self) -> Answer {
        let too_many = FALSE_SHARE_MOST * self.identical as f64;
        if self.false_verdicts > 1 && self.false_verdicts as f64 > too_many {
            Answer::BearsNoClaim
        } else if self.is_contended() {
            Answer::Contended
        } else if self.identical < COMPARISONS_LEAST {
            Answer::TooLittle
        } else {
            Answer::Bears
        }
    }

    /// `2 of 40 identical contenders were told apart`.
    fn told_apart(&self) -> String {
        let were = if self.false_verdicts == 1 { "was" } else { "were" };
        format!("{} of {} identical contenders {were} told apart", self.false_verdicts, self.identical)
    }

    fn contention(&self) -> String {
        format!(
            "other work had the processors in {} of {} cases",
            self.contended,
            self.identical + self.canaries
        )
    }
}

impl fmt::Display for Bearing {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("This machine, now")?;
        if self.stopped {
            formatter.write_str(" (stopped early)")?;
        }
        match self.answer {
            Answer::BearsNoClaim => {
                write!(formatter, ", can bear no claim: {}", self.told_apart())?;
                if self.contended > 0 {
                    write!(formatter, "; {}", self.contention())?;
                }
                return Ok(());
            }
            Answer::Contended => write!(
                formatter,
                ": {}, so no rate of false verdicts is given; calibrate again when it is quiet",
                self.contention()
            )?,
            Answer::TooLittle => write!(
                formatter,
                ": {} comparisons of identical contenders are too few to say how often it errs; {COMPARISONS_LEAST} are needed",
                self.identical
            )?,
            Answer::Bears => write!(formatter, ": {}", self.told_apart())?,
        }
        if let (Some(typical), Some(best), Some(worst)) =
            (self.smallest_median, self.smallest_best, self.smallest_worst)
        {
            write!(
                formatter,
                "; it finds differences of {:.1} % ({:.1} to {:.1} %, by case)",
                typical * 100.0,
                best * 100.0,
                worst * 100.0
            )?;
        }
        if self.canaries > 0 {
            write!(
                formatter,
                "; it found a difference of 3 % in {} of {} tries",
                self.canaries_found, self.canaries
            )?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::Bearing;
    use touchstone::verdict::{Comparison, Verdict};

    fn comparison(verdict: Verdict) -> Comparison {
        Comparison {
            case: "calibrate/get-1".into(),
            arm: "one".into(),
            against: "two".into(),
            verdict,
            reasons: Vec::new(),
            time_ratio: Some(1.0),
            time_ratio_low: Some(0.99),
            time_ratio_high: Some(1.01),
            p: Some(0.5),
            launches: 12,
            smallest_detectable: Some(0.019),
            margin: 0.01,
            same_class: true,
        }
    }

    /// The last line of so many comparisons of identical contenders, false verdicts, and contended cases.
    fn said(identical: usize, false_verdicts: usize, contended: usize, stopped: bool) -> String {
        let (level, apart, found) =
            (comparison(Verdict::Equivalent), comparison(Verdict::Better), comparison(Verdict::Worse));
        let mut all = vec![&apart; false_verdicts];
        all.resize(identical, &level);
        Bearing::of(&all, &[&found, &found, &level], contended, stopped).to_string()
    }

    #[test]
    fn a_machine_bears_claims_or_says_why_not() {
        let finds = "it finds differences of 1.9 % (1.9 to 1.9 %, by case); it found a difference of 3 % in 2 of 3 tries";
        assert_eq!(
            said(40, 3, 0, false),
            format!("This machine, now: 3 of 40 identical contenders were told apart; {finds}")
        );
        assert_eq!(
            said(40, 4, 2, false),
            "This machine, now, can bear no claim: 4 of 40 identical contenders were told apart; other work had the \
             processors in 2 of 43 cases"
        );
        assert_eq!(
            said(20, 1, 12, true),
            format!(
                "This machine, now (stopped early): other work had the processors in 12 of 23 cases, so no rate of false \
                 verdicts is given; calibrate again when it is quiet; {finds}"
            )
        );
        assert!(said(2, 1, 0, true).contains("are too few to say how often it errs; 8 are needed"));
        assert!(said(8, 1, 0, false).contains("1 of 8 identical contenders was told apart"));
    }
}
