//! Topics: what is published to one reaches all that are in it.
//!
//! The hub knows how many members of a topic each loop has, and what of it is kept. Who they are, the loop knows
//! (`fan_out.rs`). A join and a publication of one topic meet under the lock of its shelf, and reach a loop in the order in
//! which they met there: nobody misses what was published after the join, or gets it twice.

use std::collections::HashMap;
use std::collections::VecDeque;
use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{SystemTime, UNIX_EPOCH};

use tayet_net::Token;

use crate::Publication;
use crate::fan_out::TopicWork;
use crate::mailbox::{Mailbox, Message as Mail};
use crate::sync::{Mutex, MutexGuard, lock};

/// Topics are spread over so many locks.
const SHELVES: usize = 16;

/// What topics may cost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopicLimits {
    /// Topics that have members or something kept. Default 100,000.
    pub max_topics: usize,
    /// Bytes of a topic's name. Default 256.
    pub max_name_bytes: usize,
    /// Publications that are kept of a topic for those who join or come back later, unless [`Topics::keep`] says
    /// otherwise. Default 0.
    pub history: usize,
    /// Bytes of the publications that are kept of a topic; the oldest go first. Default 1 MiB.
    pub max_history_bytes: usize,
}

impl Default for TopicLimits {
    fn default() -> Self {
        Self { max_topics: 100_000, max_name_bytes: 256, history: 0, max_history_bytes: 1024 * 1024 }
    }
}

/// What of the past a new member gets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Replay {
    /// The retained value, if there is one.
    #[default]
    Retained,
    /// Nothing.
    Nothing,
    /// The last publications that are kept, at most so many.
    Last(usize),
    /// Those that are kept and came after the one with this [`id`](Publication::id).
    After(u64),
}

/// Why a topic could not be joined or published to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TopicError {
    /// The topic's name is empty or too long.
    InvalidName {
        /// [`TopicLimits::max_name_bytes`].
        limit_bytes: usize,
    },
    /// There are as many topics as there may be.
    TooManyTopics {
        /// [`TopicLimits::max_topics`].
        limit: usize,
    },
    /// The socket is in as many topics as it may be.
    TooManySubscriptions {
        /// [`Limits::max_subscriptions`](crate::Limits::max_subscriptions).
        limit: usize,
    },
    /// The socket that was to join is closed.
    Closed,
}

impl fmt::Display for TopicError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::InvalidName { limit_bytes } => write!(f, "a topic's name has 1 to {limit_bytes} bytes"),
            Self::TooManyTopics { limit } => write!(f, "there are {limit} topics, and no more may be"),
            Self::TooManySubscriptions { limit } => write!(f, "the socket is in {limit} topics already"),
            Self::Closed => f.write_str("the socket is closed"),
        }
    }
}

impl std::error::Error for TopicError {}

/// A hub of topics. Cheap to clone; all clones are one hub.
///
/// # Examples
///
/// ```
/// use tayet_engine::{Publication, Topics};
///
/// let topics = Topics::default();
/// topics.keep("room/1", 50).unwrap();
/// topics.publish("room/1", "hello").unwrap();
/// assert_eq!(topics.history("room/1").len(), 1);
/// assert_eq!(topics.members("room/1"), 0);
/// ```
#[derive(Clone)]
pub struct Topics {
    hub: Arc<Hub>,
}

struct Hub {
    limits: TopicLimits,
    shelves: Box<[Mutex<Shelf>]>,
    hasher: RandomState,
    topics: AtomicUsize,
    next_number: AtomicU64,
    /// The first id of a topic's publications, so that ids of an earlier run are lower.
    first_id: u64,
    /// The loops' mailboxes; set when a server starts with these topics.
    mailboxes: OnceLock<Box<[Arc<Mailbox>]>>,
}

type Shelf = HashMap<Arc<str>, Entry>;

/// A topic, for those who are in it.
#[derive(Debug)]
pub(crate) struct Topic {
    /// Its number: a loop's key.
    pub(crate) number: u64,
    name: Arc<str>,
}

impl Topic {
    pub(crate) fn name(&self) -> &str {
        &self.name
    }
}

/// A topic, in the hub.
struct Entry {
    topic: Arc<Topic>,
    /// Members, by loop.
    members: Vec<usize>,
    next_id: u64,
    retained: Option<Arc<Publication>>,
    history: VecDeque<Arc<Publication>>,
    history_bytes: usize,
    /// How many publications are kept.
    kept: usize,
}

