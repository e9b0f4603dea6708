//! The rules of the mailbox, one by one and then at random against a model. No test sleeps: a test that needs a parked
//! thread waits until it is parked.

use super::room::NoRoom;
use super::sample::{Boxes, Change, ENDS, every};
use super::*;
use crate::types::sync::Arc;
use proptest::prelude::*;
use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::task::Wake;
use std::thread::{self, JoinHandle};

/// So long that a test that waits until its end has failed.
const LONG: Duration = Duration::from_secs(60);

fn mailbox(mode: Mode) -> Arc<Boxes> {
    Arc::new(Mailbox::new(mode, Arc::default()))
}

fn with_slot(mode: Mode) -> (Arc<Boxes>, Slot) {
    let mailbox = mailbox(mode);
    let slot = mailbox.add();
    (mailbox, slot)
}

fn change(from: u64, to: u64) -> Change {
    Change { from, to }
}

/// The batch of a transaction.
fn batch<const N: usize>(version: u64, updates: [(Slot, Change); N]) -> Batch<Change> {
    Batch { version, is_resync: false, updates: updates.to_vec() }
}

fn resync(batch: Batch<Change>) -> Batch<Change> {
    Batch { is_resync: true, ..batch }
}

fn put<const N: usize>(mailbox: &Boxes, version: u64, updates: [(Slot, Change); N]) {
    drop(mailbox.put(batch(version, updates)));
}

/// Waits until this many threads are parked at the mailbox.
fn await_parked(mailbox: &Boxes, threads: usize) {
    while lock(&mailbox.state).waiting < threads {
        thread::yield_now();
    }
}

fn next_in_thread(mailbox: &Arc<Boxes>) -> JoinHandle<Result<Option<Batch<Change>>, Ended<String>>> {
    let mailbox = Arc::clone(mailbox);
    thread::spawn(move || mailbox.next())
}

#[test]
fn latest_keeps_the_newest_update_of_each_subscription_and_what_the_receiver_had() {
    let mailbox = mailbox(Mode::Latest);
    let (one, two, three) = (mailbox.add(), mailbox.add(), mailbox.add());
    put(&mailbox, 1, [(one, change(0, 1)), (two, change(0, 1))]);
    put(&mailbox, 2, [(three, change(0, 2)), (two, change(1, 2))]);
    put(&mailbox, 3, [(two, change(2, 3))]);
    let expected = batch(3, [(one, change(0, 1)), (two, change(0, 3)), (three, change(0, 2))]);
    assert_eq!(mailbox.try_next(), Ok(Some(expected)));
    assert_eq!(mailbox.try_next(), Ok(None));
    put(&mailbox, 4, [(two, change(3, 4))]);
    let newer = batch(4, [(two, change(3, 4))]);
    assert_eq!(mailbox.try_next(), Ok(Some(newer)), "what was taken is not superseded");
}

#[test]
fn latest_keeps_a_resync_until_it_is_taken() {
    let (mailbox, one) = with_slot(Mode::Latest);
    drop(mailbox.put(resync(batch(1, [(one, change(0, 1))]))));
    put(&mailbox, 2, [(one, change(1, 2))]);
    assert_eq!(mailbox.try_next(), Ok(Some(resync(batch(2, [(one, change(0, 2))])))));
    put(&mailbox, 3, [(one, change(2, 3))]);
    assert_eq!(mailbox.try_next(), Ok(Some(batch(3, [(one, change(2, 3))]))));
}

#[test]
fn every_keeps_every_batch_in_order() {
    let (mailbox, one) = with_slot(every(3, Overflow::End));
    let batches: Vec<_> =
        (1..=3).map(|version| batch(version, [(one, change(version - 1, version))])).collect();
    for batch in batches.clone() {
        assert!(mailbox.put(batch).is_empty());
    }
    for batch in batches {
        assert_eq!(mailbox.try_next(), Ok(Some(batch)));
    }
    assert_eq!(mailbox.try_next(), Ok(None));
}

