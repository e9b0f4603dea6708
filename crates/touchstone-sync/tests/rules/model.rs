//! A storage of one user in memory, as slow and as plain as can be: what the real ones must do, in any order of requests.

use super::{Shared, after, device};
use proptest::prelude::*;
use std::collections::BTreeMap;
use touchstone_sync::change::{Change, Download, Upload};
use touchstone_sync::storage::{Error, Refusal};

/// One request.
#[derive(Clone, Debug)]
pub enum Asked {
    Upload { device: usize, seen: u64, changes: Vec<Asking> },
    Download { device: usize, cursor: u64, limit: u32, others: bool },
}

/// One change, in small numbers.
#[derive(Clone, Debug)]
pub struct Asking {
    object: u8,
    data: Option<u8>,
    base: Option<u64>,
    name: Option<u8>,
}

#[derive(Clone, Debug)]
struct Stored {
    revision: u64,
    device: usize,
    data: Option<String>,
}

#[derive(Default)]
struct Model {
    revision: u64,
    objects: BTreeMap<String, Stored>,
    /// By device and name: the revision, and that of what was overwritten.
    names: BTreeMap<(usize, String), (u64, Option<u64>)>,
}

const DEVICES: usize = 3;

/// Requests in any order.
pub fn asked() -> impl Strategy<Value = Vec<Asked>> {
    let changing =
        (0..5_u8, any::<Option<u8>>(), proptest::option::weighted(0.2, 0..30_u64), any::<Option<bool>>())
            .prop_map(|(object, data, base, name)| Asking {
                object,
                data,
                base,
                name: name.map(|name| object * 2 + u8::from(name)),
            });
    let uploads = (0..DEVICES, 0..20_u64, prop::collection::vec(changing, 1..5))
        .prop_map(|(device, seen, changes)| Asked::Upload { device, seen, changes });
    let downloads = (0..DEVICES, 0..40_u64, 1..6_u32, any::<bool>())
        .prop_map(|(device, cursor, limit, others)| Asked::Download { device, cursor, limit, others });
    prop::collection::vec(prop_oneof![2 => uploads, 1 => downloads], 1..40)
}

/// Asks the storage what the model is asked, for a user of that name.
pub async fn does_as_the_model(storage: &Shared, user: &str, asked: &[Asked]) {
    let mut model = Model::default();
    let mut devices = Vec::new();
    for number in 0..DEVICES {
        devices.push(device(storage, user, &number.to_string()).await);
    }
    for asked in asked {
        match asked {
            Asked::Upload { device, seen, changes } => {
                let changes: Vec<Change> = changes.iter().map(change).collect();
                let upload = Upload { changes: changes.clone(), seen: *seen, ..Upload::default() };
                let wanted = model.upload(*device, *seen, &changes);
                match (storage.upload(devices[*device], upload, None).await, wanted) {
                    (Ok(uploaded), Some((revisions, overwritten))) => {
                        assert_eq!(uploaded.revisions, revisions);
                        let told: Vec<_> =
                            uploaded.overwritten.iter().map(|version| version.revision).collect();
                        assert_eq!(told, overwritten);
                    }
                    (Err(Error::Refused(Refusal::Conflict { .. })), None) => {}
                    (other, wanted) => panic!("{other:?}, and the model says {wanted:?}"),
                }
            }
            Asked::Download { device, cursor, limit, others } => {
                let download = Download { limit: *limit, others: *others, ..after(*cursor) };
                let given = storage.download(devices[*device], download).await;
                if *cursor > model.revision {
                    assert!(matches!(given, Err(Error::Refused(Refusal::FutureCursor { .. }))));
                    continue;
                }
                let page = given.unwrap();
                let given: Vec<_> =
                    page.versions.into_iter().map(|known| (known.revision, known.id, known.data)).collect();
                assert_eq!(
                    (given, page.cursor, page.more),
                    model.download(*device, *cursor, *limit, *others)
                );
            }
        }
    }
}

fn change(asking: &Asking) -> Change {
    Change {
        id: asking.object.to_string(),
        data: asking.data.map(|data| data.to_string()),
        base: asking.base,
        name: asking.name.map(|name| name.to_string()),
    }
}

type Given = (Vec<(u64, String, Option<String>)>, u64, bool);

impl Model {
    /// The revisions and those that were overwritten, or nothing where it is refused.
    fn upload(&mut self, device: usize, seen: u64, changes: &[Change]) -> Option<(Vec<u64>, Vec<u64>)> {
        let before = self.objects.clone();
        let names = self.names.clone();
        let (first, mut revisions, mut overwritten, mut is_refused) = (self.revision, vec![], vec![], false);
        for change in changes {
            let name = change.name.clone().map(|name| (device, name));
            if let Some((revision, over)) = name.as_ref().and_then(|name| self.names.get(name)) {
                revisions.push(*revision);
                // What was overwritten by this very upload was told already.
                overwritten.extend(over.filter(|_| *revision <= first));
                continue;
            }
            let known = self.objects.get(&change.id);
            // What this upload has made itself is no other's.
            let stored = known.filter(|known| known.revision <= first);
            let is_own = known.is_some() && stored.is_none();
            let revision = stored.map_or(0, |stored| stored.revision);
            let mut over = None;
            match change.base {
                Some(base) if !is_own => is_refused |= base != revision,
                None if !is_own => {
                    over =
                        stored.filter(|stored| revision > seen && stored.device != device).map(|_| revision);
                }
                _ => {}
            }
            overwritten.extend(over);
            self.revision += 1;
            let stored = Stored { revision: self.revision, device, data: change.data.clone() };
            self.objects.insert(change.id.clone(), stored);
            self.names.extend(name.map(|name| (name, (self.revision, over))));
            revisions.push(self.revision);
        }
        if is_refused {
            (self.revision, self.objects, self.names) = (first, before, names);
            return None;
        }
        Some((revisions, overwritten))
    }

    fn download(&self, device: usize, cursor: u64, limit: u32, others: bool) -> Given {
        let mut rest: Vec<_> = self.objects.iter().filter(|(_, known)| known.revision > cursor).collect();
        rest.retain(|(_, known)| !others || known.device != device);
        rest.sort_by_key(|(_, known)| known.revision);
        let more = rest.len() > limit as usize;
        rest.truncate(limit as usize);
        let last = rest.last().map_or(cursor, |(_, known)| known.revision);
        let given = rest.into_iter().map(|(id, known)| (known.revision, id.clone(), known.data.clone()));
        (given.collect(), if others && !more { self.revision } else { last }, more)
    }
}
