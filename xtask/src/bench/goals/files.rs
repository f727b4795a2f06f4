//! What is asked of files and compression.

use super::Demand::AtMost;
use super::{Goal, Measured, goal};
use crate::bench::contestant::{NGINX, TAYET};
use crate::bench::figure::Figure;
use crate::bench::report::Row;
use crate::bench::scenario::files::{NGINX_FILE_CACHE, TAYET_GZIP_1};

const FILES: [(&str, &str); 4] = [
    ("static-1k-64", "files of 1 KiB, 64 connections"),
    ("static-1k-512", "files of 1 KiB, 512 connections"),
    ("static-1m-64", "files of 1 MiB, 64 connections"),
    ("static-1m-512", "files of 1 MiB, 512 connections"),
];

pub(super) fn goals(measured: Measured<'_>) -> Vec<Goal> {
    let is_nginx = |row: &Row| [NGINX, NGINX_FILE_CACHE].iter().any(|nginx| row.key == nginx.key);
    let mut goals: Vec<_> = FILES
        .iter()
        .map(|(scenario, what)| {
            goal(
                &format!("{what}: CPU a request over nginx, with or without open_file_cache"),
                measured.over_rows(scenario, TAYET, Figure::CpuUsPerRequest, f64::max, is_nginx),
                (2, AtMost(1.0), None),
            )
        })
        .collect();
    goals.push(goal(
        "compressed JSON: CPU a request over actix-web, both with gzip level 1",
        measured.over_peers("compressed-json", TAYET_GZIP_1, Figure::CpuUsPerRequest, f64::max),
        (2, AtMost(1.0), None),
    ));
    goals
}
