//! Whether subjects can do what a case asks of them, where their kits say what they can: a run would find it out after building.

use super::{PlannedArm, PlannedCase, PlannedLane};
use crate::kit::{Kits, RecordPage, Subject};
use touchstone_protocol::{RecordKind, Setting, Settings};

impl PlannedCase {
    /// What the driver of an arm must be able to do, as it says in its hello: `row.get`, `row.held`. Nothing of a service.
    pub fn capabilities(&self, arm: &PlannedArm) -> Vec<String> {
        let record = self.dataset.record;
        let types = if self.typed { "typed" } else { "tables" };
        let watched = self.watch.as_ref().map(|watch| format!("{record}.watch-{}", watch.watched));
        let of_lane = |lane: &PlannedLane| {
            let verb = Some(format!("{record}.{}", lane.verb));
            let held = lane.held.then(|| format!("{record}.held"));
            let tables = (lane.table > 1).then(|| format!("{record}.{types}"));
            [verb, held, tables, watched.clone()]
        };
        arm.lanes.iter().flat_map(of_lane).flatten().collect()
    }

    /// Each arm's subject can do what the case asks, as far as its kit says what it can.
    pub(super) fn check_subjects(&self, kits: &Kits) -> Result<(), String> {
        for arm in &self.arms {
            let Some((_, subject)) = kits.subject(&arm.contender.subject) else { continue };
            self.check_capabilities(arm, subject)
                .and_then(|()| self.check_page(arm, subject.page.as_ref()))
                .map_err(|message| format!("arm `{}`: {message}", arm.name))?;
        }
        Ok(())
    }

    fn check_capabilities(&self, arm: &PlannedArm, subject: &Subject) -> Result<(), String> {
        if subject.capabilities.is_empty() {
            return Ok(());
        }
        match self.capabilities(arm).iter().find(|wanted| !subject.capabilities.contains(wanted)) {
            None => Ok(()),
            Some(wanted) => Err(format!(
                "it is asked for {wanted}, and can do {}: ask another contender, or for something else",
                subject.capabilities.join(", ")
            )),
        }
    }

    /// A value has room in the page that its record has for itself.
    fn check_page(&self, arm: &PlannedArm, page: Option<&RecordPage>) -> Result<(), String> {
        let Some(page) = page.filter(|_| self.dataset.record != RecordKind::Doc) else { return Ok(()) };
        let (bytes, value) = (page_bytes(page, &arm.settings), self.dataset.value_bytes);
        let room = bytes.saturating_sub(page.overhead_bytes);
        if value <= room {
            return Ok(());
        }
        Err(format!(
            "its pages of {bytes} bytes have room for values of {room}, and those of dataset `{}` have {value}: lower \
             `value_bytes`, or raise `page_size_bytes` under `settings`",
            self.dataset.name
        ))
    }
}

fn page_bytes(page: &RecordPage, settings: &Settings) -> u64 {
    match settings.get("page_size_bytes") {
        Some(Setting::Number(bytes)) => u64::try_from(*bytes).unwrap_or_default(),
        _ => page.bytes,
    }
}
