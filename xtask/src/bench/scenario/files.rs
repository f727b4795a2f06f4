//! Files, and answers that are compressed.

use super::{Family, Scenario, Work, beside, kept_alive};
use crate::bench::contestant::{ACTIX, Contestant, FLOOR, NGINX, Program, TAYET, peer, tayet};
use crate::bench::wrk::Load;

pub(in crate::bench) const TAYET_GZIP_1: Contestant =
    tayet("tayet-gzip-1", "Tayet, gzip level 1", &["--execution", "task-pool", "--gzip-level", "1"]);
pub(in crate::bench) const NGINX_FILE_CACHE: Contestant =
    peer("nginx-file-cache", "nginx, open_file_cache", Program::Nginx { caches_files: true });
/// Its level is 1 and cannot be chosen.
const ACTIX_GZIP: Contestant = Contestant { title: "actix-web, gzip level 1", key: "actix-gzip-1", ..ACTIX };
const TAYET_GZIP: Contestant = Contestant { title: "Tayet, gzip level 5", key: "tayet-gzip-5", ..TAYET };
const SENDFILE_FLOOR: Contestant =
    peer("sendfile-floor", "bare epoll loop with sendfile", Program::Floor("floor-sendfile"));
const STATIC_WEB_SERVER: Contestant = peer(
    "static-web-server",
    "static-web-server",
    Program::Crate { package: "static-web-server", version: "2.44.1" },
);

/// For files that a server may well keep in memory.
const SMALL: &[Contestant] = &[FLOOR, TAYET, NGINX, NGINX_FILE_CACHE, STATIC_WEB_SERVER];
const LARGE: &[Contestant] = &[SENDFILE_FLOOR, TAYET, NGINX, NGINX_FILE_CACHE, STATIC_WEB_SERVER];

pub(super) fn scenarios() -> Vec<Scenario> {
    vec![
        file("static-1k-64", "Files of 1 KiB, 64 connections", "/static/1k.bin", 64, SMALL),
        file("static-1k-512", "Files of 1 KiB, 512 connections", "/static/1k.bin", 512, SMALL),
        file("static-16k-64", "Files of 16 KiB, 64 connections", "/static/16k.bin", 64, SMALL),
        file("static-16k-512", "Files of 16 KiB, 512 connections", "/static/16k.bin", 512, SMALL),
        file("static-1m-64", "Files of 1 MiB, 64 connections", "/static/1m.bin", 64, LARGE),
        file("static-1m-512", "Files of 1 MiB, 512 connections", "/static/1m.bin", 512, LARGE),
        Scenario {
            name: "compressed-json",
            title: "JSON, 50 items, compressed with gzip, 64 connections",
            family: Family::Files,
            path: "/json-comp/50?m=3",
            work: Work::Load(Load { header: Some("Accept-Encoding: gzip"), ..kept_alive(64) }),
            entries: beside(&[ACTIX_GZIP, TAYET_GZIP_1, TAYET_GZIP]),
        },
    ]
}

fn file(
    name: &'static str,
    title: &'static str,
    path: &'static str,
    connections: u32,
    contestants: &[Contestant],
) -> Scenario {
    let work = Work::Load(kept_alive(connections));
    Scenario { name, title, family: Family::Files, path, work, entries: beside(contestants) }
}
