//! A web server in front of MongoDB.

use super::{Family, Scenario, Work, beside, kept_alive};
use crate::bench::contestant::{Contestant, Program, peer, rust};

pub(in crate::bench) const OFFICE_JSON: &str = "/office/json";
pub(in crate::bench) const OFFICES: &str = "/mongo/office/";
/// With the `_id` of the document.
const OFFICE: &str = "/mongo/office/665f1c2e9b3d4a0012340007";

const AXUM: Contestant = peer("axum-mongodb", "axum, mongodb", rust("peer-axum-mongodb", "mongodb"));
/// What blocking handlers cost there; asked for documents only.
const AXUM_BLOCKING: Contestant =
    peer("axum-mongodb-blocking", "axum, mongodb::sync", rust("peer-axum-mongodb-blocking", "mongodb"));
const GO: Contestant = peer("go-mongodb", "Go net/http, mongo-driver", Program::Go("mongo"));
const NODE: Contestant = peer("node-mongodb", "Node http, mongodb", Program::NodeMongo);

/// The program that stores the document; it does more than is measured, and takes no turn.
pub(in crate::bench) const KEEPER: Contestant = peer("tayet-offices", "Tayet", example("40_mongodb"));

/// As small as its peers, which have nothing but what is asked here and one way of asking.
pub(in crate::bench) const TAYET: Contestant =
    peer("tayet-mongodb", "Tayet, task pool", example("41_mongodb_document"));
pub(in crate::bench) const TAYET_RETURNED: Contestant =
    peer("tayet-returned", "Tayet, query returned", example("42_mongodb_later"));

const EVERYONE: &[Contestant] = &[TAYET, AXUM, GO, NODE];
/// Those who have a document fetched.
const QUERYING: &[Contestant] = &[TAYET, TAYET_RETURNED, AXUM, AXUM_BLOCKING, GO, NODE];

pub(super) fn scenarios() -> Vec<Scenario> {
    vec![
        scenario("mongo-hello-10", "Hello beside MongoDB, 10 connections", "/", 10),
        scenario("mongo-hello-150", "Hello beside MongoDB, 150 connections", "/", 150),
        scenario("mongo-json-10", "An office as JSON, 10 connections", OFFICE_JSON, 10),
        scenario("mongo-json-150", "An office as JSON, 150 connections", OFFICE_JSON, 150),
        scenario("mongo-office-10", "An office out of MongoDB, 10 connections", OFFICE, 10),
        scenario("mongo-office-150", "An office out of MongoDB, 150 connections", OFFICE, 150),
    ]
}

const fn example(name: &'static str) -> Program {
    Program::Example { package: "tayet-cli", name }
}

fn scenario(name: &'static str, title: &'static str, path: &'static str, connections: u32) -> Scenario {
    let work = Work::Load(kept_alive(connections));
    let contestants = if path == OFFICE { QUERYING } else { EVERYONE };
    Scenario { name, title, family: Family::Mongo, path, work, entries: beside(contestants) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_office_is_the_one_that_is_stored() {
        let document = include_str!("../../../../bench/peers/office.json");
        let id = OFFICE.strip_prefix(OFFICES).unwrap();
        assert!(document.contains(&format!("\"_id\": \"{id}\"")));
    }
}
