//! Which uploads are one group: those that wait, up to a number of them and to bytes of their data.

use tokio::sync::mpsc;

/// Bytes from which on a group ends, so that no transaction is long for its data.
pub(super) const GROUP_BYTES: usize = 32 << 20;

/// The first, and those that wait behind it.
pub(super) fn gather<T>(
    first: T,
    queue: &mut mpsc::Receiver<T>,
    most: usize,
    bytes: impl Fn(&T) -> usize,
) -> Vec<T> {
    let mut gathered = bytes(&first);
    let mut group = vec![first];
    while group.len() < most && gathered < GROUP_BYTES {
        let Ok(next) = queue.try_recv() else { break };
        gathered += bytes(&next);
        group.push(next);
    }
    group
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_ends_at_its_number_and_at_its_bytes() {
        let (sender, mut queue) = mpsc::channel(16);
        [GROUP_BYTES / 2, GROUP_BYTES / 2, 1, 2, 3, 4]
            .into_iter()
            .for_each(|bytes| sender.try_send(bytes).unwrap());
        let mut next = || {
            let first = queue.try_recv().unwrap();
            gather(first, &mut queue, 3, |bytes| *bytes)
        };
        assert_eq!([next(), next(), next()], [vec![GROUP_BYTES / 2; 2], vec![1, 2, 3], vec![4]]);
    }
}
