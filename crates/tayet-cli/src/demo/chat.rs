//! The chat: rooms are topics, and one handler serves all sockets.

mod allowance;
mod protocol;
mod rooms;
#[cfg(test)]
mod tests;

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use tayet::{
    CloseCode, Closed, Message, Replay, Request, Router, Topics, WebSocket, WebSocketConfig, WebSocketHandler,
};

use self::allowance::{Allowance, Pace};
use self::protocol::{Name, Notice, Refusal, RoomName, Text, Visitor, Wish};
use self::rooms::{Rooms, Seat};

/// What a room has said last, for those who join later.
const KEPT_MESSAGES: usize = 50;
/// Largest message of a page.
const MAX_MESSAGE_BYTES: usize = 8 * 1024;
/// Most that may wait for one page.
const MAX_SEND_QUEUE_BYTES: usize = 256 * 1024;
/// The topic of all sockets.
const EVERYBODY: &str = "chat";

pub(crate) fn router() -> Router {
    let config = WebSocketConfig::new()
        .max_message_bytes(MAX_MESSAGE_BYTES)
        .max_send_queue_bytes(MAX_SEND_QUEUE_BYTES);
    Router::new().websocket_with("/chat/socket", config, Chat::default())
}

#[derive(Default)]
struct Chat {
    /// Held while something is published, so that everybody hears of everything in one order.
    rooms: Mutex<Rooms>,
}

/// What is kept with a socket.
struct Visit {
    seat: Mutex<Option<Seat>>,
    allowance: Mutex<Allowance>,
}

impl WebSocketHandler for Chat {
    fn on_open(&self, socket: &WebSocket, _: &Request) {
        let visit = Visit { seat: Mutex::default(), allowance: Mutex::new(Allowance::new(Instant::now())) };
        let is_first = socket.set_data(visit).is_ok();
        debug_assert!(is_first, "a socket opens once");
        let rooms = lock(&self.rooms);
        send(socket, &Notice::Rooms { rooms: rooms.summaries() });
        join_topic(socket, EVERYBODY, Replay::Nothing);
    }

    fn on_message(&self, socket: &WebSocket, message: Message) {
        let Some(visit) = socket.data::<Visit>() else { return };
        let pace = lock(&visit.allowance).take(Instant::now());
        let granted = match pace {
            Pace::Fine => self.grant(socket, visit, &message),
            Pace::TooFast => Err(Refusal::TooFast),
            Pace::Relentless => {
                return socket.close(CloseCode::POLICY_VIOLATION, &Refusal::TooFast.to_string());
            }
        };
        if let Err(refusal) = granted {
            send(socket, &Notice::refused(refusal));
        }
    }

    fn on_close(&self, socket: &WebSocket, _: &Closed) {
        let Some(seat) = socket.data::<Visit>().and_then(|visit| lock(&visit.seat).take()) else { return };
        let mut rooms = lock(&self.rooms);
        rooms.leave(&seat);
        tell_people(socket.topics(), &rooms, &seat.room);
        tell_rooms(socket.topics(), &rooms);
    }
}

impl Chat {
    fn grant(&self, socket: &WebSocket, visit: &Visit, message: &Message) -> Result<(), Refusal> {
        match serde_json::from_slice(message.as_bytes()).map_err(|_| Refusal::NotUnderstood)? {
            Wish::Join { room, name, visitor } => {
                self.seat(socket, visit, &room.parse()?, &name.parse()?, &visitor.parse()?)
            }
            Wish::Say { text } => self.say(socket, visit, &text.parse()?),
        }
    }

    /// Gives the socket a seat, and takes the one that it had.
    fn seat(
        &self,
        socket: &WebSocket,
        visit: &Visit,
        room: &RoomName,
        name: &Name,
        visitor: &Visitor,
    ) -> Result<(), Refusal> {
        let mut rooms = lock(&self.rooms);
        let joined = rooms.join(room, name, visitor)?;
        let topics = socket.topics();
        if let Some(forgotten) = joined.forgotten {
            topics.forget(&messages_of(&forgotten));
        }
        let left = lock(&visit.seat).replace(joined.seat);
        if let Some(left) = left {
            rooms.leave(&left);
            socket.unsubscribe(&messages_of(&left.room));
            socket.unsubscribe(&people_of(&left.room));
            tell_people(topics, &rooms, &left.room);
        }
        send(socket, &Notice::Joined { room, name });
        if let Err(error) = topics.keep(&messages_of(room), KEPT_MESSAGES) {
            tracing::warn!(%error, "the chat cannot keep what is said");
        }
        join_topic(socket, &messages_of(room), Replay::Last(KEPT_MESSAGES));
        join_topic(socket, &people_of(room), Replay::Nothing);
        tell_people(topics, &rooms, room);
        tell_rooms(topics, &rooms);
        Ok(())
    }

    fn say(&self, socket: &WebSocket, visit: &Visit, text: &Text) -> Result<(), Refusal> {
        let mut rooms = lock(&self.rooms);
        let seat = lock(&visit.seat);
        let Seat { room, name } = seat.as_ref().ok_or(Refusal::NotJoined)?;
        let at = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let (id, at_ms) = (rooms.number_message(at), at.as_millis() as u64);
        publish(socket.topics(), &messages_of(room), &Notice::Said { room, id, at_ms, name, text });
        Ok(())
    }
}

/// What is said in a room, the last of it kept.
fn messages_of(room: &RoomName) -> String {
    format!("chat/messages/{}", room.as_str())
}

/// Who is in a room.
fn people_of(room: &RoomName) -> String {
    format!("chat/people/{}", room.as_str())
}

fn tell_people(topics: &Topics, rooms: &Rooms, room: &RoomName) {
    publish(topics, &people_of(room), &Notice::People { room, names: rooms.people(room) });
}

fn tell_rooms(topics: &Topics, rooms: &Rooms) {
    publish(topics, EVERYBODY, &Notice::Rooms { rooms: rooms.summaries() });
}

fn publish(topics: &Topics, topic: &str, notice: &Notice<'_>) {
    if let Err(error) = topics.publish(topic, notice) {
        tracing::warn!(%error, topic, "the chat cannot publish");
    }
}

fn send(socket: &WebSocket, notice: &Notice<'_>) {
    // A page that has gone misses nothing.
    let _ = socket.send(notice);
}

fn join_topic(socket: &WebSocket, topic: &str, replay: Replay) {
    if let Err(error) = socket.subscribe_with(topic, replay) {
        socket.close(CloseCode::INTERNAL_ERROR, &error.to_string());
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