impl Topics {
    /// A hub with these limits.
    pub fn new(limits: TopicLimits) -> Self {
        let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self {
            hub: Arc::new(Hub {
                limits,
                shelves: (0..SHELVES).map(|_| Mutex::default()).collect(),
                hasher: RandomState::new(),
                topics: AtomicUsize::new(0),
                next_number: AtomicU64::new(0),
                first_id: since_epoch.as_micros() as u64,
                mailboxes: OnceLock::new(),
            }),
        }
    }

    /// Publishes to all that are in a topic; returns how many they are. A topic that nobody is in, and of which nothing is
    /// kept, costs nothing.
    ///
    /// It never waits: a member that takes its time is treated by its own
    /// [`SendPolicy`](crate::SendPolicy), and slows nobody else.
    ///
    /// # Errors
    ///
    /// [`TopicError::InvalidName`]; [`TopicError::TooManyTopics`] where something is to be kept of a new topic.
    pub fn publish(&self, topic: &str, publication: impl Into<Publication>) -> Result<usize, TopicError> {
        let mut publication = publication.into();
        self.check_name(topic)?;
        let mut shelf = self.shelf(topic);
        let is_kept = publication.is_retained() || self.hub.limits.history > 0;
        if !is_kept && !shelf.contains_key(topic) {
            return Ok(0);
        }
        let entry = self.entry(&mut shelf, topic)?;
        publication.number(entry.next_id);
        entry.next_id += 1;
        let publication = Arc::new(publication);
        entry.keep(&publication, self.hub.limits.max_history_bytes);
        let mailboxes = self.hub.mailboxes.get().map_or(&[][..], |mailboxes| mailboxes);
        for (mailbox, _) in mailboxes.iter().zip(&entry.members).filter(|(_, members)| **members > 0) {
            let (topic, publication) = (Arc::clone(&entry.topic), Arc::clone(&publication));
            mailbox.post(Mail::Topic(TopicWork::Publish { topic, publication }));
        }
        Ok(entry.members.iter().sum())
    }

    /// Keeps the last `count` publications of a topic for those who join or come back later. The topic is there from then on,
    /// also while nobody is in it, and counts against [`TopicLimits::max_topics`] until [`Topics::forget`].
    ///
    /// # Errors
    ///
    /// [`TopicError::InvalidName`], [`TopicError::TooManyTopics`].
    pub fn keep(&self, topic: &str, count: usize) -> Result<(), TopicError> {
        self.check_name(topic)?;
        let mut shelf = self.shelf(topic);
        let entry = self.entry(&mut shelf, topic)?;
        entry.kept = count;
        entry.forget_surplus(self.hub.limits.max_history_bytes);
        self.let_go_if_idle(&mut shelf, topic);
        Ok(())
    }

    /// Forgets what is kept of a topic, the retained value too, and how much of it was to be kept.
    pub fn forget(&self, topic: &str) {
        let mut shelf = self.shelf(topic);
        if let Some(entry) = shelf.get_mut(topic) {
            entry.retained = None;
            entry.kept = self.hub.limits.history;
            entry.history.clear();
            entry.history_bytes = 0;
        }
        self.let_go_if_idle(&mut shelf, topic);
    }

    /// How many sockets and streams are in a topic.
    pub fn members(&self, topic: &str) -> usize {
        self.shelf(topic).get(topic).map_or(0, |entry| entry.members.iter().sum())
    }

    /// What is kept of a topic, oldest first.
    pub fn history(&self, topic: &str) -> Vec<Arc<Publication>> {
        self.shelf(topic).get(topic).map_or_else(Vec::new, |entry| entry.history.iter().cloned().collect())
    }

    /// The topic's last value, if one was [retained](Publication::retained).
    pub fn retained(&self, topic: &str) -> Option<Arc<Publication>> {
        self.shelf(topic).get(topic).and_then(|entry| entry.retained.clone())
    }

    /// How many topics there are.
    pub fn count(&self) -> usize {
        self.hub.topics.load(Ordering::Relaxed)
    }

