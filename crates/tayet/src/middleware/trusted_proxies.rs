//! Believing proxies, but only one's own.

use std::fmt;
use std::net::IpAddr;

use http::HeaderName;
use http::uri::Authority;
use ipnet::IpNet;
use tayet_engine::PeerAddress;

use super::forwarded::{Hop, parse_forwarded, parse_node};
use super::{Middleware, Next};
use crate::{Host, Request, Response, Scheme};

/// Takes from trusted proxies who asks them, for which host and how: [`RemoteAddr`](crate::RemoteAddr),
/// [`Host`] and [`Scheme`] are then the client's.
///
/// Every proxy adds at the end of a list who asked it. The list is read from its end: the first address that is not a trusted
/// proxy's is the client's, and what stands before it is anybody's word, and passed over. A request that does not come from a
/// trusted proxy is left as it is.
///
/// It is to stand outside of all layers that want to know: add it last.
///
/// ```
/// use tayet::{RemoteAddr, Router, TrustedProxies};
///
/// fn main() -> tayet::Result<()> {
///     let proxies = TrustedProxies::new(["10.0.0.0/8", "192.0.2.1"])?;
///     let app: Router = Router::new().get("/", |RemoteAddr(who): RemoteAddr| who.to_string()).layer(proxies);
///     # let _ = app;
///     Ok(())
/// }
/// ```
#[derive(Clone, Debug)]
pub struct TrustedProxies {
    networks: Vec<IpNet>,
    trusts_unix: bool,
    fields: ForwardedFields,
}

/// Which header fields the proxies write. Only these are read: a proxy that writes one kind hands on the other as the client
/// sent it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ForwardedFields {
    /// `X-Forwarded-For`, `X-Forwarded-Proto` and `X-Forwarded-Host`: what most proxies write. The proxy must set or remove
    /// all three.
    #[default]
    XForwarded,
    /// `Forwarded` (RFC 7239).
    Forwarded,
}

const FORWARDED: HeaderName = HeaderName::from_static("forwarded");
const X_FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
const X_FORWARDED_HOST: HeaderName = HeaderName::from_static("x-forwarded-host");
const X_FORWARDED_PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");

impl TrustedProxies {
    /// Trusts these networks (`10.0.0.0/8`, `2001:db8::/32`) and addresses.
    ///
    /// # Errors
    ///
    /// Names the first text that is neither.
    pub fn new<N: AsRef<str>>(networks: impl IntoIterator<Item = N>) -> Result<Self, InvalidNetwork> {
        let networks =
            networks.into_iter().map(|text| parse_network(text.as_ref())).collect::<Result<_, _>>()?;
        Ok(Self { networks, trusts_unix: false, fields: ForwardedFields::default() })
    }

    /// Trusts what comes over a Unix socket too: a proxy on this machine.
    #[must_use]
    pub fn trust_unix(mut self) -> Self {
        self.trusts_unix = true;
        self
    }

    /// Reads these fields. Default: [`ForwardedFields::XForwarded`].
    #[must_use]
    pub fn read(mut self, fields: ForwardedFields) -> Self {
        self.fields = fields;
        self
    }

    fn trusts(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        self.networks.iter().any(|network| network.contains(&address))
    }

    fn trusts_peer(&self, peer: PeerAddress) -> bool {
        match peer {
            PeerAddress::Ip(address) => self.trusts(address.ip()),
            PeerAddress::Unix => self.trusts_unix,
        }
    }

    /// What the outermost trusted proxy says: the last hop whose client is not a trusted proxy, or the first where all are.
    fn client_hop(&self, hops: Vec<Hop>) -> Option<Hop> {
        let mut nearest = None;
        for hop in hops.into_iter().rev() {
            let goes_on = hop.client.is_some_and(|client| self.trusts(client.ip()));
            nearest = Some(hop);
            if !goes_on {
                break;
            }
        }
        nearest
    }

    fn hops(&self, request: &Request) -> Vec<Hop> {
        match self.fields {
            ForwardedFields::Forwarded => parse_forwarded(&joined(request, &FORWARDED)).unwrap_or_default(),
            ForwardedFields::XForwarded => x_forwarded_hops(request),
        }
    }
}

impl Middleware for TrustedProxies {
    fn call(&self, request: &mut Request, next: Next<'_>) -> Response {
        if self.trusts_peer(request.remote_addr())
            && let Some(hop) = self.client_hop(self.hops(request))
        {
            if let Some(client) = hop.client {
                request.set_remote_addr(client);
            }
            if let Some(host) = hop.host.filter(|host| host.parse::<Authority>().is_ok()) {
                request.extensions_mut().insert(Host(host));
            }
            if let Some(scheme) = hop.scheme.as_deref().and_then(known_scheme) {
                request.extensions_mut().insert(Scheme(scheme));
            }
        }
        next.run(request)
    }
}

fn known_scheme(text: &str) -> Option<http::uri::Scheme> {
    let schemes = [http::uri::Scheme::HTTP, http::uri::Scheme::HTTPS];
    schemes.into_iter().find(|scheme| scheme.as_str().eq_ignore_ascii_case(text))
}

/// The three lists are read from their ends together; a list that is too short gives its first element.
fn x_forwarded_hops(request: &Request) -> Vec<Hop> {
    let [clients, hosts, schemes] = [&X_FORWARDED_FOR, &X_FORWARDED_HOST, &X_FORWARDED_PROTO].map(|name| {
        let list = joined(request, name);
        list.split(',')
            .map(|element| element.trim().to_owned())
            .filter(|element| !element.is_empty())
            .collect::<Vec<_>>()
    });
    let count = clients.len().max(1);
    let aligned = |list: &[String], at: usize| list.get((at + list.len()).saturating_sub(count)).cloned();
    let hop = |at| Hop {
        client: clients.get(at).and_then(|text: &String| parse_node(text)),
        host: aligned(&hosts, at),
        scheme: aligned(&schemes, at),
    };
    (0..count).map(hop).collect()
}

/// All fields of a name as one list (RFC 9110 section 5.2).
fn joined(request: &Request, name: &HeaderName) -> String {
    let values = request.headers().get_all(name).iter();
    values.filter_map(|value| value.to_str().ok()).collect::<Vec<_>>().join(",")
}

fn parse_network(text: &str) -> Result<IpNet, InvalidNetwork> {
    let text = text.trim();
    let network = text.parse::<IpNet>().or_else(|_| text.parse::<IpAddr>().map(IpNet::from));
    network.map_err(|_| InvalidNetwork(text.to_owned()))
}

/// A text that is neither a network nor an address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidNetwork(String);

impl fmt::Display for InvalidNetwork {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "'{}' is neither an address nor a network such as 10.0.0.0/8", self.0)
    }
}

impl std::error::Error for InvalidNetwork {}
