//! `tayet serve`: the files of a directory.

use std::io;

use tayet::{Compression, Config, Cors, Files, Method, Router, Server};

use crate::listening;
use crate::options::{ANY_ORIGIN, ServeOptions};

/// What pages of other origins may read beside what they always may: what ranges and conditions need.
const EXPOSED: [&str; 4] = ["accept-ranges", "content-encoding", "content-range", "etag"];

/// Serves files until it is told to end, and writes a line for every request.
pub(crate) fn run(options: &ServeOptions) -> tayet::Result {
    let config = options.server.config(Config::new().with("access_log", "common")?)?;
    let server = Server::new(router(options)?).config(&config)?;
    println!("serving {}", options.directory.display());
    listening::run(server, "Ctrl-C ends it")
}

fn router(options: &ServeOptions) -> tayet::Result<Router> {
    let mut router = Router::new().fallback(files(options)?);
    if options.compress {
        router = router.layer(Compression::new());
    }
    Ok(match cors(&options.cors) {
        Some(cors) => router.layer(cors),
        None => router,
    })
}

fn files(options: &ServeOptions) -> io::Result<Files> {
    let mut files = Files::open(&options.directory)?
        .cache_control("*", options.cache.clone())
        .precompressed(options.compress);
    if options.list {
        files = files.list_directories();
    }
    if let Some(file) = &options.spa {
        files = files.spa(file);
    }
    Ok(files)
}

/// None where nobody else is allowed.
fn cors(origins: &[String]) -> Option<Cors> {
    // Files stand behind no route that could tell its methods.
    let cors =
        Cors::new().allow_methods([Method::GET, Method::HEAD]).allow_any_header().expose_headers(EXPOSED);
    if origins.iter().any(|origin| origin == ANY_ORIGIN) {
        return Some(cors.allow_any_origin());
    }
    (!origins.is_empty()).then(|| origins.iter().fold(cors, |cors, origin| cors.allow_origin(origin)))
}
