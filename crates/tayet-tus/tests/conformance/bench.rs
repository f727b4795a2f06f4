//! An application to ask, and the requests that most tests begin with.

use std::path::{Path, PathBuf};

use tayet::testing::{TestClient, TestRequest, TestResponse};
use tayet::{Method, Router};
use tayet_tus::{UploadLimits, Uploads};

pub(crate) const OFFSET_STREAM: &str = "application/offset+octet-stream";

/// An application with uploads below `/files`, and its directory.
pub(crate) struct Bench {
    directory: tempfile::TempDir,
    client: TestClient,
}

impl Bench {
    pub(crate) fn new() -> Self {
        Self::with(UploadLimits::default())
    }

    pub(crate) fn with(limits: UploadLimits) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let uploads = Uploads::new(directory.path()).unwrap().limits(limits);
        let client = TestClient::new(Router::new().nest("/files", uploads));
        Self { directory, client }
    }

    /// A request with nothing but its line.
    pub(crate) fn bare(&self, method: &str, target: &str) -> TestRequest<'_> {
        self.client.request(method.parse().unwrap(), target)
    }

    /// A request of a client of tus 1.0.0.
    pub(crate) fn tus(&self, method: Method, target: &str) -> TestRequest<'_> {
        self.client.request(method, target).header("Tus-Resumable", "1.0.0")
    }

    /// Creates an upload, and says where it is.
    pub(crate) fn create(&self, fields: &[(&str, &str)]) -> String {
        let request = self.tus(Method::POST, "/files");
        let created =
            fields.iter().fold(request, |request, (name, value)| request.header(name, value)).send();
        assert_eq!(created.status(), 201, "{}", created.text());
        created.header("location").expect("a location").to_owned()
    }

    pub(crate) fn append(&self, location: &str, offset: u64, body: &'static [u8]) -> TestResponse {
        self.appending(location, offset).body(body).send()
    }

    pub(crate) fn appending(&self, location: &str, offset: u64) -> TestRequest<'_> {
        self.tus(Method::PATCH, location)
            .header("Upload-Offset", &offset.to_string())
            .header("Content-Type", OFFSET_STREAM)
    }

    pub(crate) fn head(&self, location: &str) -> TestResponse {
        self.tus(Method::HEAD, location).send()
    }

    pub(crate) fn offset(&self, location: &str) -> u64 {
        let head = self.head(location);
        assert_eq!(head.status(), 200);
        head.header("upload-offset").expect("an offset").parse().unwrap()
    }

    /// What a finished file has.
    pub(crate) fn file(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.directory.path().join(name)).unwrap()
    }

    /// The names of all finished files.
    pub(crate) fn files(&self) -> Vec<PathBuf> {
        let names = std::fs::read_dir(self.directory.path()).unwrap().map(|entry| entry.unwrap().path());
        names.filter(|path| path.file_name() != Some(Path::new(".uploads").as_os_str())).collect()
    }
}