#[test]
fn a_queue_that_overflows_becomes_one_resync_until_it_is_taken() {
    let mailbox = mailbox(every(2, Overflow::Resync));
    let (one, two) = (mailbox.add(), mailbox.add());
    put(&mailbox, 1, [(one, change(0, 1)), (two, change(0, 1))]);
    put(&mailbox, 2, [(one, change(1, 2))]);
    put(&mailbox, 3, [(one, change(2, 3))]);
    put(&mailbox, 4, [(two, change(1, 4))]);
    assert_eq!(mailbox.try_next(), Ok(Some(resync(batch(4, [(one, change(0, 3)), (two, change(0, 4))])))));
    assert_eq!(mailbox.try_next(), Ok(None));
    put(&mailbox, 5, [(one, change(3, 5))]);
    put(&mailbox, 6, [(one, change(5, 6))]);
    assert_eq!(mailbox.try_next(), Ok(Some(batch(5, [(one, change(3, 5))]))), "it is a queue again");
    assert_eq!(mailbox.try_next(), Ok(Some(batch(6, [(one, change(5, 6))]))));
}

#[test]
fn a_queue_that_overflows_at_its_end_says_so_once() {
    let (mailbox, one) = with_slot(every(1, Overflow::End));
    put(&mailbox, 1, [(one, change(0, 1))]);
    put(&mailbox, 2, [(one, change(1, 2))]);
    put(&mailbox, 3, [(one, change(2, 3))]);
    assert_eq!(mailbox.next(), Err(Ended::Overflowed));
    assert_eq!(mailbox.next(), Ok(None));
    assert_eq!(mailbox.ended(), Some(Ended::Overflowed));
}

#[test]
fn what_was_removed_makes_room_before_a_queue_overflows() {
    let mailbox = mailbox(every(2, Overflow::End));
    let (one, two) = (mailbox.add(), mailbox.add());
    put(&mailbox, 1, [(one, change(0, 1))]);
    put(&mailbox, 2, [(one, change(1, 2)), (two, change(0, 2))]);
    assert!(mailbox.remove(one));
    put(&mailbox, 3, [(two, change(2, 3))]);
    assert_eq!(mailbox.next(), Ok(Some(batch(2, [(two, change(0, 2))]))));
    assert_eq!(mailbox.next(), Ok(Some(batch(3, [(two, change(2, 3))]))));
}

#[test]
fn nothing_of_a_removed_subscription_is_taken_nor_reaches_the_next_one_in_its_place() {
    for mode in [Mode::Latest, every(4, Overflow::Resync), every(1, Overflow::Resync)] {
        let mailbox = mailbox(mode);
        let (gone, kept) = (mailbox.add(), mailbox.add());
        put(&mailbox, 1, [(gone, change(0, 1))]);
        put(&mailbox, 2, [(gone, change(1, 2)), (kept, change(0, 2))]);
        assert!(mailbox.remove(gone));
        assert!(!mailbox.remove(gone), "it is removed already");
        let new = mailbox.add();
        assert_eq!(new.index(), gone.index());
        put(&mailbox, 3, [(gone, change(2, 3))]);
        put(&mailbox, 4, [(gone, change(3, 4)), (new, change(7, 8))]);
        let mut taken = Vec::new();
        while let Some(batch) = mailbox.try_next().expect("it goes on") {
            assert!(!batch.updates.is_empty());
            taken.extend(batch.updates);
        }
        assert_eq!(taken, [(kept, change(0, 2)), (new, change(7, 8))]);
    }
}

#[test]
fn a_batch_that_is_left_without_updates_is_not_delivered() {
    for mode in [Mode::Latest, every(4, Overflow::Resync), every(1, Overflow::Resync)] {
        let mailbox = mailbox(mode);
        let (gone, _kept) = (mailbox.add(), mailbox.add());
        put(&mailbox, 1, []);
        assert_eq!(mailbox.try_next(), Ok(None));
        drop(mailbox.put(resync(batch(1, [(gone, change(0, 1))]))));
        put(&mailbox, 2, [(gone, change(1, 2))]);
        assert!(mailbox.remove(gone));
        assert_eq!(mailbox.try_next(), Ok(None));
        let new = mailbox.add();
        put(&mailbox, 3, [(new, change(2, 3))]);
        assert_eq!(mailbox.try_next(), Ok(Some(batch(3, [(new, change(2, 3))]))), "the resync is gone, too");
    }
}

#[test]
fn an_index_whose_generations_are_used_up_is_not_used_again() {
    let mut contents = Contents::<Change>::new(Mode::Latest);
    let mut leftover = Leftover::default();
    let first = contents.add();
    contents.set_generation(first, u32::MAX - 1);
    let last = Slot { generation: u32::MAX - 1, ..first };
    assert!(contents.remove(last, &mut leftover));
    assert_ne!(contents.add().index(), first.index());
}

