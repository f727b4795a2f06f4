//! What uploads may cost.

/// What uploads may cost. Each field is one limit: its unit stands in its name, its default beside it; 0 is no limit unless
/// something else is said.
///
/// ```
/// use tayet_tus::UploadLimits;
///
/// let limits = UploadLimits { max_upload_bytes: 10 * 1024 * 1024 * 1024, ..UploadLimits::default() };
/// assert_eq!(limits.lifetime_seconds, 24 * 60 * 60);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UploadLimits {
    /// Bytes of one upload; past it the answer is 413. Default: no limit.
    pub max_upload_bytes: u64,
    /// Bytes of all uploads that the store knows of, finished ones too; past it the answer is 507. Default: no limit.
    pub max_stored_bytes: u64,
    /// Uploads of one client whose bodies come at the same time; past it the answer is 429. Default 1,024.
    pub max_client_uploads: usize,
    /// Rate of all uploads of one client, kept by not reading faster. Default: no limit.
    pub max_client_bytes_per_second: u64,
    /// Parts of a concatenated upload; past it the answer is 400. Default 1,000.
    pub max_parts: usize,
    /// Gaps and what is between them in an upload of ranges; past it the answer is 409. Default 4,096.
    pub max_ranges: usize,
    /// Files in a multipart form; past it the answer is 413. Default 1,000.
    pub max_form_files: usize,
    /// How long an unfinished upload, and each part of one, is kept when nothing comes. Default one day.
    pub lifetime_seconds: u64,
    /// How long a finished upload's name, and that of one that is gone, still means something. Default one day.
    pub record_lifetime_seconds: u64,
    /// How often it is looked for uploads that have expired; 0 for once at the start. Default 60 s.
    pub sweep_interval_seconds: u64,
    /// A request that writes to an upload is taken for dead when nothing came for so long and another wants to write.
    /// Default 1,000 ms.
    pub takeover_silence_ms: u64,
    /// How long a request that wants to write waits for one that is alive; past it the answer is 423. Default 3,000 ms.
    pub lock_wait_ms: u64,
}

impl Default for UploadLimits {
    fn default() -> Self {
        Self {
            max_upload_bytes: 0,
            max_stored_bytes: 0,
            max_client_uploads: 1_024,
            max_client_bytes_per_second: 0,
            max_parts: 1_000,
            max_ranges: 4_096,
            max_form_files: 1_000,
            lifetime_seconds: 24 * 60 * 60,
            record_lifetime_seconds: 24 * 60 * 60,
            sweep_interval_seconds: 60,
            takeover_silence_ms: 1_000,
            lock_wait_ms: 3_000,
        }
    }
}
