//! What a form may cost.

/// What a form of `multipart/form-data` may cost. Each field is one limit; past it the answer is 413.
///
/// The whole of it is limited by [`Limits::max_stream_bytes`](crate::Limits::max_stream_bytes), as every stream.
///
/// ```
/// use tayet::MultipartLimits;
///
/// let limits = MultipartLimits { max_files: 1, max_file_bytes: 5 << 20, ..MultipartLimits::default() };
/// assert_eq!(limits.max_fields, 256);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MultipartLimits {
    /// Fields: parts that are no files. Default 256.
    pub max_fields: usize,
    /// Files: parts with a file name, be it empty. Default 64.
    pub max_files: usize,
    /// Bytes of one field, and of anything that is taken into memory whole. Default 256 KiB.
    pub max_field_bytes: usize,
    /// Bytes of one file. Default 1 GiB; [`u64::MAX`] for as many as the disk holds.
    pub max_file_bytes: u64,
    /// Bytes of the header of one part, with the rest of the boundary's line before it. Default 8 KiB.
    pub max_part_header_bytes: usize,
    /// Bytes before the first part, and as many behind the last, which have no meaning. Default 1 KiB.
    pub max_preamble_bytes: usize,
}

impl Default for MultipartLimits {
    fn default() -> Self {
        Self {
            max_fields: 256,
            max_files: 64,
            max_field_bytes: 256 * 1024,
            max_file_bytes: 1024 * 1024 * 1024,
            max_part_header_bytes: 8 * 1024,
            max_preamble_bytes: 1024,
        }
    }
}
