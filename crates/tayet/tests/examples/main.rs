//! Every numbered example answers what its own documentation says.

mod transcript;

use std::fs;

macro_rules! examples {
    ($($test:ident: $name:literal)*) => {
        const TESTED: &[&str] = &[$($name),*];
        $(
            #[test]
            fn $test() {
                transcript::check($name, &[]);
            }
        )*
    };
}

examples! {
    hello: "01_hello"
    routes_and_parameters: "02_routes_and_parameters"
    json: "03_json"
    state: "04_state"
    blocking_calls: "05_blocking_calls"
    errors: "06_errors"
    middleware: "07_middleware"
    forms_and_cookies: "08_forms_and_cookies"
    answer_later: "09_answer_later"
    stream_upload: "10_stream_upload"
    stream_download: "11_stream_download"
    limits_and_timeouts: "12_limits_and_timeouts"
    graceful_shutdown: "13_graceful_shutdown"
    metrics_and_health: "14_metrics_and_health"
    behind_a_proxy: "15_behind_a_proxy"
    testing: "16_testing"
    static_files: "17_static_files"
    websocket_echo: "18_websocket_echo"
    websocket_chat: "19_websocket_chat"
    forms_with_files: "20_forms_with_files"
    compression: "21_compression"
    server_sent_events: "22_server_sent_events"
}

/// What stands on more than this crate is tested by the crate that has it.
const TESTED_ELSEWHERE: &[&str] = &["40_mongodb", "41_mongodb_document", "42_mongodb_later"];

#[test]
fn no_example_is_forgotten() {
    let files = fs::read_dir(transcript::sources()).unwrap().map(|entry| entry.unwrap().path());
    let mut names: Vec<String> = files
        .filter(|path| path.extension().is_some_and(|extension| extension == "rs"))
        .map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned())
        .collect();
    names.sort();
    assert_eq!(names, [TESTED, TESTED_ELSEWHERE].concat());
}
