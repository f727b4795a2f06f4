//! Collections on a real server: the one of `TAYET_TEST_MONGODB_URI`, or a FerretDB that is started here.

mod collections;
mod example;
mod ferretdb;
mod indexes;
mod json;
mod later;
#[path = "../../../../examples/40_mongodb/office.rs"]
mod office;
mod pages;
mod serving;
mod transactions;
#[path = "../../../tayet/tests/examples/transcript.rs"]
mod transcript;