#[test]
fn a_closed_mailbox_gives_what_is_pending_and_then_nothing() {
    for mode in [Mode::Latest, every(4, Overflow::Block)] {
        let (mailbox, one) = with_slot(mode);
        put(&mailbox, 1, [(one, change(0, 1))]);
        mailbox.close();
        mailbox.close_with("too late".to_owned());
        assert!(!mailbox.put(batch(2, [(one, change(1, 2))])).is_empty());
        assert_eq!(mailbox.next(), Ok(Some(batch(1, [(one, change(0, 1))]))));
        assert_eq!(mailbox.next(), Ok(None));
        assert!(mailbox.is_closed());
        assert_eq!(mailbox.ended(), None);
    }
}

#[test]
fn a_failure_is_told_once_and_known_for_ever() {
    let (mailbox, one) = with_slot(Mode::Latest);
    put(&mailbox, 1, [(one, change(0, 1))]);
    mailbox.close_with("the disk is gone".to_owned());
    assert_eq!(mailbox.next_within(LONG), Ok(Some(batch(1, [(one, change(0, 1))]))));
    let failed = Ended::Failed("the disk is gone".to_owned());
    assert_eq!(mailbox.next_within(LONG), Err(failed.clone()));
    assert_eq!(mailbox.next_within(LONG), Ok(None));
    assert_eq!(mailbox.ended(), Some(failed));
}

#[test]
fn an_abandoned_mailbox_gives_nothing() {
    for mode in [Mode::Latest, every(4, Overflow::Block)] {
        let (mailbox, one) = with_slot(mode);
        put(&mailbox, 1, [(one, change(0, 1))]);
        mailbox.abandon();
        assert_eq!(mailbox.next(), Ok(None));
    }
}

#[test]
fn a_batch_wakes_one_thread_and_the_end_wakes_all() {
    let (mailbox, one) = with_slot(Mode::Latest);
    let threads = [next_in_thread(&mailbox), next_in_thread(&mailbox), next_in_thread(&mailbox)];
    await_parked(&mailbox, 3);
    put(&mailbox, 1, [(one, change(0, 1))]);
    while lock(&mailbox.state).contents.may_have_batch() {
        thread::yield_now();
    }
    mailbox.close();
    let taken = threads.map(|thread| thread.join().expect("it does not panic").expect("it is closed"));
    assert_eq!(taken.into_iter().flatten().collect::<Vec<_>>(), [batch(1, [(one, change(0, 1))])]);
}

#[test]
fn a_wait_ends_with_its_time() {
    let mailbox = mailbox(Mode::Latest);
    assert_eq!(mailbox.next_within(Duration::ZERO), Ok(None));
    assert_eq!(mailbox.next_within(Duration::from_millis(1)), Ok(None));
    assert_eq!(lock(&mailbox.state).waiting, 0);
    let one = mailbox.add();
    put(&mailbox, 1, [(one, change(0, 1))]);
    assert_eq!(mailbox.next_within(Duration::ZERO), Ok(Some(batch(1, [(one, change(0, 1))]))));
}

/// Counts its wake-ups, and unparks its thread.
struct CountingWaker {
    wakes: AtomicUsize,
    thread: thread::Thread,
}

impl CountingWaker {
    fn new() -> Arc<CountingWaker> {
        Arc::new(CountingWaker { wakes: AtomicUsize::new(0), thread: thread::current() })
    }

    fn wakes(&self) -> usize {
        self.wakes.load(Ordering::SeqCst)
    }
}

impl Wake for CountingWaker {
    fn wake(self: Arc<CountingWaker>) {
        self.wakes.fetch_add(1, Ordering::SeqCst);
        self.thread.unpark();
    }
}

fn poll(mailbox: &Boxes, waker: &Arc<CountingWaker>) -> Poll<Option<Result<Batch<Change>, Ended<String>>>> {
    mailbox.poll_next(&mut Context::from_waker(&Waker::from(Arc::clone(waker))))
}

