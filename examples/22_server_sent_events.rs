//! Streams of server-sent events: from an iterator that takes its time, and from a topic.
//!
//! A browser reads them with `new EventSource("/prices/tea")`, and comes back by itself when the connection breaks.
//!
//! ```console
//! $ cargo run --example 22_server_sent_events
//! $ curl -sN http://127.0.0.1:8080/countdown/2
//! data: 2
//!
//! data: 1
//!
//! event: end
//! data: lift-off
//! $ curl -s -X PUT -d 3.20 http://127.0.0.1:8080/prices/tea
//! 0 have been told
//! $ (sleep 2; curl -s -o /dev/null -X PUT -d 3.40 http://127.0.0.1:8080/prices/tea) & \
//!     curl -sN -m 4 http://127.0.0.1:8080/prices/tea
//! event: price
//! id: ...
//! data: 3.20
//!
//! event: price
//! id: ...
//! data: 3.40
//! ```

use std::iter;
use std::thread;
use std::time::Duration;

use tayet::{Event, Path, Publication, Router, Server, Sse, Topics};

/// The iterator may block: it holds a thread while it lasts, and nobody else waits.
fn countdown(Path(from): Path<u32>) -> Sse {
    let numbers = (1..=from).rev().map(|number| {
        thread::sleep(Duration::from_millis(100));
        Event::data(number.to_string())
    });
    Sse::from_iter(numbers.chain(iter::once(Event::data("lift-off").name("end"))))
}

/// A topic costs no thread, however many listen. Whoever comes gets the last price first, since it is retained.
fn prices(Path(good): Path<String>) -> Sse {
    Sse::topic(topic(&good))
}

fn set_price(topics: Topics, Path(good): Path<String>, price: String) -> tayet::Result<String> {
    let members = topics.publish(&topic(&good), Publication::new(price).event("price").retained())?;
    Ok(format!("{members} have been told\n"))
}

fn topic(good: &str) -> String {
    format!("prices/{good}")
}

fn main() -> tayet::Result {
    let port = std::env::var("PORT").unwrap_or("8080".to_owned());
    println!("http://127.0.0.1:{port}/countdown/10");
    let app = Router::new()
        .get("/countdown/{from}", countdown)
        .get("/prices/{good}", prices)
        .put("/prices/{good}", set_price);
    Server::new(app).bind(format!("127.0.0.1:{port}"))?.run()
}
