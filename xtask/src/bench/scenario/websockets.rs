//! WebSockets: echoes, publications, and sockets that say nothing.

use super::{Family, MILLION, Scenario, Work, alone, beside};
use crate::bench::contestant::{ACTIX, AXUM, Contestant, NTEX, Program, TAYET, TAYET_INLINE, peer, rust};
use crate::bench::websocket_idle::Idle;

pub(super) const ECHO: &str = "/ws";
const TOPIC: &str = "/ws/topic/bench";

pub(super) const FLOOR: Contestant =
    peer("websocket-floor", "bare epoll loop", Program::Floor("floor-websocket"));
pub(super) const FASTWEBSOCKETS: Contestant =
    peer("fastwebsockets", "fastwebsockets", rust("peer-fastwebsockets", "fastwebsockets"));
const GORILLA: Contestant = peer("gorilla", "Go gorilla/websocket", Program::Go("gorilla"));
const NODE: Contestant = peer("node", "Node ws, 1 process", Program::Node { processes: 1 });
const NODE_CLUSTER: Contestant =
    peer("node-cluster", "Node ws, cluster of 2", Program::Node { processes: 2 });
pub(super) const TUNGSTENITE: Contestant =
    peer("tungstenite", "tokio-tungstenite", rust("peer-tungstenite", "tokio-tungstenite"));

const ECHOING: &[Contestant] =
    &[FLOOR, TAYET, TAYET_INLINE, TUNGSTENITE, FASTWEBSOCKETS, NTEX, ACTIX, AXUM, GORILLA, NODE_CLUSTER];
// The processes of a Node cluster share no topics, so one process serves them.
const PUBLISHING: &[Contestant] =
    &[FLOOR, TAYET, TAYET_INLINE, TUNGSTENITE, FASTWEBSOCKETS, NTEX, ACTIX, AXUM, GORILLA, NODE];
/// The peers that have permessage-deflate.
const DEFLATING: &[Contestant] = &[TAYET, TAYET_INLINE, GORILLA, NODE];

pub(super) fn scenarios() -> Vec<Scenario> {
    vec![
        echo("websockets-echo-64", "WebSocket echo, 64 bytes, 64 sockets", 64),
        echo("websockets-echo-512", "WebSocket echo, 64 bytes, 512 sockets", 512),
        Scenario {
            name: "websockets-fanout",
            title: "128 bytes published to 10,000 WebSockets, again when all have them",
            family: Family::WebSockets,
            path: TOPIC,
            work: Work::WebSocketFanOut { sockets: 10_000 },
            entries: beside(PUBLISHING),
        },
        idle(
            "websockets-idle",
            "Idle WebSockets, pinged by servers that do so, then published to",
            TOPIC,
            Idle { sockets: 18_000, deflate: false },
            PUBLISHING,
        ),
        idle(
            "websockets-deflate",
            "Idle WebSockets that have exchanged 2,000 bytes with permessage-deflate",
            ECHO,
            // As many as a server with a window for each socket can hold in 2 GB.
            Idle { sockets: 5_000, deflate: true },
            DEFLATING,
        ),
        idle(
            MILLION,
            "A million idle WebSockets, pinged, then published to",
            TOPIC,
            Idle { sockets: 1_000_000, deflate: false },
            &[TAYET],
        ),
    ]
}

fn echo(name: &'static str, title: &'static str, sockets: u32) -> Scenario {
    let work = Work::WebSocketEcho { sockets };
    Scenario { name, title, family: Family::WebSockets, path: ECHO, work, entries: beside(ECHOING) }
}

fn idle(
    name: &'static str,
    title: &'static str,
    path: &'static str,
    idle: Idle,
    contestants: &[Contestant],
) -> Scenario {
    let work = Work::WebSocketIdle(idle);
    Scenario { name, title, family: Family::WebSockets, path, work, entries: alone(contestants) }
}