#[test]
fn tasks_are_noted_once_and_woken_for_a_batch() {
    let (mailbox, one) = with_slot(Mode::Latest);
    let (first, second) = (CountingWaker::new(), CountingWaker::new());
    for _ in 0..3 {
        assert_eq!(poll(&mailbox, &first), Poll::Pending);
        assert_eq!(poll(&mailbox, &second), Poll::Pending);
    }
    assert_eq!(lock(&mailbox.state).wakers.len(), 2);
    put(&mailbox, 1, [(one, change(0, 1))]);
    put(&mailbox, 2, [(one, change(1, 2))]);
    assert_eq!((first.wakes(), second.wakes()), (1, 1));
    assert_eq!(poll(&mailbox, &first), Poll::Ready(Some(Ok(batch(2, [(one, change(0, 2))])))));
    assert_eq!(poll(&mailbox, &second), Poll::Pending);
    mailbox.close_with("gone".to_owned());
    assert_eq!((first.wakes(), second.wakes()), (1, 2));
    assert_eq!(poll(&mailbox, &first), Poll::Ready(Some(Err(Ended::Failed("gone".to_owned())))));
    assert_eq!(poll(&mailbox, &second), Poll::Ready(None));
}

#[test]
fn wakers_of_tasks_that_are_gone_do_not_pile_up() {
    let mailbox = mailbox(Mode::Latest);
    let first = CountingWaker::new();
    assert_eq!(poll(&mailbox, &first), Poll::Pending);
    for _ in 0..WAKERS_MAX {
        assert_eq!(poll(&mailbox, &CountingWaker::new()), Poll::Pending);
    }
    assert_eq!(lock(&mailbox.state).wakers.len(), 1);
    assert_eq!(first.wakes(), 1, "it comes back if it is still there");
}

struct PanickingWaker;

impl Wake for PanickingWaker {
    fn wake(self: Arc<PanickingWaker>) {
        panic!("this runtime is broken");
    }
}

#[test]
fn a_waker_that_panics_hurts_nobody_else() {
    let (mailbox, one) = with_slot(Mode::Latest);
    let waker = Waker::from(Arc::new(PanickingWaker));
    assert_eq!(mailbox.poll_next(&mut Context::from_waker(&waker)), Poll::Pending);
    let other = CountingWaker::new();
    assert_eq!(poll(&mailbox, &other), Poll::Pending);
    put(&mailbox, 1, [(one, change(0, 1))]);
    assert_eq!(other.wakes(), 1);
}

/// A waker that uses the mailbox when it is woken or dropped: if the mailbox were locked, it would wait forever.
struct UsingWaker {
    mailbox: Arc<Boxes>,
}

impl Wake for UsingWaker {
    fn wake(self: Arc<UsingWaker>) {
        self.mailbox.is_closed();
    }
}

impl Drop for UsingWaker {
    fn drop(&mut self) {
        self.mailbox.is_closed();
    }
}

#[test]
fn the_mailbox_is_not_locked_while_wakers_run() {
    let (mailbox, one) = with_slot(Mode::Latest);
    let waker = Waker::from(Arc::new(UsingWaker { mailbox: Arc::clone(&mailbox) }));
    assert_eq!(mailbox.poll_next(&mut Context::from_waker(&waker)), Poll::Pending);
    drop(waker);
    put(&mailbox, 1, [(one, change(0, 1))]);
}

/// An update that uses the mailbox when it is dropped.
struct UsingUpdate {
    mailbox: std::sync::Weak<Mailbox<UsingUpdate, String>>,
}

impl Supersede for UsingUpdate {
    fn supersede(&mut self, _older: &mut UsingUpdate) {}
}

impl Drop for UsingUpdate {
    fn drop(&mut self) {
        if let Some(mailbox) = self.mailbox.upgrade() {
            mailbox.is_closed();
        }
    }
}

#[test]
fn the_mailbox_is_not_locked_while_updates_are_freed() {
    for mode in [Mode::Latest, every(2, Overflow::Resync), every(1, Overflow::End), every(1, Overflow::Block)]
    {
        let mailbox = Arc::new(Mailbox::new(mode, Arc::default()));
        let (one, two, three) = (mailbox.add(), mailbox.add(), mailbox.add());
        let put = |slot| {
            let update = UsingUpdate { mailbox: Arc::downgrade(&mailbox) };
            drop(mailbox.put(Batch { version: 1, is_resync: false, updates: vec![(slot, update)] }));
        };
        put(one);
        put(one);
        put(two);
        mailbox.remove(two);
        put(two);
        put(three);
        mailbox.remove(one);
        drop(mailbox.try_next());
        put(three);
        mailbox.remove(three);
        mailbox.abandon();
        put(three);
    }
}

