//! Publications on their way to a loop's members of a topic, a part at a time, so that other connections get their turn.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use tayet_net::Token;

use crate::event_loop::Loop;
use crate::frugal;
use crate::publication::Publication;
use crate::session::Membership;
use crate::topics::Topic;

/// Members that get something published before other connections are looked at again.
const MEMBERS_A_TURN: usize = 128;

/// What a loop does about its topics, in order.
#[derive(Debug)]
pub(crate) enum TopicWork {
    Join { token: Token, topic: Arc<Topic>, replayed: Vec<Arc<Publication>> },
    Leave { token: Token, topic: Arc<Topic> },
    Publish { topic: Arc<Topic>, publication: Arc<Publication> },
}

/// A loop's members of topics.
#[derive(Debug, Default)]
pub(crate) struct LocalTopics {
    /// The members of each topic, by its number.
    members: HashMap<u64, Vec<Token>>,
    work: VecDeque<TopicWork>,
    /// How many members have got the publication that is first in `work`.
    served: usize,
    /// The topic that is being published to has members that have left.
    has_gaps: bool,
    /// Members that have got something since other connections were looked at.
    served_this_turn: usize,
}

/// In the place of a member that has left while its topic was being published to.
const GAP: Token = Token { index: u32::MAX, generation: u32::MAX };

impl LocalTopics {
    pub(crate) fn has_work(&self) -> bool {
        !self.work.is_empty()
    }

    pub(crate) fn push(&mut self, work: TopicWork) {
        self.work.push_back(work);
    }

    /// The topic that is being published to.
    fn under_way(&self) -> Option<u64> {
        match self.work.front() {
            Some(TopicWork::Publish { topic, .. }) if self.served > 0 => Some(topic.number),
            _ => None,
        }
    }
}

impl Loop {
    /// Does the next part of what there is to do about topics.
    pub(crate) fn work_on_topics(&mut self) {
        // To publish to many may take longer than answers may be held.
        self.send_held();
        match self.topics.work.front() {
            None => {}
            Some(TopicWork::Publish { topic, publication }) => {
                let (topic, publication) = (topic.number, Arc::clone(publication));
                self.publish_to_some(topic, &publication);
            }
            Some(TopicWork::Join { .. } | TopicWork::Leave { .. }) => match self.topics.work.pop_front() {
                Some(TopicWork::Join { token, topic, replayed }) => self.join(token, &topic, &replayed),
                Some(TopicWork::Leave { token, topic }) => self.leave(token, topic.number),
                Some(TopicWork::Publish { .. }) | None => {}
            },
        }
    }

    /// Looks what has come meanwhile, without waiting.
    fn look_between(&mut self) {
        self.topics.served_this_turn = 0;
        if let Err(error) = self.driver.wait(Some(Duration::ZERO)) {
            tracing::error!(%error, "the poller failed");
        }
        self.set_now();
    }

    /// A session that ends is in no topic.
    pub(crate) fn leave_topics(&mut self, token: Token) {
        let Some(session) = self.connections.session(token) else { return };
        session.channel.leave_topics();
        let memberships = std::mem::take(&mut session.memberships);
        memberships.iter().for_each(|membership| self.drop_member(*membership));
    }

    fn publish_to_some(&mut self, topic: u64, publication: &Publication) {
        while self.topics.served_this_turn < MEMBERS_A_TURN {
            let members = self.topics.members.get(&topic);
            let Some(member) = members.and_then(|members| members.get(self.topics.served)).copied() else {
                self.finish_publication(topic);
                return;
            };
            self.topics.served += 1;
            self.topics.served_this_turn += 1;
            self.publish_to(member, publication);
        }
        self.look_between();
    }

    fn publish_to(&mut self, member: Token, publication: &Publication) {
        if let Some(session) = self.connections.session(member) {
            // One that is closed, or whose queue is full, has been seen to by its own policy.
            let _ = session.channel.publish(publication);
        }
    }

    fn finish_publication(&mut self, topic: u64) {
        self.topics.work.pop_front();
        self.topics.served = 0;
        if std::mem::take(&mut self.topics.has_gaps) {
            self.close_gaps(topic);
        }
    }

    fn join(&mut self, token: Token, topic: &Topic, replayed: &[Arc<Publication>]) {
        let Some(session) = self.connections.session(token) else { return };
        if !session.channel.outbox().is_open() {
            return;
        }
        let members = self.topics.members.entry(topic.number).or_default();
        session.memberships.push(Membership { topic: topic.number, position: members.len() as u32 });
        frugal::push(members, token);
        replayed.iter().for_each(|publication| self.publish_to(token, publication));
    }

    fn leave(&mut self, token: Token, topic: u64) {
        let Some(session) = self.connections.session(token) else { return };
        let Some(at) = session.memberships.iter().position(|membership| membership.topic == topic) else {
            return;
        };
        let membership = session.memberships.swap_remove(at);
        self.drop_member(membership);
    }

    fn drop_member(&mut self, Membership { topic, position }: Membership) {
        let is_under_way = self.topics.under_way() == Some(topic);
        let Some(members) = self.topics.members.get_mut(&topic) else { return };
        if is_under_way {
            members[position as usize] = GAP;
            self.topics.has_gaps = true;
            return;
        }
        members.swap_remove(position as usize);
        let moved = members.get(position as usize).copied();
        if members.is_empty() {
            self.topics.members.remove(&topic);
        }
        if let Some(moved) = moved {
            self.place_member(moved, topic, position);
        }
    }

    /// Closes the gaps that members left who went while the topic was being published to.
    fn close_gaps(&mut self, topic: u64) {
        let Some(members) = self.topics.members.get_mut(&topic) else { return };
        members.retain(|member| *member != GAP);
        let members = members.clone();
        if members.is_empty() {
            self.topics.members.remove(&topic);
        }
        for (position, member) in members.into_iter().enumerate() {
            self.place_member(member, topic, position as u32);
        }
    }

    fn place_member(&mut self, member: Token, topic: u64, position: u32) {
        let Some(session) = self.connections.session(member) else { return };
        let membership = session.memberships.iter_mut().find(|membership| membership.topic == topic);
        if let Some(membership) = membership {
            membership.position = position;
        }
    }
}
