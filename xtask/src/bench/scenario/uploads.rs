//! Bodies that a handler counts and drops.

use super::turns::TAYET_IO_URING;
use super::{Family, Scenario, Work, beside};
use crate::bench::contestant::{ACTIX, Contestant, GO, Program, TAYET, peer};
use crate::bench::upload::{MIB, Protocol, Upload};

const FLOOR: Contestant = peer("sink-floor", "bare epoll loop", Program::Floor("floor-sink"));
/// What the floor is told.
pub(in crate::bench) const BODY_BYTES: u64 = 20 * MIB;
const RECEIVING: &[Contestant] = &[FLOOR, TAYET, TAYET_IO_URING, ACTIX, GO];

pub(super) fn scenarios() -> Vec<Scenario> {
    vec![
        scenario("upload-32", "Bodies of 20 MiB, 32 connections", 32),
        scenario("upload-256", "Bodies of 20 MiB, 256 connections", 256),
    ]
}

fn scenario(name: &'static str, title: &'static str, connections: u32) -> Scenario {
    let upload = Upload { protocol: Protocol::Plain, connections, bytes: BODY_BYTES, max_uploads: u32::MAX };
    let work = Work::Upload(upload);
    Scenario { name, title, family: Family::Uploads, path: "/upload", work, entries: beside(RECEIVING) }
}