    /// The names of all topics that have members or something kept, in no order.
    pub fn names(&self) -> Vec<String> {
        let shelves = self.hub.shelves.iter();
        shelves.flat_map(|shelf| lock(shelf).keys().map(ToString::to_string).collect::<Vec<_>>()).collect()
    }

    /// The engine's: joins its loops to the hub. `false` if another engine has.
    pub(crate) fn connect(&self, mailboxes: &[Arc<Mailbox>]) -> bool {
        self.hub.mailboxes.set(mailboxes.into()).is_ok()
    }

    /// Counts a member in and tells its loop, with what it gets of the past.
    pub(crate) fn join(
        &self,
        topic: &str,
        token: Token,
        home: usize,
        replay: Replay,
    ) -> Result<Arc<Topic>, TopicError> {
        self.check_name(topic)?;
        let mut shelf = self.shelf(topic);
        let entry = self.entry(&mut shelf, topic)?;
        if entry.members.len() <= home {
            entry.members.resize(home + 1, 0);
        }
        entry.members[home] += 1;
        let joined = Arc::clone(&entry.topic);
        if let Some(mailbox) = self.hub.mailboxes.get().and_then(|mailboxes| mailboxes.get(home)) {
            let replayed = entry.replayed(replay);
            mailbox.post(Mail::Topic(TopicWork::Join { token, topic: Arc::clone(&joined), replayed }));
        }
        Ok(joined)
    }

    /// Counts a member out.
    pub(crate) fn leave(&self, topic: &Topic, home: usize) {
        let mut shelf = self.shelf(&topic.name);
        if let Some(entry) = shelf.get_mut(&*topic.name)
            && let Some(members) = entry.members.get_mut(home)
        {
            *members -= 1;
        }
        self.let_go_if_idle(&mut shelf, &topic.name);
    }

    fn check_name(&self, topic: &str) -> Result<(), TopicError> {
        let limit_bytes = self.hub.limits.max_name_bytes;
        let is_valid = !topic.is_empty() && topic.len() <= limit_bytes;
        if is_valid { Ok(()) } else { Err(TopicError::InvalidName { limit_bytes }) }
    }

