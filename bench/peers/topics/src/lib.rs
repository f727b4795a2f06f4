//! Topics for peers that have none of their own: a `tokio::sync::broadcast` channel for each, as their examples do it.

use std::collections::HashMap;
use std::sync::{LazyLock, Mutex};

use tokio::sync::broadcast::{self, Receiver, Sender};

/// Publications that a slow subscriber may be behind before it misses some. The load is never behind by more than one.
const MAX_PUBLICATIONS_BEHIND: usize = 64;

/// Channels by their names. A topic stays when its last subscriber has left: the load uses one.
pub struct Topics<T> {
    channels: LazyLock<Mutex<HashMap<String, Sender<T>>>>,
}

impl<T: Clone> Topics<T> {
    /// No topics.
    pub const fn new() -> Self {
        Self { channels: LazyLock::new(Mutex::default) }
    }

    /// Where to publish to the topic `name`, and what is published to it from now on.
    pub fn join(&self, name: &str) -> (Sender<T>, Receiver<T>) {
        let mut channels = self.channels.lock().expect("nothing panics under the lock");
        let new = || broadcast::channel(MAX_PUBLICATIONS_BEHIND).0;
        let sender = channels.entry(name.to_owned()).or_insert_with(new).clone();
        let receiver = sender.subscribe();
        (sender, receiver)
    }
}

impl<T: Clone> Default for Topics<T> {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_of_a_topic_get_what_one_publishes_and_nobody_else_does() {
        let topics = Topics::new();
        let (sender, mut own) = topics.join("a");
        let (_, mut other) = topics.join("a");
        let (_, mut stranger) = topics.join("b");
        sender.send(7).unwrap();
        assert_eq!((own.try_recv(), other.try_recv()), (Ok(7), Ok(7)));
        assert!(stranger.try_recv().is_err());
    }
}
