//! Uploads by tus 1.0 onto the disk.

use super::{Family, Scenario, Work, beside};
use crate::bench::contestant::{Contestant, Program, peer};
use crate::bench::upload::{MIB, Protocol, Upload};

/// The same work as the peers do: they neither wait for the disk nor compute a digest.
pub(in crate::bench) const TAYET_UPLOADS: Contestant = Contestant {
    arguments: &["--fsync", "never", "--no-digests"],
    ..peer("tayet-uploads", "Tayet, no fsync, no digests", Program::Tayet)
};
const TAYET_UPLOADS_DEFAULT: Contestant =
    peer("tayet-uploads-default", "Tayet, fsync on completion, SHA-256", Program::Tayet);
const TUSD: Contestant = peer("tusd", "tusd", Program::Tusd);
const RUSTUS: Contestant = peer("rustus", "rustus", Program::Crate { package: "rustus", version: "0.5.10" });

const EVERYONE: &[Contestant] = &[TAYET_UPLOADS, TAYET_UPLOADS_DEFAULT, TUSD, RUSTUS];
/// rustus holds each request's body in memory: 32 of 100 MiB would be more than 3 GB.
const STREAMING: &[Contestant] = &[TAYET_UPLOADS, TAYET_UPLOADS_DEFAULT, TUSD];

const WHOLE_BYTES: u64 = 100 * MIB;
const CHUNK_BYTES: u64 = 8 * MIB;
/// The largest request, which rustus has to be told.
pub(in crate::bench) const MAX_REQUEST_BYTES: u64 = WHOLE_BYTES;

/// What is on the disk at a time is 2 GiB with one connection, and 3.2 GiB with 32.
pub(super) fn scenarios() -> Vec<Scenario> {
    vec![
        scenario("tus-whole-1", "100 MiB in one PATCH, 1 upload at a time", (1, 20), WHOLE_BYTES, EVERYONE),
        scenario("tus-whole-32", "100 MiB in one PATCH, 32 uploads at once", (32, 1), WHOLE_BYTES, STREAMING),
        scenario(
            "tus-chunks-1",
            "100 MiB in PATCHes of 8 MiB, 1 upload at a time",
            (1, 20),
            CHUNK_BYTES,
            EVERYONE,
        ),
        scenario(
            "tus-chunks-32",
            "100 MiB in PATCHes of 8 MiB, 32 uploads at once",
            (32, 1),
            CHUNK_BYTES,
            EVERYONE,
        ),
    ]
}

fn scenario(
    name: &'static str,
    title: &'static str,
    (connections, max_uploads): (u32, u32),
    chunk_bytes: u64,
    contestants: &[Contestant],
) -> Scenario {
    let protocol = Protocol::Tus { chunk_bytes };
    let work = Work::Upload(Upload { protocol, connections, bytes: WHOLE_BYTES, max_uploads });
    Scenario { name, title, family: Family::Tus, path: "/files/", work, entries: beside(contestants) }
}
