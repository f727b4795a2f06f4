//! What a bucket's use may cost.

/// Fewest bytes of a part that is not the last one, as S3 has it.
pub(crate) const MIN_PART_BYTES: u64 = 5 * 1024 * 1024;
/// Most bytes of a part, and of what is copied as one.
pub(crate) const MAX_PART_BYTES: u64 = 5 * 1024 * 1024 * 1024;
/// Most parts of an object.
pub(crate) const MAX_PARTS: usize = 10_000;

/// What a bucket's use may cost. Each field is one limit: its unit stands in its name, its default beside it.
///
/// ```
/// use tayet_tus_s3::S3Limits;
///
/// let limits = S3Limits { part_bytes: 64 * 1024 * 1024, ..S3Limits::default() };
/// assert_eq!(limits.max_attempts, 4);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct S3Limits {
    /// Bytes of a part, from 5 MiB to 5 GiB; each upload under way takes as many of the local disk. Default 8 MiB.
    ///
    /// An object has 10,000 parts at most. An upload that says at its creation that it needs more gets larger ones; one
    /// that does not say its length ends there, by default at 78 GiB, with a 507.
    pub part_bytes: u64,
    /// How often a request is tried that gets no answer, or one of the server's own fault; past it the client's answer is
    /// 503. Default 4.
    pub max_attempts: u32,
    /// How long is waited before the second attempt; twice as long before each further one. Default 200 ms.
    pub first_retry_delay_ms: u64,
    /// How long a connection may take to be there. Default 5,000 ms.
    pub connect_timeout_ms: u64,
    /// How long one attempt may take, beside the time for its bytes. Default 30,000 ms.
    pub answer_timeout_ms: u64,
    /// The rate at which bytes are expected to go and come at least: what an attempt may take for them. Default 256 KiB/s.
    pub min_transfer_bytes_per_second: u64,
    /// Connections that are kept for the next request. Default 32.
    pub max_idle_connections: usize,
}

impl Default for S3Limits {
    fn default() -> Self {
        Self {
            part_bytes: 8 * 1024 * 1024,
            max_attempts: 4,
            first_retry_delay_ms: 200,
            connect_timeout_ms: 5_000,
            answer_timeout_ms: 30_000,
            min_transfer_bytes_per_second: 256 * 1024,
            max_idle_connections: 32,
        }
    }
}

impl S3Limits {
    /// How large the parts of an upload are, so that there are not too many of them; `None` if no part is large enough.
    pub(crate) fn part_bytes_for(&self, length: Option<u64>) -> Option<u64> {
        let needed = length.unwrap_or(0).div_ceil(MAX_PARTS as u64);
        Some(self.part_bytes.max(needed)).filter(|bytes| *bytes <= MAX_PART_BYTES)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_grow_with_what_is_known_to_come() {
        let limits = S3Limits::default();
        assert_eq!(limits.part_bytes_for(None), Some(limits.part_bytes));
        assert_eq!(limits.part_bytes_for(Some(0)), Some(limits.part_bytes));
        let most = limits.part_bytes * MAX_PARTS as u64;
        assert_eq!(limits.part_bytes_for(Some(most)), Some(limits.part_bytes));
        assert_eq!(limits.part_bytes_for(Some(most + 1)), Some(limits.part_bytes + 1));
        let largest = MAX_PART_BYTES * MAX_PARTS as u64;
        assert_eq!(limits.part_bytes_for(Some(largest)), Some(MAX_PART_BYTES));
        assert_eq!(limits.part_bytes_for(Some(largest + 1)), None);
    }
}