fn block_on<T>(mut poll: impl FnMut(&mut Context<'_>) -> Poll<T>) -> T {
    let waker = Waker::from(CountingWaker::new());
    let mut context = Context::from_waker(&waker);
    loop {
        match poll(&mut context) {
            Poll::Ready(value) => return value,
            Poll::Pending => thread::park(),
        }
    }
}

#[test]
fn tasks_and_threads_share_the_batches() {
    const BATCHES: u64 = 2000;
    let room = Arc::new(Room::default());
    let mailbox = Arc::new(Boxes::new(every(8, Overflow::Block), Arc::clone(&room)));
    let one = mailbox.add();
    let receivers: Vec<_> = (0..4)
        .map(|number| {
            let mailbox = Arc::clone(&mailbox);
            thread::spawn(move || {
                let mut versions = Vec::new();
                let next = || match number % 2 {
                    0 => mailbox.next(),
                    _ => block_on(|context| mailbox.poll_next(context)).transpose(),
                };
                while let Some(batch) = next().expect("it is closed without a reason") {
                    versions.push(batch.version);
                }
                versions
            })
        })
        .collect();
    for version in 1..=BATCHES {
        room.wait(LONG).expect("somebody takes");
        put(&mailbox, version, [(one, change(version - 1, version))]);
    }
    mailbox.close();
    let mut versions = Vec::new();
    for receiver in receivers {
        let of_receiver = receiver.join().expect("it does not panic");
        assert!(of_receiver.is_sorted());
        versions.extend(of_receiver);
    }
    versions.sort_unstable();
    assert!(versions.into_iter().eq(1..=BATCHES));
}

#[test]
fn writers_wait_while_a_feed_is_full_and_the_producer_does_not() {
    let room = Arc::new(Room::default());
    let mailbox = Boxes::new(every(2, Overflow::Block), Arc::clone(&room));
    let one = mailbox.add();
    put(&mailbox, 1, [(one, change(0, 1))]);
    assert_eq!(room.wait(Duration::ZERO), Ok(()));
    put(&mailbox, 2, [(one, change(1, 2))]);
    put(&mailbox, 3, [(one, change(2, 3))]);
    assert_eq!(room.wait(Duration::ZERO), Err(NoRoom));
    assert_eq!(room.wait(Duration::from_millis(1)), Err(NoRoom));
    mailbox.next().expect("it goes on");
    assert_eq!(room.wait(Duration::ZERO), Err(NoRoom), "two are as many as it keeps");
    mailbox.next().expect("it goes on");
    assert_eq!(room.wait(Duration::ZERO), Ok(()));
}

#[test]
fn a_feed_that_goes_gives_its_room_back() {
    for (go, stays) in ENDS {
        let room = Arc::new(Room::default());
        let other = Boxes::new(every(1, Overflow::Block), Arc::clone(&room));
        let mailbox = Boxes::new(every(1, Overflow::Block), Arc::clone(&room));
        let (of_other, one) = (other.add(), mailbox.add());
        put(&mailbox, 1, [(one, change(0, 1))]);
        put(&other, 1, [(of_other, change(0, 1))]);
        let waiter = {
            let room = Arc::clone(&room);
            thread::spawn(move || room.wait(LONG))
        };
        go(&mailbox, one);
        let staying = stays.then_some(mailbox);
        assert!(room.is_full(), "the other feed is full");
        other.next().expect("it goes on");
        assert_eq!(waiter.join().expect("it does not panic"), Ok(()));
        drop(staying);
        assert!(!room.is_full());
    }
}

/// A listener, and the versions of the batches that its callback gets.
fn listen_to(mailbox: &Arc<Boxes>) -> (Listener, Receiver<u64>) {
    let (sender, receiver) = channel();
    let callback = move |batch: Batch<Change>| sender.send(batch.version).expect("the test listens");
    (listen(Arc::clone(mailbox), callback).expect("there are threads"), receiver)
}

#[test]
fn a_listener_is_called_for_each_batch_and_ends_with_the_feed() {
    let (mailbox, one) = with_slot(every(4, Overflow::Block));
    let (listener, versions) = listen_to(&mailbox);
    put(&mailbox, 1, [(one, change(0, 1))]);
    put(&mailbox, 2, [(one, change(1, 2))]);
    assert_eq!(versions.recv(), Ok(1));
    assert_eq!(versions.recv(), Ok(2));
    assert_eq!(listener.outcome(), None);
    mailbox.close();
    assert_eq!(listener.wait(), Outcome::Ended);
    assert!(versions.recv().is_err(), "the callback is dropped");
}

#[test]
fn a_callback_that_panics_ends_its_listener_only() {
    let (mailbox, one) = with_slot(every(4, Overflow::Block));
    let panicking =
        listen(Arc::clone(&mailbox), |batch| panic!("no {}", batch.version)).expect("there are threads");
    put(&mailbox, 1, [(one, change(0, 1))]);
    assert_eq!(panicking.wait(), Outcome::Panicked("no 1".to_owned()));
    panicking.cancel();
    let (_listener, versions) = listen_to(&mailbox);
    put(&mailbox, 2, [(one, change(1, 2))]);
    assert_eq!(versions.recv(), Ok(2));
}

#[test]
fn a_cancelled_listener_takes_nothing_from_others() {
    let (mailbox, one) = with_slot(every(4, Overflow::Block));
    let (listener, versions) = listen_to(&mailbox);
    await_parked(&mailbox, 1);
    listener.cancel();
    put(&mailbox, 1, [(one, change(0, 1))]);
    assert_eq!(mailbox.next(), Ok(Some(batch(1, [(one, change(0, 1))]))));
    assert_eq!(listener.wait(), Outcome::Ended);
    assert!(versions.recv().is_err());
}

#[test]
fn dropping_a_listener_cancels_it() {
    let mailbox = mailbox(every(4, Overflow::Block));
    let (listener, versions) = listen_to(&mailbox);
    await_parked(&mailbox, 1);
    drop(listener);
    assert!(versions.recv().is_err(), "the callback is dropped");
}

/// Cancels a listener while its callback runs, which holds a value. Returns whether the callback had ended when `cancel`
/// returned.
fn cancel_within_callback(held: impl Send + 'static) -> (Arc<Listener>, bool) {
    let (mailbox, one) = with_slot(every(4, Overflow::Block));
    let (entered, enter) = channel::<()>();
    let (leave, left) = channel::<()>();
    let has_ended = Arc::new(AtomicBool::new(false));
    let of_callback = Arc::clone(&has_ended);
    let listener = listen(Arc::clone(&mailbox), move |_| {
        _ = &held;
        entered.send(()).expect("the test waits");
        left.recv().expect("the test lets go");
        of_callback.store(true, Ordering::SeqCst);
    });
    let listener = Arc::new(listener.expect("there are threads"));
    put(&mailbox, 1, [(one, change(0, 1))]);
    enter.recv().expect("the callback begins");
    let of_canceller = Arc::clone(&listener);
    let canceller = thread::spawn(move || {
        of_canceller.cancel();
        has_ended.load(Ordering::SeqCst)
    });
    while !listener.is_awaited() {
        thread::yield_now();
    }
    leave.send(()).expect("the callback waits");
    (listener, canceller.join().expect("it does not panic"))
}

#[test]
fn cancelling_waits_for_the_callback_that_is_running() {
    assert!(cancel_within_callback(()).1);
}

/// A value whose drop waits for the test.
struct Lingering(Receiver<()>);

impl Drop for Lingering {
    fn drop(&mut self) {
        _ = self.0.recv();
    }
}

#[test]
fn cancelling_does_not_wait_for_what_the_callback_holds() {
    let (release, released) = channel::<()>();
    let (listener, _) = cancel_within_callback(Lingering(released));
    assert_eq!(listener.outcome(), None);
    release.send(()).expect("the callback's end waits");
    assert_eq!(listener.wait(), Outcome::Ended);
}

#[test]
fn a_callback_may_cancel_itself_and_its_subscription_and_close_the_feed() {
    let mailbox = mailbox(every(4, Overflow::Block));
    let (one, two) = (mailbox.add(), mailbox.add());
    put(&mailbox, 1, [(one, change(0, 1))]);
    put(&mailbox, 2, [(two, change(0, 2))]);
    let (give, given): (Sender<Listener>, _) = channel();
    let (tell, told) = channel();
    let of_callback = Arc::clone(&mailbox);
    let listener = listen(Arc::clone(&mailbox), move |batch| {
        let listener = given.recv().expect("the test gives it once");
        of_callback.remove(one);
        of_callback.close();
        listener.cancel();
        tell.send((batch.version, listener)).expect("the test waits");
    });
    give.send(listener.expect("there are threads")).expect("the callback waits");
    let (version, listener) = told.recv().expect("the callback ends");
    assert_eq!(version, 1);
    assert_eq!(listener.wait(), Outcome::Ended);
    assert!(told.recv().is_err());
    let left = batch(2, [(two, change(0, 2))]);
    assert_eq!(mailbox.next(), Ok(Some(left)), "a cancelled listener takes nothing");
}

/// One operation on a mailbox.
#[derive(Clone, Debug)]
enum Step {
    Add,
    /// Removes a subscription that is there, or one that is gone.
    Remove(usize),
    /// Puts a batch for the picked subscriptions, which may be gone.
    Put(Vec<usize>, bool),
    Take,
    Close,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        3 => Just(Step::Add),
        2 => any::<usize>().prop_map(Step::Remove),
        10 => (prop::collection::vec(any::<usize>(), 0..5), prop::bool::weighted(0.1))
            .prop_map(|(picks, is_resync)| Step::Put(picks, is_resync)),
        6 => Just(Step::Take),
        1 => prop::bool::weighted(0.05).prop_map(|closes| if closes { Step::Close } else { Step::Take }),
    ];
    prop::collection::vec(step, 0..120)
}

