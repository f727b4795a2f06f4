//! Who an event is from, and when it was sent.

use std::fmt;

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use crate::UnixSeconds;
use crate::checksum::hexadecimal;

/// What stands in the field `Tayet-Signature` of a webhook's requests: `t=SECONDS,v1=DIGITS`.
///
/// `SECONDS` is when it was sent, since 1970. `DIGITS` are the 64 hexadecimal ones of the HMAC-SHA256, under the secret that
/// both sides know, of `SECONDS`, a full stop, and the body as it came. A receiver computes the same and refuses what is
/// another, or too old: who has overheard a request cannot send it again for long.
///
/// ```
/// use tayet_tus::{UnixSeconds, WebhookSignature};
///
/// let signature = WebhookSignature::new(b"two hundred warp threads");
/// let field = signature.sign(UnixSeconds(1_700_000_000), b"{}");
/// assert!(field.starts_with("t=1700000000,v1="));
///
/// let now = UnixSeconds(1_700_000_060);
/// assert!(signature.is_valid(&field, b"{}", now, 300));
/// assert!(!signature.is_valid(&field, b"{ }", now, 300));
/// assert!(!signature.is_valid(&field, b"{}", now, 30));
/// ```
#[derive(Clone)]
pub struct WebhookSignature {
    keyed: Hmac<Sha256>,
}

impl WebhookSignature {
    /// Signatures under this secret.
    pub fn new(secret: &[u8]) -> Self {
        Self { keyed: Hmac::new_from_slice(secret).expect("HMAC takes a key of any length") }
    }

    /// The field's value for this body, sent at this time.
    pub fn sign(&self, at: UnixSeconds, body: &[u8]) -> String {
        let code = self.code(&at.0.to_string(), body).finalize().into_bytes();
        format!("t={},v1={}", at.0, hexadecimal(&code))
    }

    /// Whether a field's value is right for this body, and at most `max_age_seconds` old.
    pub fn is_valid(&self, field: &str, body: &[u8], now: UnixSeconds, max_age_seconds: u64) -> bool {
        let parts = field.strip_prefix("t=").and_then(|rest| rest.split_once(",v1="));
        let Some((sent, digits)) = parts else { return false };
        let is_fresh = sent.parse::<u64>().is_ok_and(|sent| now.0.saturating_sub(sent) <= max_age_seconds);
        is_fresh && bytes_of(digits).is_some_and(|code| self.code(sent, body).verify_slice(&code).is_ok())
    }

    fn code(&self, sent: &str, body: &[u8]) -> Hmac<Sha256> {
        let mut code = self.keyed.clone();
        code.update(sent.as_bytes());
        code.update(b".");
        code.update(body);
        code
    }
}

fn bytes_of(digits: &str) -> Option<Vec<u8>> {
    let digit = |byte: u8| char::from(byte).to_digit(16);
    let pairs = digits.as_bytes().chunks(2);
    pairs.map(|pair| Some((digit(pair[0])? * 16 + digit(*pair.get(1)?)?) as u8)).collect()
}

impl fmt::Debug for WebhookSignature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WebhookSignature").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_hmac_sha256_of_time_and_body() {
        let signature = WebhookSignature::new(b"0123456789abcdef");
        // By Python's hmac module.
        let expected = "t=1700000000,v1=9eb18f493f8ec135d9eb2dad817c369bb4e9cbfa818657897a7437c1cd8c3a23";
        assert_eq!(signature.sign(UnixSeconds(1_700_000_000), b"{\"a\":1}"), expected);
    }

    #[test]
    fn what_is_no_signature_is_not_valid() {
        let signature = WebhookSignature::new(b"0123456789abcdef");
        let right = signature.sign(UnixSeconds(10), b"x");
        let other = WebhookSignature::new(b"another secret of mine").sign(UnixSeconds(10), b"x");
        let shorter = &right[..right.len() - 1];
        let later = right.replace("t=10", "t=11");
        for field in ["", "t=10", "t=10,v1=", "t=x,v1=00", "v1=00,t=10", &other, shorter, &later] {
            assert!(!signature.is_valid(field, b"x", UnixSeconds(10), 300), "{field}");
        }
        assert!(signature.is_valid(&right, b"x", UnixSeconds(310), 300));
        assert!(!signature.is_valid(&right, b"x", UnixSeconds(311), 300));
    }
}
