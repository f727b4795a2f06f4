//! Servers of WSGI applications, with one worker process and with two.

use super::http::SLEEPER;
use super::{Family, Scenario, Work, beside, kept_alive};
use crate::bench::contestant::{Contestant, FLOOR, Program, peer};
use crate::bench::wrk::{Load, Shape};
use crate::bench::wsgi::{Application, Wsgi};

pub(in crate::bench) const TAYET_WSGI: Contestant = server("tayet-wsgi", "Tayet", "tayet", "tayet");
const TAYET_THREADS: Contestant =
    server("tayet-wsgi-threads", "Tayet, fixed threads", "tayet", "tayet-threads");
const GUNICORN_SYNC: Contestant = server("gunicorn-sync", "gunicorn, sync", "gunicorn", "gunicorn-sync");
const GUNICORN_GTHREAD: Contestant =
    server("gunicorn-gthread", "gunicorn, gthread", "gunicorn", "gunicorn-gthread");
const GRANIAN: Contestant = server("granian", "granian", "granian", "granian");
const WAITRESS: Contestant = server("waitress", "waitress", "waitress", "waitress");
const UWSGI: Contestant = server("uwsgi", "uWSGI, http router", "uWSGI", "uwsgi");
const BJOERN: Contestant = server("bjoern", "bjoern", "bjoern", "bjoern");
const FASTWSGI: Contestant = server("fastwsgi", "fastwsgi", "fastwsgi", "fastwsgi");
const FASTPYSGI: Contestant = server("fastpysgi", "fastpysgi", "fastpysgi", "fastpysgi");

/// Those that run the application on several threads of a process.
pub(in crate::bench) const MULTI_THREADED: &[Contestant] = &[GUNICORN_GTHREAD, GRANIAN, WAITRESS, UWSGI];

const SERVERS: &[Contestant] = &[
    TAYET_WSGI,
    TAYET_THREADS,
    GUNICORN_SYNC,
    GUNICORN_GTHREAD,
    GRANIAN,
    WAITRESS,
    UWSGI,
    BJOERN,
    FASTWSGI,
    FASTPYSGI,
];

/// Threads of a worker, where their number is fixed.
const THREADS: u32 = 4;
/// The same for an application that waits: one for each connection.
const WAITING_THREADS: u32 = 100;
const ECHO_BYTES: u32 = 100_000;

pub(super) fn scenarios() -> Vec<Scenario> {
    [1, 2].into_iter().flat_map(of_workers).collect()
}

fn of_workers(workers: u32) -> Vec<Scenario> {
    let plain = |load| Wsgi { load, application: Application::Plain, workers, threads: THREADS };
    let flask = Wsgi { application: Application::Flask, ..plain(kept_alive(64)) };
    let waiting = Wsgi { threads: WAITING_THREADS, ..plain(kept_alive(100)) };
    let echo = plain(Load { shape: Shape::Posting(ECHO_BYTES), ..kept_alive(64) });
    let named = |one, two| if workers == 1 { one } else { two };
    let with = |floor: Option<Contestant>| {
        floor.iter().chain(SERVERS).copied().filter(|who| takes_part(who, workers)).collect::<Vec<_>>()
    };
    let scenario = |(name, title), path, wsgi, floor| {
        let entries = beside(&with(floor));
        Scenario { name, title, family: Family::Wsgi, path, work: Work::Wsgi(wsgi), entries }
    };
    vec![
        scenario(
            named(
                ("wsgi-hello-1", "Hello, 64 connections, 1 worker"),
                ("wsgi-hello-2", "Hello, 64 connections, 2 workers"),
            ),
            "/",
            plain(kept_alive(64)),
            Some(FLOOR),
        ),
        scenario(
            named(
                ("wsgi-10k-1", "10 KB, 64 connections, 1 worker"),
                ("wsgi-10k-2", "10 KB, 64 connections, 2 workers"),
            ),
            "/10k",
            plain(kept_alive(64)),
            None,
        ),
        scenario(
            named(
                ("wsgi-flask-1", "Flask, hello, 64 connections, 1 worker"),
                ("wsgi-flask-2", "Flask, hello, 64 connections, 2 workers"),
            ),
            "/",
            flask,
            Some(FLOOR),
        ),
        scenario(
            named(
                ("wsgi-echo-1", "100 KB there and back, 64 connections, 1 worker"),
                ("wsgi-echo-2", "100 KB there and back, 64 connections, 2 workers"),
            ),
            "/echo",
            echo,
            None,
        ),
        scenario(
            named(
                ("wsgi-sleep-1", "10 ms sleep, 100 connections, 1 worker"),
                ("wsgi-sleep-2", "10 ms sleep, 100 connections, 2 workers"),
            ),
            "/sleep/10",
            waiting,
            Some(SLEEPER),
        ),
        scenario(
            named(
                ("wsgi-stream-1", "1 MB in pieces of 4 KB, 64 connections, 1 worker"),
                ("wsgi-stream-2", "1 MB in pieces of 4 KB, 64 connections, 2 workers"),
            ),
            "/stream",
            plain(kept_alive(64)),
            None,
        ),
    ]
}

/// waitress has no workers.
fn takes_part(contestant: &Contestant, workers: u32) -> bool {
    workers == 1 || *contestant != WAITRESS
}

const fn server(
    key: &'static str,
    title: &'static str,
    package: &'static str,
    server: &'static str,
) -> Contestant {
    peer(key, title, Program::Wsgi { package, server })
}