fn modes() -> impl Strategy<Value = Mode> {
    let overflow = prop_oneof![Just(Overflow::Block), Just(Overflow::Resync), Just(Overflow::End)];
    prop_oneof![
        Just(Mode::Latest),
        (1usize..5, overflow).prop_map(|(batches, overflow)| every(batches, overflow))
    ]
}

/// The mailbox as its documentation describes it: a queue of maps, in which each operation is one step.
struct Model {
    mode: Mode,
    queue: VecDeque<Pending>,
    is_collapsed: bool,
    is_closed: bool,
    is_overflow_untold: bool,
}

#[derive(Clone, Debug, PartialEq)]
struct Pending {
    version: u64,
    is_resync: bool,
    updates: BTreeMap<(u32, u32), Change>,
}

fn number(slot: Slot) -> (u32, u32) {
    (slot.index, slot.generation)
}

impl Model {
    fn put(&mut self, pending: Pending) {
        if self.is_closed || pending.updates.is_empty() {
            return;
        }
        self.queue.push_back(pending);
        let (batches, overflow) = match self.mode {
            Mode::Latest => (1, Overflow::Resync),
            Mode::Every { batches, overflow } => (batches, overflow),
        };
        if self.queue.len() <= batches && !self.is_collapsed || overflow == Overflow::Block {
            return;
        }
        if overflow == Overflow::End {
            self.queue.clear();
            (self.is_closed, self.is_overflow_untold) = (true, true);
            return;
        }
        let mut all = Pending { version: 0, is_resync: self.mode != Mode::Latest, updates: BTreeMap::new() };
        for pending in self.queue.drain(..) {
            all.version = pending.version;
            all.is_resync |= pending.is_resync;
            for (slot, change) in pending.updates {
                all.updates.entry(slot).or_insert(change).to = change.to;
            }
        }
        self.queue.push_back(all);
        self.is_collapsed = true;
    }

