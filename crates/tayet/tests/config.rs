//! Settings from text.

use tayet::{Config, Router, Server};

fn error(config: Result<Config, tayet::ConfigError>) -> String {
    config.expect_err("an error").to_string()
}

fn variables(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

/// What a server makes of a configuration, as its `Debug` text has it.
fn served(config: Config) -> String {
    let server = Server::new(Router::new()).bind("127.0.0.1:1").unwrap().loops(3).config(&config).unwrap();
    format!("{server:?}")
}

#[test]
fn what_is_not_set_stays_as_the_builder_has_it() {
    let text = served(Config::new());
    for part in
        ["127.0.0.1:1", "loops: 3", "max_threads: 512", "head_timeout_ms: 10000", "proxy_protocol: false"]
    {
        assert!(text.contains(part), "{part} is not in {text}");
    }
}

#[test]
fn every_setting_is_read_from_a_file() {
    let config = Config::new()
        .with_toml(
            r#"
            listen = ["127.0.0.1:81", "unix:/tmp/x.sock"]
            execution = "thread-pool:7"
            io = "io_uring"
            loops = 2
            proxy_protocol = true
            trusted_proxies = ["10.0.0.0/8", "unix"]
            forwarded_fields = "forwarded"
            access_log = "json"
            access_log_queue_entries = 10
            head_timeout_ms = 5
            max_connections = 100
            "#,
        )
        .unwrap();
    let text = served(config);
    for part in [
        "127.0.0.1:81",
        "/tmp/x.sock",
        "ThreadPool { threads: 7 }",
        "io: IoUring",
        "loops: 2",
        "proxy_protocol: true",
        "head_timeout_ms: 5",
        "max_connections: 100",
        "max_headers: 100",
    ] {
        assert!(text.contains(part), "{part} is not in {text}");
    }
    assert!(!text.contains("127.0.0.1:1)"), "{text}");
}

#[test]
fn later_settings_prevail() {
    let config = Config::new()
        .with_toml("loops = 4\nhead_timeout_ms = 1\nkeep_alive_timeout_ms = 2")
        .unwrap()
        .with_variables(variables(&[
            ("TAYET_LOOPS", "5"),
            ("TAYET_HEAD_TIMEOUT_MS", "6"),
            ("TAYET_LISTEN", "127.0.0.1:7, [::1]:8"),
            ("PATH", "/bin"),
        ]))
        .unwrap()
        .with("loops", "9")
        .unwrap();
    let text = served(config);
    for part in ["loops: 9", "head_timeout_ms: 6", "keep_alive_timeout_ms: 2", "127.0.0.1:7", "[::1]:8"] {
        assert!(text.contains(part), "{part} is not in {text}");
    }
}

#[test]
fn a_wrong_name_is_an_error_with_the_nearest_one() {
    for (toml, expected) in [
        ("max_body_byte = 1", "`max_body_byte` is no setting; the nearest one is `max_body_bytes`"),
        ("Listen = 'x'", "`Listen` is no setting; the nearest one is `listen`"),
        ("acess_log = 'json'", "`acess_log` is no setting; the nearest one is `access_log`"),
        ("[limits]\nmax_headers = 1", "`limits` is no setting; the nearest one is `listen`"),
    ] {
        assert_eq!(error(Config::new().with_toml(toml)), expected);
    }
    assert_eq!(
        error(Config::new().with_variables(variables(&[("TAYET_LOOP", "1")]))),
        "`TAYET_LOOP` is no setting; the nearest one is `TAYET_LOOPS`"
    );
    let strange =
        variables(&[("TAYET_PORT_80_TCP", "tcp://10.0.0.1:80"), ("TAYET_CONFIG", "x"), ("TAYET_LOG", "x")]);
    Config::new().with_variables(strange).expect("what may be somebody else's is passed over");
}

#[test]
fn a_wrong_value_is_an_error_that_names_it() {
    for (toml, expected) in [
        ("listen = '8080'", "`listen`: '8080' is no address"),
        ("listen = [1]", "`listen`: it must be text, not 1"),
        ("io = 'kqueue'", "`io`: 'kqueue' is no way to drive sockets"),
        ("execution = 'fibers'", "`execution`: 'fibers' is no execution model"),
        ("loops = 0", "`loops`: it must be an integer from 1 upwards, not 0"),
        ("loops = 'two'", "`loops`: it must be an integer from 1 upwards, not \"two\""),
        ("proxy_protocol = 1", "`proxy_protocol`: it must be true or false, not 1"),
        ("trusted_proxies = ['10.0.0.0/33']", "`trusted_proxies`: '10.0.0.0/33' is neither"),
        ("forwarded_fields = 'x'", "`forwarded_fields`: it must be x-forwarded or forwarded"),
        ("access_log = 'apache'", "`access_log`: 'apache' is no format"),
        ("max_headers = -1", "`max_headers`: it must be an integer from 0 upwards, not -1"),
        ("max_headers = '1'", "`max_headers`: it must be an integer"),
        ("retry_after_seconds = 4294967296", "`retry_after_seconds`: invalid value"),
        ("max_headers = ", "not TOML"),
    ] {
        let error = error(Config::new().with_toml(toml));
        assert!(error.contains(expected), "{error}");
    }
    assert!(
        error(Config::new().with_variables(variables(&[("TAYET_LOOPS", "many")])))
            .starts_with("`TAYET_LOOPS`: ")
    );
}

#[test]
fn limits_that_contradict_each_other_are_refused_when_they_are_applied() {
    let config = Config::new().with("max_request_line_bytes", "65536").unwrap();
    let error = Server::new(Router::new()).config(&config).unwrap_err().to_string();
    assert_eq!(error, "`max_request_line_bytes`: must be at most max_head_bytes");
}

#[test]
fn an_access_log_has_a_file_only_in_a_format() {
    let config = || Config::new().with("access_log_file", "/dev/null").unwrap();
    let error = Server::new(Router::new()).config(&config()).unwrap_err().to_string();
    assert_eq!(error, "`access_log_file`: `access_log` does not say in which format");
    for format in ["off", "common"] {
        served(config().with("access_log", format).unwrap());
    }
}

#[test]
fn files_are_named_in_their_errors() {
    let missing = error(Config::new().with_file("/nonexistent/tayet.toml"));
    assert!(missing.starts_with("/nonexistent/tayet.toml: cannot be read: "), "{missing}");
    let path = std::env::temp_dir().join(format!("tayet-config-{}.toml", std::process::id()));
    std::fs::write(&path, "loop = 1").unwrap();
    let unknown = error(Config::new().with_file(&path));
    std::fs::remove_file(&path).unwrap();
    assert_eq!(unknown, format!("{}: `loop` is no setting; the nearest one is `loops`", path.display()));
    let config = Config::new()
        .with("access_log", "json")
        .unwrap()
        .with("access_log_file", "/nonexistent/log")
        .unwrap();
    let unwritable = Server::new(Router::new()).config(&config).unwrap_err().to_string();
    assert!(unwritable.contains("cannot open the access log /nonexistent/log"), "{unwritable}");
}
