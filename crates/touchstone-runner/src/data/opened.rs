//! What the openings of a database must have answered: one of its records, each of them the same.
//!
//! Which one is the engine's own choice, so every record that is there is tried.

use super::{Answer, CaseData, Contents};
use std::iter;
use touchstone_protocol::{Lane, LaneSample};

impl CaseData {
    /// What is wrong with the answer of an `open` lane, where something is. What failed has answered nothing.
    pub(super) fn wrong_first(
        &self,
        contents: &Contents,
        lane: &Lane,
        answer: &LaneSample,
    ) -> Option<String> {
        if answer.failed() > 0 || !contents.is_certain() {
            return None;
        }
        let answered: Answer = (answer.answers, answer.digest.clone());
        let of_each =
            |object: u32| self.digest_of(1, iter::repeat_n(object, lane.count as usize)) == answered;
        let mut stored = contents.objects(1, self.dataset.in_key_order()).peekable();
        if stored.peek().is_none() {
            let none = self.digest_of(1, iter::empty());
            return (answered != none)
                .then(|| format!("open answered {}, and no record is there", told(answer)));
        }
        let last = iter::once(self.first.get()).filter(|last| contents.object(1, *last) == Some(*last));
        match last.chain(stored).find(|object| of_each(*object)) {
            Some(object) => {
                self.first.set(object);
                None
            }
            None => Some(format!(
                "open answered {}, the right answer is {} times the same record of its first table",
                told(answer),
                lane.count
            )),
        }
    }
}

fn told(answer: &LaneSample) -> String {
    format!("{} records with digest {}", answer.answers, answer.digest)
}
