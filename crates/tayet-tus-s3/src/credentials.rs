//! Who is asking.

use std::fmt;

/// Who is asking: a key and its secret, which are never shown.
#[derive(Clone)]
pub struct S3Credentials(rusty_s3::Credentials);

impl S3Credentials {
    /// Those of a user.
    pub fn new(access_key_id: impl Into<String>, secret_access_key: impl Into<String>) -> Self {
        Self(rusty_s3::Credentials::new(access_key_id, secret_access_key))
    }

    /// Those of a session, which end some time.
    pub fn with_session_token(
        access_key_id: impl Into<String>,
        secret_access_key: impl Into<String>,
        session_token: impl Into<String>,
    ) -> Self {
        Self(rusty_s3::Credentials::new_with_token(access_key_id, secret_access_key, session_token))
    }

    pub(crate) fn signing(&self) -> &rusty_s3::Credentials {
        &self.0
    }
}

impl fmt::Debug for S3Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("S3Credentials").finish_non_exhaustive()
    }
}
