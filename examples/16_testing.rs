//! Testing an application, without a socket and over one.
//!
//! The tests below run with `cargo test --example 16_testing`.
//!
//! ```console
//! $ cargo run --example 16_testing
//! $ curl http://127.0.0.1:8080/double/21
//! 42
//! ```

use tayet::{Path, Router, Server};

fn app() -> Router {
    Router::new().get("/double/{number}", |Path(number): Path<i32>| format!("{}\n", i64::from(number) * 2))
}

fn main() -> tayet::Result {
    let port = std::env::var("PORT").unwrap_or("8080".to_owned());
    println!("http://127.0.0.1:{port}/double/21");
    Server::new(app()).bind(format!("127.0.0.1:{port}"))?.run()
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpStream;

    use tayet::testing::TestClient;

    use super::*;

    #[test]
    fn numbers_are_doubled() {
        let client = TestClient::new(app());
        assert_eq!(client.get("/double/21").send().text(), "42\n");
        assert_eq!(client.get("/double/one").send().status(), 400);
    }

    #[test]
    fn the_server_answers() -> tayet::Result {
        let server = Server::new(app()).bind("127.0.0.1:0")?.start()?;
        let mut connection = TcpStream::connect(server.addresses()[0].to_string())?;
        connection.write_all(b"GET /double/2 HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n")?;
        let mut response = String::new();
        connection.read_to_string(&mut response)?;
        assert!(
            response.starts_with("HTTP/1.1 200 OK\r\n") && response.ends_with("\r\n\r\n4\n"),
            "{response}"
        );
        server.shutdown();
        server.join();
        Ok(())
    }
}
