//! The engine over real sockets: how it serves, in each execution model.

mod sample;

use std::io::{BufReader, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use sample::{connect, get, models, read_answer, start, start_with_loops, text};
use tayet_engine::{ExecutionModel, Limits};

#[test]
fn every_model_serves_every_kind_of_answer() {
    for model in models() {
        let (engine, address) = start(model, Limits::default());
        let mut client = BufReader::new(connect(address));
        for round in 0..3 {
            assert_eq!(text(&get(&mut client, "/")), "hello", "{model} round {round}");
            assert_eq!(text(&get(&mut client, "/sleep")), "slept", "{model} round {round}");
            assert_eq!(text(&get(&mut client, "/defer")), "deferred", "{model} round {round}");
            assert_eq!(get(&mut client, "/panic").status, 500, "{model} round {round}");
            assert!(text(&get(&mut client, "/chunks")).ends_with("line 999\n"), "{model} round {round}");
            assert_eq!(get(&mut client, "/large").body.len(), 4 << 20, "{model} round {round}");
        }
        engine.shutdown();
        engine.join();
        assert_eq!(engine.metrics().panics, 3, "{model}");
    }
}

#[test]
fn pipelined_requests_are_answered_in_order_whoever_runs_them() {
    for model in models() {
        let (engine, address) = start(model, Limits::default());
        let mut client = BufReader::new(connect(address));
        let mut requests = String::new();
        for n in 0..50 {
            requests.push_str(&format!("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\n{n:04}"));
            requests.push_str("GET /defer HTTP/1.1\r\nHost: x\r\n\r\nGET / HTTP/1.1\r\nHost: x\r\n\r\n");
            requests.push_str(&format!(
                "POST /upload HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n{n:x}\r\n{}\r\n0\r\n\r\n",
                "y".repeat(n)
            ).replace("\r\n\r\n0\r\n\r\n0\r\n\r\n", "\r\n\r\n0\r\n\r\n"));
        }
        client.get_mut().write_all(requests.as_bytes()).unwrap();
        for n in 0..50 {
            assert_eq!(text(&read_answer(&mut client)), format!("{n:04}"), "{model}");
            assert_eq!(text(&read_answer(&mut client)), "deferred", "{model}");
            assert_eq!(text(&read_answer(&mut client)), "hello", "{model}");
            assert_eq!(text(&read_answer(&mut client)), n.to_string(), "{model}");
        }
        engine.shutdown();
        engine.join();
    }
}

#[test]
fn what_a_call_takes_among_quick_ones_is_counted_to_its_route() {
    const SLEPT: Duration = Duration::from_millis(50);
    const ROUNDS: u32 = 4;
    let (engine, address) = start(ExecutionModel::Inline, Limits::default());
    let mut client = BufReader::new(connect(address));
    let quick = "GET / HTTP/1.1\r\nHost: x\r\n\r\n".repeat(6);
    let round = format!("{quick}GET /sleep HTTP/1.1\r\nHost: x\r\n\r\n");
    client.get_mut().write_all((round.repeat(ROUNDS as usize) + &quick).as_bytes()).unwrap();
    for n in 1..=7 * ROUNDS + 6 {
        assert_eq!(text(&read_answer(&mut client)), if n % 7 == 0 { "slept" } else { "hello" }, "{n}");
    }
    let metrics = engine.metrics();
    let sleep = metrics.routes.iter().find(|route| route.label == "/sleep").unwrap();
    assert!(sleep.duration.sum >= ROUNDS * SLEPT, "{:?}", sleep.duration);
    assert_eq!(sleep.duration.counts[0], 0, "none took less than it slept");
    engine.shutdown();
    engine.join();
}

#[test]
fn a_large_body_streams_with_backpressure_and_a_100_comes_when_it_is_wanted() {
    for model in models() {
        let (engine, address) = start(model, Limits { stream_buffer_bytes: 4_096, ..Limits::default() });
        let mut client = BufReader::new(connect(address));
        let length = 3 << 20;
        write!(
            client.get_mut(),
            "POST /upload HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: {length}\r\n\r\n"
        )
        .unwrap();
        assert_eq!(read_answer(&mut client).status, 100, "{model}");
        client.get_mut().write_all(&vec![b'z'; length]).unwrap();
        assert_eq!(text(&read_answer(&mut client)), length.to_string(), "{model}");
        assert_eq!(text(&get(&mut client, "/")), "hello", "{model}");
        engine.shutdown();
        engine.join();
    }
}

#[test]
fn a_blocked_handler_stalls_nobody_else() {
    let (engine, address) = start(ExecutionModel::default(), Limits::default());
    let sleepers = (0..8)
        .map(|_| {
            let mut client = BufReader::new(connect(address));
            write!(client.get_mut(), "GET /sleep HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
            client
        })
        .collect::<Vec<_>>();
    let mut client = BufReader::new(connect(address));
    for _ in 0..20 {
        assert_eq!(text(&get(&mut client, "/")), "hello");
    }
    for mut sleeper in sleepers {
        assert_eq!(text(&read_answer(&mut sleeper)), "slept");
    }
    assert!(engine.metrics().takeovers > 0);
    engine.shutdown();
    engine.join();
}

#[test]
fn no_byte_is_lost_or_doubled_however_often_loops_are_taken() {
    const CLIENTS: usize = 12;
    const ROUNDS: usize = 20;
    let (engine, address) = start(ExecutionModel::default(), Limits::default());
    let clients = (0..CLIENTS).map(|client| {
        std::thread::spawn(move || {
            let mut reader = BufReader::new(connect(address));
            for round in 0..ROUNDS {
                // Small ones that come together, and large ones whose answers do not go at once.
                let length = if (client + round) % 4 == 0 { 300_000 } else { 10 + round };
                let body = (0..length).map(|at| (at * 31 + client * 7 + round) as u8).collect::<Vec<_>>();
                let head = format!("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: {length}\r\n\r\n");
                let nap = "GET /nap HTTP/1.1\r\nHost: x\r\n\r\n";
                let mut writer = reader.get_ref().try_clone().unwrap();
                let sent = [head.as_bytes(), &body, nap.as_bytes(), head.as_bytes(), &body].concat();
                let sending = std::thread::spawn(move || writer.write_all(&sent).unwrap());
                assert!(read_answer(&mut reader).body == body, "client {client}, round {round}");
                assert_eq!(text(&read_answer(&mut reader)), "napped", "client {client}, round {round}");
                assert!(read_answer(&mut reader).body == body, "client {client}, round {round}, behind");
                sending.join().unwrap();
            }
        })
    });
    clients.collect::<Vec<_>>().into_iter().for_each(|client| client.join().unwrap());
    assert!(engine.metrics().takeovers >= (ROUNDS / 2) as u64, "{}", engine.metrics().takeovers);
    engine.shutdown();
    engine.join();
}

/// Chance alone would spread a thousand connections over eight loops less evenly than this.
#[test]
fn loops_have_about_the_same_number_of_connections() {
    const CONNECTIONS: usize = 1_000;
    let (engine, address) = start_with_loops(8, ExecutionModel::default(), Limits::default());
    let mut clients = (0..CONNECTIONS).map(|_| BufReader::new(connect(address))).collect::<Vec<_>>();
    for client in &mut clients {
        assert_eq!(text(&get(client, "/")), "hello");
    }
    let by_loop = engine.metrics().connections_by_loop;
    assert_eq!((by_loop.len(), by_loop.iter().sum::<u64>()), (8, CONNECTIONS as u64));
    let (fewest, most) = (by_loop.iter().min().unwrap(), by_loop.iter().max().unwrap());
    assert!((*most as f64) < 1.2 * *fewest as f64, "{by_loop:?}");
    engine.shutdown();
    engine.join();
}

#[test]
fn a_handler_past_its_time_out_is_answered_for() {
    for model in [ExecutionModel::default(), ExecutionModel::ThreadPool { threads: 2 }] {
        let (engine, address) = start(model, Limits::default());
        let mut client = BufReader::new(connect(address));
        let answer = get(&mut client, "/timeout");
        assert_eq!(answer.status, 503, "{model}");
        assert!(answer.head.to_ascii_lowercase().contains("connection: close"), "{model}: {}", answer.head);
        assert_eq!(client.read(&mut [0]).unwrap(), 0, "{model}");
        engine.shutdown();
        engine.join();
    }
}

#[test]
fn a_full_queue_answers_503_and_says_when_to_come_back() {
    let limits = Limits { queue_capacity: 1, ..Limits::default() };
    let (engine, address) = start(ExecutionModel::ThreadPool { threads: 1 }, limits);
    let mut clients = (0..12).map(|_| BufReader::new(connect(address))).collect::<Vec<_>>();
    for client in &mut clients {
        write!(client.get_mut(), "GET /sleep HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
    }
    let answers = clients.iter_mut().map(read_answer).collect::<Vec<_>>();
    let (served, refused): (Vec<_>, Vec<_>) = answers.iter().partition(|answer| answer.status == 200);
    assert!(!served.is_empty() && !refused.is_empty());
    for answer in refused {
        assert_eq!(answer.status, 503);
        assert!(answer.head.to_ascii_lowercase().contains("retry-after: 1\r\n"), "{}", answer.head);
    }
    for client in &mut clients {
        assert_eq!(text(&get(client, "/")), "hello");
    }
    engine.shutdown();
    engine.join();
}

#[test]
fn slow_clients_are_cut_while_others_are_served() {
    let limits = Limits {
        head_timeout_ms: 200,
        receive_rate_window_ms: 400,
        keep_alive_timeout_ms: 600,
        ..Limits::default()
    };
    let (engine, address) = start(ExecutionModel::default(), limits);
    let mut dripped_head = BufReader::new(connect(address));
    dripped_head.get_mut().write_all(b"GET / HTTP/1.1\r\nHo").unwrap();
    let mut dripped_body = BufReader::new(connect(address));
    dripped_body
        .get_mut()
        .write_all(b"POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 50\r\n\r\nabc")
        .unwrap();
    let mut client = BufReader::new(connect(address));
    assert_eq!(text(&get(&mut client, "/")), "hello");
    assert_eq!(read_answer(&mut dripped_head).status, 408);
    assert_eq!(read_answer(&mut dripped_body).status, 408);
    assert_eq!(client.read(&mut [0]).unwrap(), 0, "an idle connection is closed without a word");
    engine.shutdown();
    engine.join();
}

#[test]
fn shutdown_answers_what_is_under_way_and_closes_the_rest() {
    for model in models() {
        let (engine, address) = start(model, Limits::default());
        let mut busy = BufReader::new(connect(address));
        let mut idle = BufReader::new(connect(address));
        assert_eq!(text(&get(&mut idle, "/")), "hello");
        write!(busy.get_mut(), "GET /sleep HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
        std::thread::sleep(Duration::from_millis(20));
        engine.shutdown();
        assert_eq!(text(&read_answer(&mut busy)), "slept", "{model}");
        assert_eq!(busy.read(&mut [0]).unwrap(), 0, "{model}");
        assert_eq!(idle.read(&mut [0]).unwrap(), 0, "{model}");
        engine.join();
        assert!(TcpStream::connect(address).is_err(), "{model}");
    }
}

#[test]
fn shutdown_answers_what_had_been_sent_before() {
    for model in models() {
        let (engine, address) = start(model, Limits::default());
        let mut open = (0..20).map(|_| BufReader::new(connect(address))).collect::<Vec<_>>();
        for client in &mut open {
            assert_eq!(text(&get(client, "/")), "hello", "{model}");
        }
        let mut clients = (0..20).map(|_| BufReader::new(connect(address))).chain(open).collect::<Vec<_>>();
        for client in &mut clients {
            client.get_mut().write_all(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
        }
        engine.shutdown();
        for client in &mut clients {
            assert_eq!(text(&read_answer(client)), "hello", "{model}");
        }
        engine.join();
    }
}
