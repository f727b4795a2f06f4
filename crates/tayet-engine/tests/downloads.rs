//! Files over real sockets, to clients that take their time.

mod sample;

use std::io::{BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use sample::{FILE_BYTES, connect, file_content, get, models, read_answer, start, start_at, text};
use tayet_engine::{Address, ExecutionModel, Limits};

const SLOW_READERS: usize = 600;
const THREADS: usize = 16;

/// Over a Unix socket, where the kernel takes some 200 KiB for each client that reads nothing: over TCP it takes megabytes.
fn ask_at(path: &Path, target: &str) -> BufReader<UnixStream> {
    let mut stream = UnixStream::connect(path).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    write!(stream, "GET {target} HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
    BufReader::with_capacity(4_096, stream)
}

#[test]
fn many_slow_readers_leave_a_small_pool_free_for_others() {
    let content = file_content();
    for execution in [
        ExecutionModel::ThreadPool { threads: THREADS },
        ExecutionModel::TaskPool { max_threads: THREADS },
        ExecutionModel::Inline,
    ] {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("socket");
        let engine = start_at(Address::Unix(path.clone()), execution, Limits::default());
        let mut readers = (0..SLOW_READERS).map(|_| ask_at(&path, "/file")).collect::<Vec<_>>();
        // Each has its answer's beginning, and more than that is not read yet.
        for reader in &mut readers {
            let mut first = [0; 12];
            reader.read_exact(&mut first).unwrap();
            assert_eq!(&first, b"HTTP/1.1 200");
        }
        for _ in 0..3 {
            assert_eq!(text(&read_answer(&mut ask_at(&path, "/sleep"))), "slept", "{execution}");
        }
        assert!(
            engine.metrics().threads_busy < SLOW_READERS as u64 / 2,
            "{execution}: each slow reader occupies a thread"
        );
        for reader in &mut readers {
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n") {
                let mut byte = [0];
                reader.read_exact(&mut byte).unwrap();
                head.extend(byte);
            }
            let mut body = vec![0; content.len()];
            reader.read_exact(&mut body).unwrap();
            assert!(body == content, "{execution}");
        }
        for reader in readers.iter_mut().step_by(50) {
            assert_eq!(text(&get(reader, "/")), "hello", "{execution}");
        }
        engine.shutdown();
        engine.join();
    }
}

#[test]
fn files_arrive_as_they_are_and_the_connection_goes_on() {
    let content = file_content();
    let parts = [&content[100_000..900_000], b"between", &content[5..7]].concat();
    for execution in models() {
        let (engine, address) = start(execution, Limits::default());
        let mut client = BufReader::new(connect(address));
        for _ in 0..3 {
            assert!(get(&mut client, "/file").body == content, "{execution}");
            assert!(get(&mut client, "/parts").body == parts, "{execution}");
        }
        write!(client.get_mut(), "{}", "GET /file HTTP/1.1\r\nHost: x\r\n\r\n".repeat(20)).unwrap();
        for _ in 0..20 {
            assert!(read_answer(&mut client).body == content, "{execution}");
        }
        write!(client.get_mut(), "HEAD /file HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").unwrap();
        let mut head = String::new();
        client.read_to_string(&mut head).unwrap();
        assert!(head.to_ascii_lowercase().contains("content-length: 1048576\r\n"), "{head}");
        assert!(head.ends_with("\r\n\r\n"), "{execution}: HEAD has a body");
        engine.shutdown();
        engine.join();
    }
}

#[test]
fn a_client_that_takes_nothing_of_a_file_is_let_go() {
    for execution in models() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("socket");
        let limits = Limits { write_stall_timeout_ms: 200, ..Limits::default() };
        let engine = start_at(Address::Unix(path.clone()), execution, limits);
        let mut client = ask_at(&path, "/file");
        while engine.metrics().connections_timed_out == 0 {
            std::thread::sleep(Duration::from_millis(5));
        }
        let mut all = Vec::new();
        let end = client.read_to_end(&mut all);
        let has_begun = all.starts_with(b"HTTP/1.1 200") && all.len() < FILE_BYTES;
        assert!(has_begun, "{execution}: {} bytes, then {end:?}", all.len());
        engine.shutdown();
        engine.join();
    }
}