    fn shelf(&self, topic: &str) -> MutexGuard<'_, Shelf> {
        let hash = self.hub.hasher.hash_one(topic);
        lock(&self.hub.shelves[hash as usize % SHELVES])
    }

    /// The topic's entry, which is made if there is none.
    fn entry<'a>(&self, shelf: &'a mut Shelf, topic: &str) -> Result<&'a mut Entry, TopicError> {
        let hub = &self.hub;
        if !shelf.contains_key(topic) {
            let limit = hub.limits.max_topics;
            if hub.topics.fetch_add(1, Ordering::Relaxed) >= limit {
                hub.topics.fetch_sub(1, Ordering::Relaxed);
                return Err(TopicError::TooManyTopics { limit });
            }
            let name = Arc::<str>::from(topic);
            let number = hub.next_number.fetch_add(1, Ordering::Relaxed);
            let entry = Entry {
                topic: Arc::new(Topic { number, name: Arc::clone(&name) }),
                members: Vec::new(),
                next_id: hub.first_id,
                retained: None,
                history: VecDeque::new(),
                history_bytes: 0,
                kept: hub.limits.history,
            };
            shelf.insert(name, entry);
        }
        Ok(shelf.get_mut(topic).expect("it is there or was just put there"))
    }

    fn let_go_if_idle(&self, shelf: &mut Shelf, topic: &str) {
        if shelf.get(topic).is_some_and(|entry| entry.is_idle(self.hub.limits.history)) {
            shelf.remove(topic);
            self.hub.topics.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

impl Entry {
    fn keep(&mut self, publication: &Arc<Publication>, max_bytes: usize) {
        if publication.is_retained() {
            self.retained = Some(Arc::clone(publication));
        }
        if self.kept > 0 {
            self.history.push_back(Arc::clone(publication));
            self.history_bytes += publication.len();
            self.forget_surplus(max_bytes);
        }
    }

    fn forget_surplus(&mut self, max_bytes: usize) {
        while self.history.len() > self.kept || self.history_bytes > max_bytes {
            let Some(oldest) = self.history.pop_front() else { return };
            self.history_bytes -= oldest.len();
        }
    }

    fn replayed(&self, replay: Replay) -> Vec<Arc<Publication>> {
        match replay {
            Replay::Nothing => Vec::new(),
            Replay::Retained => self.retained.iter().cloned().collect(),
            Replay::Last(count) => {
                let surplus = self.history.len().saturating_sub(count);
                self.history.iter().skip(surplus).cloned().collect()
            }
            Replay::After(id) => self.history.iter().filter(|past| past.id() > id).cloned().collect(),
        }
    }

    fn is_idle(&self, usually_kept: usize) -> bool {
        let has_past = self.retained.is_some() || !self.history.is_empty();
        self.members.iter().all(|members| *members == 0) && !has_past && self.kept == usually_kept
    }
}

impl Default for Topics {
    fn default() -> Self {
        Self::new(TopicLimits::default())
    }
}

impl fmt::Debug for Topics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Topics").field("count", &self.count()).finish_non_exhaustive()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn texts(past: &[Arc<Publication>]) -> Vec<String> {
        let text = |past: &Arc<Publication>| String::from_utf8_lossy(past.message().as_bytes()).into_owned();
        past.iter().map(text).collect()
    }

    fn token(index: u32) -> Token {
        Token { index, generation: 0 }
    }

    #[test]
    fn a_topic_that_nobody_needs_costs_nothing() {
        let topics = Topics::default();
        assert_eq!(topics.publish("a", "x"), Ok(0));
        assert_eq!(topics.count(), 0);
        let joined = topics.join("a", token(1), 0, Replay::Retained).unwrap();
        assert_eq!((topics.count(), topics.members("a"), topics.publish("a", "x")), (1, 1, Ok(1)));
        topics.leave(&joined, 0);
        assert_eq!((topics.count(), topics.members("a")), (0, 0));
    }

    #[test]
    fn history_keeps_the_last_and_no_more_bytes_than_it_may() {
        let limits = TopicLimits { max_history_bytes: 10, ..TopicLimits::default() };
        let topics = Topics::new(limits);
        topics.keep("a", 3).unwrap();
        ["1", "2", "3", "4"].into_iter().for_each(|text| assert_eq!(topics.publish("a", text), Ok(0)));
        assert_eq!(texts(&topics.history("a")), ["2", "3", "4"]);
        topics.publish("a", "123456789").unwrap();
        assert_eq!(texts(&topics.history("a")), ["4", "123456789"]);
        topics.forget("a");
        assert_eq!((topics.history("a").len(), topics.count()), (0, 0));
    }

    #[test]
    fn ids_grow_and_replay_begins_behind_the_one_that_was_seen() {
        let topics = Topics::default();
        topics.keep("a", 10).unwrap();
        ["1", "2", "3"].into_iter().for_each(|text| assert_eq!(topics.publish("a", text), Ok(0)));
        let past = topics.history("a");
        assert!(past.windows(2).all(|pair| pair[0].id() < pair[1].id()));
        let shelf = topics.shelf("a");
        assert_eq!(texts(&shelf["a"].replayed(Replay::After(past[0].id()))), ["2", "3"]);
        assert_eq!(texts(&shelf["a"].replayed(Replay::Last(1))), ["3"]);
        assert!(shelf["a"].replayed(Replay::Retained).is_empty());
    }

    #[test]
    fn a_retained_value_is_kept_until_another_comes() {
        let topics = Topics::default();
        topics.publish("a", Publication::new("1").retained()).unwrap();
        topics.publish("a", "2").unwrap();
        assert_eq!(texts(&[topics.retained("a").unwrap()]), ["1"]);
        topics.publish("a", Publication::new("3").retained()).unwrap();
        assert_eq!(texts(&[topics.retained("a").unwrap()]), ["3"]);
    }

    #[test]
    fn names_and_numbers_of_topics_have_limits() {
        let topics = Topics::new(TopicLimits { max_topics: 1, max_name_bytes: 3, ..TopicLimits::default() });
        assert_eq!(topics.publish("", "x"), Err(TopicError::InvalidName { limit_bytes: 3 }));
        assert_eq!(topics.publish("four", "x"), Err(TopicError::InvalidName { limit_bytes: 3 }));
        topics.join("a", token(1), 0, Replay::Nothing).unwrap();
        let refused = topics.join("b", token(1), 0, Replay::Nothing);
        assert_eq!(refused.unwrap_err(), TopicError::TooManyTopics { limit: 1 });
        assert_eq!(topics.names(), ["a"]);
    }
}
