//! Which rooms there are, and who is in them.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::time::Duration;

use super::protocol::{Name, Refusal, RoomName, RoomSummary, Visitor};

/// Most rooms; one that nobody is in is forgotten for a new one, the longest deserted first.
pub(super) const MAX_ROOMS: usize = 50;
/// Most people in a room.
pub(super) const MAX_PEOPLE: usize = 100;

/// The rooms.
#[derive(Debug, Default)]
pub(super) struct Rooms {
    rooms: BTreeMap<RoomName, Room>,
    /// How often a room was deserted.
    desertions: u64,
    last_message_id: u64,
}

#[derive(Debug, Default)]
struct Room {
    /// By [`Name::key`].
    people: BTreeMap<String, Person>,
    /// Which of all desertions was its last.
    deserted: u64,
}

#[derive(Debug)]
struct Person {
    name: Name,
    visitor: Visitor,
    sockets: usize,
}

/// A socket's place in a room.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Seat {
    pub(super) room: RoomName,
    pub(super) name: Name,
}

/// A seat that was given.
#[derive(Debug)]
pub(super) struct Joined {
    pub(super) seat: Seat,
    /// The room that had to make place for a new one.
    pub(super) forgotten: Option<RoomName>,
}

impl Rooms {
    /// Gives a socket a seat; the room is made if there is none.
    pub(super) fn join(
        &mut self,
        room: &RoomName,
        name: &Name,
        visitor: &Visitor,
    ) -> Result<Joined, Refusal> {
        let is_new = !self.rooms.contains_key(room);
        let forgotten = if is_new && self.rooms.len() >= MAX_ROOMS { Some(self.forget_one()?) } else { None };
        let people = &mut self.rooms.entry(room.clone()).or_default().people;
        let is_full = people.len() >= MAX_PEOPLE;
        match people.entry(name.key()) {
            Entry::Occupied(person) if person.get().visitor != *visitor => return Err(Refusal::NameTaken),
            Entry::Occupied(mut person) => person.get_mut().sockets += 1,
            Entry::Vacant(_) if is_full => return Err(Refusal::RoomFull),
            Entry::Vacant(place) => {
                place.insert(Person { name: name.clone(), visitor: visitor.clone(), sockets: 1 });
            }
        }
        let seat = Seat { room: room.clone(), name: name.clone() };
        Ok(Joined { seat, forgotten })
    }

    /// Takes a seat back.
    pub(super) fn leave(&mut self, seat: &Seat) {
        let Some(room) = self.rooms.get_mut(&seat.room) else { return };
        let Entry::Occupied(mut person) = room.people.entry(seat.name.key()) else { return };
        person.get_mut().sockets -= 1;
        if person.get().sockets == 0 {
            person.remove();
        }
        if room.people.is_empty() {
            self.desertions += 1;
            room.deserted = self.desertions;
        }
    }

    /// Who is in a room, by the alphabet.
    pub(super) fn people(&self, room: &RoomName) -> Vec<&Name> {
        let room = self.rooms.get(room);
        room.map_or_else(Vec::new, |room| room.people.values().map(|person| &person.name).collect())
    }

    /// All rooms, by the alphabet.
    pub(super) fn summaries(&self) -> Vec<RoomSummary<'_>> {
        self.rooms.iter().map(|(name, room)| RoomSummary { name, people: room.people.len() }).collect()
    }

    /// The id of a message that is said at this time since the epoch: higher than those before, also of an earlier run.
    pub(super) fn number_message(&mut self, at: Duration) -> u64 {
        self.last_message_id = (at.as_micros() as u64).max(self.last_message_id + 1);
        self.last_message_id
    }

    fn forget_one(&mut self) -> Result<RoomName, Refusal> {
        let deserted = self.rooms.iter().filter(|(_, room)| room.people.is_empty());
        let longest = deserted.min_by_key(|(_, room)| room.deserted).map(|(name, _)| name.clone());
        let forgotten = longest.ok_or(Refusal::TooManyRooms)?;
        self.rooms.remove(&forgotten);
        Ok(forgotten)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn join(rooms: &mut Rooms, room: &str, name: &str, visitor: &str) -> Result<Joined, Refusal> {
        rooms.join(&room.parse()?, &name.parse()?, &visitor.parse()?)
    }

    fn people(rooms: &Rooms, room: &str) -> usize {
        rooms.people(&room.parse().unwrap()).len()
    }

    #[test]
    fn a_visitor_has_one_name_on_many_sockets() {
        let mut rooms = Rooms::default();
        let first = join(&mut rooms, "tea", "Ada", "1").unwrap().seat;
        let second = join(&mut rooms, "tea", "Ada", "1").unwrap().seat;
        assert_eq!(people(&rooms, "tea"), 1);
        rooms.leave(&first);
        assert_eq!(people(&rooms, "tea"), 1);
        rooms.leave(&second);
        assert_eq!(people(&rooms, "tea"), 0);
    }

    #[test]
    fn a_name_is_taken_within_its_room() {
        let mut rooms = Rooms::default();
        let seat = join(&mut rooms, "tea", "Ada", "1").unwrap().seat;
        assert_eq!(join(&mut rooms, "tea", "ADA", "2").unwrap_err(), Refusal::NameTaken);
        join(&mut rooms, "coffee", "Ada", "2").unwrap();
        rooms.leave(&seat);
        join(&mut rooms, "tea", "Ada", "2").unwrap();
    }

    #[test]
    fn a_room_is_full_for_new_names_only() {
        let mut rooms = Rooms::default();
        (0..MAX_PEOPLE).for_each(|guest| drop(join(&mut rooms, "tea", &guest.to_string(), "1").unwrap()));
        assert_eq!(join(&mut rooms, "tea", "Ada", "1").unwrap_err(), Refusal::RoomFull);
        join(&mut rooms, "tea", "0", "1").unwrap();
    }

    #[test]
    fn messages_are_numbered_upwards_whatever_the_clock_does() {
        let mut rooms = Rooms::default();
        let ids = [5, 5, 4, 9].map(|at_us| rooms.number_message(Duration::from_micros(at_us)));
        assert_eq!(ids, [5, 6, 7, 9]);
    }

    #[test]
    fn the_longest_deserted_room_makes_place() {
        let mut rooms = Rooms::default();
        let seats: Vec<Seat> = (0..MAX_ROOMS)
            .map(|room| join(&mut rooms, &format!("room-{room}"), "Ada", "1").unwrap().seat)
            .collect();
        assert_eq!(join(&mut rooms, "one-more", "Ada", "1").unwrap_err(), Refusal::TooManyRooms);
        rooms.leave(&seats[7]);
        rooms.leave(&seats[3]);
        let joined = join(&mut rooms, "one-more", "Ada", "1").unwrap();
        assert_eq!(joined.forgotten, Some(seats[7].room.clone()));
        assert_eq!(rooms.summaries().len(), MAX_ROOMS);
    }
}
