//! The floor for handlers that sleep: a thread for each connection that sleeps and writes a constant, nothing else.

use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::{env, thread, time::Duration};

const USAGE: &str = "usage: floor-sleeper ADDRESS SLEEP_MS";
const STACK_BYTES: usize = 64 * 1024;
const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n\
    Date: Sat, 21 Nov 2026 12:00:00 GMT\r\n\r\nok";

fn main() -> io::Result<()> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [address, sleep_ms] = arguments.as_slice() else { panic!("{USAGE}") };
    let sleep = Duration::from_millis(sleep_ms.parse().expect(USAGE));
    for connection in TcpListener::bind(address)?.incoming() {
        let connection = connection?;
        // A client that has gone ends its thread; there is nobody to tell.
        thread::Builder::new().stack_size(STACK_BYTES).spawn(move || drop(serve(connection, sleep)))?;
    }
    Ok(())
}

fn serve(mut connection: TcpStream, sleep: Duration) -> io::Result<()> {
    let mut request = [0; 1024];
    while connection.read(&mut request)? > 0 {
        thread::sleep(sleep);
        connection.write_all(ANSWER)?;
    }
    Ok(())
}
