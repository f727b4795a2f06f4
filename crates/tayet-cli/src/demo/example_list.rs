//! The numbered examples, as the page lists them.

use std::fmt::Write;

/// The name of each example and what it shows: the first line of its documentation.
const EXAMPLES: &[(&str, &str)] = &[
    ("01_hello", "A server with one page."),
    ("02_routes_and_parameters", "Paths with parameters, queries, and routers inside of routers."),
    ("03_json", "JSON in and out."),
    ("04_state", "State that all requests share: here a guest book behind a lock."),
    (
        "05_blocking_calls",
        "Handlers that sleep, wait for a database or compute, without keeping anybody else waiting.",
    ),
    ("06_errors", "Errors: question marks in handlers, statuses of one's own, and panics."),
    (
        "07_middleware",
        "What is done for many routes at once: a key that is asked for, names for requests, CORS.",
    ),
    ("08_forms_and_cookies", "A form that logs in, and a cookie that remembers it."),
    (
        "09_answer_later",
        "Requests that are answered later, by another thread: here the one that owns the loom.",
    ),
    ("10_stream_upload", "An upload that is read while it arrives, whatever its size."),
    ("11_stream_download", "A download that is written while it is sent, whatever its size."),
    (
        "12_limits_and_timeouts",
        "What a client may cost: sizes and times, for the whole server and for one route.",
    ),
    ("13_graceful_shutdown", "Stopping without losing a request."),
    (
        "14_metrics_and_health",
        "Figures for Prometheus, with one's own among them, and what a load balancer asks.",
    ),
    (
        "15_behind_a_proxy",
        "Behind a reverse proxy: who asks, for which host and by which scheme, and nobody can pretend.",
    ),
    ("16_testing", "Testing an application, without a socket and over one."),
    (
        "17_static_files",
        "Files: a directory, one of its parts with rules of its own, and a single file that a handler chooses.",
    ),
    ("18_websocket_echo", "A WebSocket that sends back what it gets, and a page to try it."),
    ("19_websocket_chat", "A chat: WebSockets in a topic, and an HTTP request that speaks to all of them."),
    ("20_forms_with_files", "A form with files, each written to disk while it arrives."),
    ("21_compression", "Answers that are compressed as the client prefers, and uploads that were."),
    (
        "22_server_sent_events",
        "Streams of server-sent events: from an iterator that takes its time, and from a topic.",
    ),
    (
        "40_mongodb",
        "Documents of MongoDB: a typed collection behind plain, blocking calls; pages by key, and each error with its status.",
    ),
    (
        "41_mongodb_document",
        "One document out of MongoDB, by a handler that waits for it, and no more than some at the same time.",
    ),
    (
        "42_mongodb_later",
        "A query that its handler returns: nobody waits for it, so that many of them take no thread.",
    ),
];

/// A list item for each example.
pub(crate) fn html() -> String {
    EXAMPLES.iter().fold(String::new(), |mut html, (name, shows)| {
        let _ = write!(html, "<li><p>{shows}</p><code>cargo run --example {name}</code></li>");
        html
    })
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;

    #[test]
    fn the_list_says_what_the_examples_say() {
        let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
        let files = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
        let mut examples: Vec<(String, String)> = files
            .filter(|path| path.extension().is_some_and(|extension| extension == "rs"))
            .map(|path| (path.file_stem().unwrap().to_str().unwrap().to_owned(), first_line(&path)))
            .collect();
        examples.sort();
        let listed: Vec<_> =
            EXAMPLES.iter().map(|(name, shows)| ((*name).to_owned(), (*shows).to_owned())).collect();
        assert_eq!(examples, listed);
    }

    fn first_line(path: &Path) -> String {
        let source = fs::read_to_string(path).unwrap();
        source.lines().next().unwrap().strip_prefix("//! ").unwrap().to_owned()
    }
}
