//! Whose pages may open WebSockets.

use http::Uri;

/// Whose pages may open WebSockets (RFC 6455 section 10.2). A browser says in `Origin` whose page asks, and sends the user's
/// cookies along: without a check, any page could speak in the user's name. Clients that say no origin are no browsers, and
/// are let in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Origins {
    /// Those of the host that is asked.
    #[default]
    SameHost,
    /// Anybody's.
    Any,
    /// These: each a scheme, a host, and a port if it is not the scheme's own, such as `https://example.org`.
    List(Vec<String>),
}

impl Origins {
    /// A list of origins.
    pub fn list<O: Into<String>>(origins: impl IntoIterator<Item = O>) -> Self {
        Self::List(origins.into_iter().map(Into::into).collect())
    }

    pub(super) fn allow(&self, origin: Option<&str>, host: Option<&str>) -> bool {
        let Some(origin) = origin else { return true };
        match self {
            Self::Any => true,
            Self::SameHost => is_same_host(origin, host),
            Self::List(origins) => origins.iter().any(|listed| listed.eq_ignore_ascii_case(origin)),
        }
    }
}

/// Compares host and port; the scheme of the request is not known behind a proxy that ends TLS.
fn is_same_host(origin: &str, host: Option<&str>) -> bool {
    let (Ok(origin), Some(host)) = (origin.parse::<Uri>(), host) else { return false };
    let Some(authority) = origin.authority() else { return false };
    let own_port = if origin.scheme_str() == Some("https") { ":443" } else { ":80" };
    let origin = authority.as_str().trim_end_matches(own_port);
    let host = host.trim_end_matches(own_port);
    origin.eq_ignore_ascii_case(host)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_host_is_one_with_the_same_port() {
        let allow = |origin, host| Origins::SameHost.allow(Some(origin), Some(host));
        assert!(allow("https://Example.org", "example.org"));
        assert!(allow("http://example.org", "example.org:80"));
        assert!(allow("http://[::1]:8080", "[::1]:8080"));
        assert!(!allow("https://example.org:8443", "example.org"));
        assert!(!allow("https://evil.example", "example.org"));
        assert!(!allow("https://example.org.evil.example", "example.org"));
        assert!(!allow("null", "example.org"));
    }

    #[test]
    fn a_list_has_whole_origins() {
        let origins = Origins::list(["https://example.org"]);
        assert!(origins.allow(Some("https://example.org"), Some("other")));
        assert!(!origins.allow(Some("http://example.org"), Some("example.org")));
        assert!(!origins.allow(Some("https://example.org.evil"), None));
    }

    #[test]
    fn a_client_that_says_no_origin_is_let_in() {
        assert!(Origins::list(Vec::<String>::new()).allow(None, None));
        assert!(Origins::Any.allow(Some("null"), None));
    }
}