    fn remove(&mut self, slot: Slot) {
        for pending in &mut self.queue {
            pending.updates.remove(&number(slot));
        }
        self.queue.retain(|pending| !pending.updates.is_empty());
        self.is_collapsed &= !self.queue.is_empty();
    }

    fn take(&mut self) -> Result<Option<Pending>, Ended<String>> {
        if std::mem::take(&mut self.is_overflow_untold) {
            return Err(Ended::Overflowed);
        }
        let taken = self.queue.pop_front();
        self.is_collapsed &= !self.queue.is_empty();
        Ok(taken)
    }

    fn is_full(&self) -> bool {
        let Mode::Every { batches, overflow: Overflow::Block } = self.mode else { return false };
        !self.is_closed && self.queue.len() >= batches
    }
}

/// A mailbox and its model.
struct Pair {
    mailbox: Boxes,
    room: Arc<Room>,
    model: Model,
    used: Vec<Slot>,
    gone: Vec<Slot>,
    /// The state to which the last update of each subscription leads.
    newest: BTreeMap<(u32, u32), u64>,
    /// The state of each subscription that the receiver has.
    received: BTreeMap<(u32, u32), u64>,
    version: u64,
}

impl Pair {
    fn new(mode: Mode) -> Pair {
        let room = Arc::new(Room::default());
        let mailbox = Mailbox::new(mode, Arc::clone(&room));
        let queue = VecDeque::new();
        let model = Model { mode, queue, is_collapsed: false, is_closed: false, is_overflow_untold: false };
        let (newest, received) = (BTreeMap::new(), BTreeMap::new());
        Pair { mailbox, room, model, used: Vec::new(), gone: Vec::new(), newest, received, version: 0 }
    }

