//! A record with what its samples say: read back, judged, and written out.

use serde::Serialize;
use serde_json::Value;
use std::path::{Path, PathBuf};
use touchstone::estimate::{STATISTICS_VERSION, Statistics, estimate};
use touchstone::record::{Record, file, read_versioned};
use touchstone::report::{Findings, html};
use touchstone::verdict::{Judgement, VERDICT_VERSION, judge};
use touchstone_runner::writer::{write_json, write_whole};

/// A judged record.
pub struct Judged {
    /// The record's folder.
    pub folder: PathBuf,
    /// The record.
    pub record: Record,
    /// What its samples say.
    pub statistics: Statistics,
    /// What that means.
    pub judgement: Judgement,
}

impl Judged {
    /// Reads a record that was judged before. What stands in its files is what its samples say, or it is refused: a
    /// judgement that somebody edited is never rendered.
    ///
    /// # Errors
    /// When it was not judged, its files say something else than its samples, or it cannot be read.
    pub fn read(folder: &Path) -> anyhow::Result<Judged> {
        let record = Record::read(folder)?;
        let [statistics, verdict] = [file::STATISTICS, file::VERDICT].map(|name| folder.join(name));
        if !statistics.exists() || !verdict.exists() {
            let hint = format!("{} is not judged yet: run `touchstone judge` on it first", folder.display());
            return Err(touchstone::Error::record(hint).into());
        }
        let kept: Value = read_versioned(&statistics, "statistics_version", STATISTICS_VERSION)?;
        let decided: Value = read_versioned(&verdict, "verdict_version", VERDICT_VERSION)?;
        let judged = Judged::of(folder, record);
        refuse_edited(&statistics, &kept, &judged.statistics)?;
        refuse_edited(&verdict, &decided, &judged.judgement)?;
        Ok(judged)
    }

    /// Judges a record.
    pub fn of(folder: &Path, record: Record) -> Judged {
        let statistics = estimate(&record);
        let judgement = judge(&record.plan, &statistics.cases, &record.subjects);
        Judged { folder: folder.to_owned(), record, statistics, judgement }
    }

    /// As a renderer takes it.
    pub fn findings(&self) -> Findings<'_> {
        Findings { record: &self.record, statistics: &self.statistics.cases, judgement: &self.judgement }
    }

    /// Writes the page.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn write_report(&self) -> anyhow::Result<PathBuf> {
        let path = self.folder.join(file::REPORT);
        let remedy = "print it, which needs no place: `touchstone report RECORD --text`";
        write_whole(&path, html(&self.findings())?.as_bytes(), remedy)?;
        Ok(path)
    }
}

/// Judges the record in a folder and writes its statistics and verdict beside it.
///
/// # Errors
/// When the record cannot be read or the files cannot be written.
pub fn judge_folder(folder: &Path) -> anyhow::Result<Judged> {
    let judged = Judged::of(folder, Record::read(folder)?);
    let remedy = "copy the record to a folder that can be written to, and run `touchstone judge` there";
    write_json(&folder.join(file::STATISTICS), &judged.statistics, remedy)?;
    write_json(&folder.join(file::VERDICT), &judged.judgement, remedy)?;
    Ok(judged)
}

/// A file that was computed from the samples says what they say.
fn refuse_edited(path: &Path, kept: &Value, computed: &impl Serialize) -> anyhow::Result<()> {
    if *kept == serde_json::to_value(computed)? {
        return Ok(());
    }
    let folder = path.parent().unwrap_or(path).display();
    let message = format!(
        "{}: this is not what the record's samples say: it was edited, or another version of touchstone wrote it; run \
         `touchstone judge {folder}`, which decides from the samples again",
        path.display()
    );
    Err(touchstone::Error::record(message).into())
}
