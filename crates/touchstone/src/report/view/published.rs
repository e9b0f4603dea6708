//! What was published: the page's words and figures, with where each is read and what it was measured on.

use crate::report::format;
use crate::suite::ReferenceKind;
use crate::verdict::{ClaimOutcome, ClaimStatus, PublishedFigure};

/// What the page says of a claim.
pub(in crate::report) struct PublishedView {
    /// The page's own words, in quotation marks.
    pub words: Option<String>,
    /// The first is the one that bounds follow from.
    pub figures: Vec<FigureView>,
}

/// A published figure in words.
pub(in crate::report) struct FigureView {
    /// `458,165 against 161,128 rows/s (2.84×)`, with its device where that is not the suite's.
    pub figure: String,
    /// The same, as short as can be: `iMac14,2: 2.55×`.
    brief: String,
    /// Of which kind its source is.
    source_kind: String,
    /// Where it is read, where that is not where the figure before it is.
    pub source: Option<String>,
}

impl PublishedView {
    pub(super) fn new(claim: &ClaimOutcome, device: &str) -> PublishedView {
        let elsewhere = claim.status == ClaimStatus::Elsewhere;
        let figure = |(place, figure): (usize, &PublishedFigure)| {
            let known = place > 0 && claim.figures[place - 1].source == figure.source;
            FigureView::new(figure, elsewhere || figure.device != device, !known)
        };
        PublishedView {
            words: claim.words.as_ref().map(|words| format!("“{words}”")),
            figures: claim.figures.iter().enumerate().map(figure).collect(),
        }
    }

    /// Whether its first figure is a target of the suite's author, and no page's.
    pub(in crate::report) fn is_ours(&self) -> bool {
        self.figures.first().is_some_and(|figure| figure.source_kind == ReferenceKind::Ours.to_string())
    }

    /// Everything in a line: the words, the first figure with the kind of its source, the others in brief.
    pub(in crate::report) fn brief(&self) -> Option<String> {
        let mut parts: Vec<String> = self.words.iter().cloned().collect();
        for (place, figure) in self.figures.iter().enumerate() {
            let said = if place == 0 { &figure.figure } else { &figure.brief };
            let known = place > 0 && self.figures[place - 1].source_kind == figure.source_kind;
            parts.push(if known { said.clone() } else { format!("{said} [{}]", figure.source_kind) });
        }
        (!parts.is_empty()).then(|| parts.join("; "))
    }
}

impl FigureView {
    fn new(figure: &PublishedFigure, with_device: bool, with_source: bool) -> FigureView {
        let device = with_device.then(|| figure.device.clone());
        let about: Vec<String> = device.into_iter().chain(figure.of.clone()).collect();
        let about = if about.is_empty() { String::new() } else { format!("{}: ", about.join(", ")) };
        let note = figure.note.as_ref().map_or(String::new(), |note| format!(", {note}"));
        let ratio = figure.ratio.filter(|_| figure.against.is_some());
        let ratio = ratio.map(|ratio| format!("{}×", format::ratio(ratio)));
        let figures = figures(figure);
        let with_ratio = ratio.as_ref().map_or(String::new(), |ratio| format!(" ({ratio})"));
        FigureView {
            figure: format!("{about}{figures}{with_ratio}{note}"),
            brief: format!("{about}{}{note}", ratio.unwrap_or(figures)),
            source_kind: figure.source_kind.clone(),
            source: with_source.then(|| figure.source.clone()),
        }
    }
}

/// `458,165 against 161,128 rows/s`.
fn figures(figure: &PublishedFigure) -> String {
    let value = format::grouped(figure.value);
    let against =
        figure.against.map_or(String::new(), |other| format!(" against {}", format::grouped(other)));
    let unit = if figure.unit == "x" { "×".to_owned() } else { format!(" {}", figure.unit) };
    format!("{value}{against}{unit}")
}
