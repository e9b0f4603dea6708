//! Room for answers: a body is kept until it has been judged, so a service that sends without end would take all memory.

use std::cell::Cell;
use std::rc::Rc;

/// A longer body is not kept: its request has failed.
pub const BODY_BYTES_MAX: u64 = 64 << 20;
/// All answers that a process keeps at a time have this much room, which its threads share out.
pub const ANSWERS_BYTES_MAX: u64 = 1 << 30;

/// The room of a lane.
#[derive(Debug)]
pub struct Room {
    left: Cell<u64>,
}

/// What an answer takes of a lane's room, and gives back when it is gone.
#[derive(Debug, Default)]
pub struct Taken {
    room: Option<Rc<Room>>,
    bytes: u64,
}

impl Room {
    /// That of one of so many lanes. Each has room for one body at least.
    pub fn of_lane(lanes: u16) -> Rc<Room> {
        Room::of((ANSWERS_BYTES_MAX / u64::from(lanes.max(1))).max(BODY_BYTES_MAX))
    }

    /// Room for so many bytes.
    pub fn of(bytes: u64) -> Rc<Room> {
        Rc::new(Room { left: Cell::new(bytes) })
    }

    /// Room for an answer, which takes none yet.
    pub fn taken(self: &Rc<Room>) -> Taken {
        Taken { room: Some(Rc::clone(self)), bytes: 0 }
    }
}

impl Taken {
    /// Takes as much as an answer has now. Whether there is as much; if not, it has what it had.
    #[must_use]
    pub fn hold(&mut self, bytes: u64) -> bool {
        let Some(room) = &self.room else { return true };
        let Some(left) = (room.left.get() + self.bytes).checked_sub(bytes) else { return false };
        room.left.set(left);
        self.bytes = bytes;
        true
    }

    /// Gives back all of it.
    pub fn give_back(&mut self) {
        if let Some(room) = &self.room {
            room.left.set(room.left.get() + self.bytes);
        }
        self.bytes = 0;
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        self.give_back();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_have_together_what_there_is() {
        let room = Room::of(10);
        let (mut one, mut other) = (room.taken(), room.taken());
        assert!(one.hold(6) && other.hold(4) && !other.hold(5) && !one.hold(7));
        assert!(one.hold(2) && other.hold(8));
        drop(other);
        assert!(one.hold(10) && !one.hold(11));
        one.give_back();
        assert!(room.taken().hold(10));
    }

    #[test]
    fn lanes_share_the_room_of_the_process() {
        let left = |lanes| Room::of_lane(lanes).left.get();
        assert_eq!(
            (left(1), left(4), left(1_024)),
            (ANSWERS_BYTES_MAX, ANSWERS_BYTES_MAX / 4, BODY_BYTES_MAX)
        );
    }
}
