//! What is not there.

use tayet::{OrStatus, StatusCode};

/// Answers 404 for what was not found.
///
/// ```
/// use tayet_mongo::Or404;
///
/// let found: Option<&str> = None;
/// assert_eq!(found.or_404().unwrap_err().status(), 404);
/// ```
pub trait Or404<T> {
    /// What is there, or a 404.
    ///
    /// # Errors
    ///
    /// When there is nothing.
    fn or_404(self) -> tayet::Result<T>;
}

impl<T> Or404<T> for Option<T> {
    fn or_404(self) -> tayet::Result<T> {
        self.or_status(StatusCode::NOT_FOUND, "there is no such document")
    }
}