    fn step(&mut self, step: Step) {
        match step {
            Step::Add => {
                let slot = self.mailbox.add();
                assert!(!self.used.contains(&slot) && !self.gone.contains(&slot));
                self.used.push(slot);
            }
            Step::Remove(pick) => self.remove(pick),
            Step::Put(picks, is_resync) => self.put(&picks, is_resync),
            Step::Take => self.take(),
            Step::Close => {
                self.mailbox.close();
                self.model.is_closed = true;
            }
        }
    }

    fn pick(&self, pick: usize) -> Option<Slot> {
        let all = self.used.len() + self.gone.len();
        let at = pick.checked_rem(all)?;
        self.used.get(at).or_else(|| self.gone.get(at - self.used.len())).copied()
    }

    fn remove(&mut self, pick: usize) {
        let Some(slot) = self.pick(pick) else { return };
        let was_used = self.used.contains(&slot);
        assert_eq!(self.mailbox.remove(slot), was_used);
        if was_used {
            self.used.retain(|other| *other != slot);
            self.gone.push(slot);
            self.model.remove(slot);
        }
    }

    fn put(&mut self, picks: &[usize], is_resync: bool) {
        self.version += 1;
        let mut updates: Vec<(Slot, Change)> = Vec::new();
        for pick in picks {
            let Some(slot) = self.pick(*pick) else { continue };
            if updates.iter().all(|(other, _)| *other != slot) {
                let newest = self.newest.entry(number(slot)).or_default();
                updates.push((slot, change(*newest, self.version)));
                *newest = self.version;
            }
        }
        let live = updates.iter().filter(|(slot, _)| self.used.contains(slot));
        let of_model = live.map(|(slot, change)| (number(*slot), *change)).collect();
        let version = self.version;
        drop(self.mailbox.put(Batch { version, is_resync, updates }));
        self.model.put(Pending { version, is_resync, updates: of_model });
    }

    fn take(&mut self) {
        let taken = self.mailbox.try_next().map(|batch| {
            batch.map(|batch| {
                let count = batch.updates.len();
                let updates = batch.updates.into_iter().map(|(slot, change)| (number(slot), change));
                let updates = updates.collect::<BTreeMap<_, _>>();
                assert_eq!(updates.len(), count, "one update of a subscription");
                Pending { version: batch.version, is_resync: batch.is_resync, updates }
            })
        });
        assert_eq!(taken, self.model.take());
        for (slot, change) in taken.into_iter().flatten().flat_map(|pending| pending.updates) {
            let had = self.received.insert(slot, change.to).unwrap_or_default();
            assert_eq!(had, change.from, "an update begins where the receiver is");
        }
    }

    fn check_bounds(&self) {
        let state = lock(&self.mailbox.state);
        let (newest, queued) = state.contents.counts();
        assert!(newest <= self.used.len());
        match self.model.mode {
            Mode::Latest => assert_eq!(queued, 0),
            Mode::Every { overflow: Overflow::Block, .. } => {}
            Mode::Every { batches, .. } => assert!(queued <= batches),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_mailbox_does_what_its_model_does(mode in modes(), steps in steps()) {
        let mut pair = Pair::new(mode);
        for step in steps {
            pair.step(step);
            pair.check_bounds();
            // A batch that removals have emptied counts until a put or a take looks: the room may be full for longer.
            prop_assert!(!pair.model.is_full() || pair.room.is_full());
        }
        for _ in 0..200 {
            pair.take();
        }
        prop_assert!(!pair.room.is_full());
    }
}
