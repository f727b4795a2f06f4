//! Collections on a real server: the one of `TAYET_TEST_MONGODB_URI`, or a FerretDB that is started here.

mod collections;
mod ferretdb;
mod indexes;
mod json;
mod pages;
mod serving;
mod transactions;
