//! What each client has under way.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use tayet::Request;

use crate::token_bucket::TokenBucket;

/// What each client has under way. A client is an address; all that come by a Unix socket are one.
#[derive(Debug, Default)]
pub(crate) struct Clients {
    clients: Mutex<HashMap<Option<IpAddr>, Client>>,
}

#[derive(Debug)]
struct Client {
    uploads: usize,
    rate: Option<Arc<TokenBucket>>,
}

/// One upload of a client, as long as its body comes.
#[derive(Debug)]
pub(crate) struct ClientUpload<'c> {
    clients: &'c Clients,
    address: Option<IpAddr>,
    rate: Option<Arc<TokenBucket>>,
}

impl Clients {
    /// Counts one more upload of the client that asks, unless it has `max_uploads` (0 for no limit).
    pub(crate) fn enter(
        &self,
        request: &Request,
        max_uploads: usize,
        max_bytes_per_second: u64,
    ) -> Option<ClientUpload<'_>> {
        let address = request.remote_addr().ip().map(|address| address.ip());
        let mut clients = self.lock();
        let client = clients.entry(address).or_insert_with(|| Client {
            uploads: 0,
            rate: (max_bytes_per_second > 0)
                .then(|| Arc::new(TokenBucket::new(max_bytes_per_second, Instant::now()))),
        });
        if max_uploads > 0 && client.uploads >= max_uploads {
            return None;
        }
        client.uploads += 1;
        Some(ClientUpload { clients: self, address, rate: client.rate.clone() })
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Option<IpAddr>, Client>> {
        self.clients.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ClientUpload<'_> {
    /// Waits until the client may have sent so many bytes more.
    pub(crate) fn pace(&self, bytes: usize) {
        if let Some(rate) = &self.rate {
            let wait = rate.take(bytes, Instant::now());
            if !wait.is_zero() {
                std::thread::sleep(wait);
            }
        }
    }
}

impl Drop for ClientUpload<'_> {
    fn drop(&mut self) {
        let mut clients = self.clients.lock();
        if let Some(client) = clients.get_mut(&self.address) {
            client.uploads -= 1;
            if client.uploads == 0 {
                clients.remove(&self.address);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(address: &str) -> Request {
        Request::builder("POST", "/").remote_addr(address.parse().unwrap()).build().unwrap()
    }

    #[test]
    fn a_client_has_so_many_uploads_and_no_more() {
        let clients = Clients::default();
        let enter = |address, max| clients.enter(&request(address), max, 0);
        let first = enter("10.0.0.1:1", 2);
        let second = enter("10.0.0.1:2", 2);
        assert!(first.is_some() && second.is_some());
        assert!(enter("10.0.0.1:3", 2).is_none());
        assert!(enter("10.0.0.1:3", 0).is_some(), "0 is no limit");
        assert!(enter("10.0.0.2:1", 2).is_some(), "another client has its own");
        drop(first);
        assert!(enter("10.0.0.1:3", 2).is_some());
        drop(second);
        assert!(clients.lock().is_empty(), "who has nothing under way is not remembered");
    }
}
