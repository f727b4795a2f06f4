//! Serving files.

mod byte_ranges;
mod cache_rules;
mod listing;
mod preconditions;
mod representation;
mod request_path;
mod root;
mod served_file;
mod store;
mod validators;

use std::fmt;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use http::{HeaderValue, Method, StatusCode, header};

pub use byte_ranges::{ByteRanges, MAX_BYTE_RANGES};
pub use listing::MAX_LISTED_ENTRIES;
pub use root::Symlinks;
pub(crate) use served_file::complete;
pub use store::{DEFAULT_MAX_CACHE_BYTES, DEFAULT_MAX_CACHED_FILE_BYTES, DEFAULT_REVALIDATE_MS};

use self::cache_rules::CacheRules;
use self::listing::{Listing, Order};
use self::request_path::RequestPath;
use self::root::Root;
use self::store::{Changed, Entry, Missing, Source, Store, StoreLimits};
use crate::{Context, Handler, IntoResponse, Problem, Request, Response, Router};

/// Serves the files of a directory: as a handler, a fallback, or below a prefix.
///
/// ```
/// use tayet::{Files, Router};
///
/// let app: Router = Router::new()
///     .get("/api/time", || "noon")
///     .nest("/assets", Files::new("dist/assets").cache_control("*", "public, max-age=31536000, immutable"))
///     .fallback(Files::new("public"));
/// ```
///
/// # What it does
///
/// - Large files are sent from the page cache without being copied, by workers; small ones are held in memory, within limits,
///   and looked at again after [`Files::revalidate_after`].
/// - Each file has a strong entity tag, made of its inode, its size and its time of change in nanoseconds, and a `Last-Modified`.
///   Conditional requests (RFC 9110 section 13), ranges, several ranges and `If-Range` (section 14) are answered.
/// - The media type is that of the name's extension; text is UTF-8.
/// - A directory is served by its `index.html`; without a slash at its end, it is redirected to.
/// - Where `app.js.br`, `app.js.zst` or `app.js.gz` lie beside `app.js`, they are served in its place to clients that take them.
///   Nobody checks that they are of one content.
/// - Nothing outside of the directory is served: not by `..`, encoded or not, and not by a symbolic link ([`Symlinks`]). Names
///   that begin with a dot are not there, but for `/.well-known`.
/// - Methods other than `GET` and `HEAD` are answered 405.
///
/// What the route's pattern names is left out of the path: below `/assets`, `/assets/app.js` is `app.js`.
///
/// # What it does not
///
/// A file that is changed in place while it is sent goes out as a mixture; write a new one and rename it. One that has become
/// shorter ends the connection, since its length was promised.
///
/// The directory is opened once. A symbolic link in its own path that is set to another directory later, as some deployments do,
/// is not noticed until the server starts again; links below it are.
pub struct Files {
    root: Root,
    indexes: Vec<String>,
    fallback: Option<String>,
    lists_directories: bool,
    shows_dotfiles: bool,
    is_precompressed: bool,
    cache_rules: CacheRules,
    store: Store,
}

/// Marks [`Files`] as a handler.
#[derive(Debug)]
pub struct ViaFiles;

/// How often a file that changes while it is being served is looked at again.
const MAX_CHANGES: usize = 4;

impl Files {
    /// The files of a directory, which is opened when the first is asked for (a relative path is meant from where the process is
    /// now). If that fails, it is logged and answered 500.
    pub fn new(directory: impl AsRef<Path>) -> Self {
        Self {
            root: Root::new(directory.as_ref()),
            indexes: vec!["index.html".to_owned()],
            fallback: None,
            lists_directories: false,
            shows_dotfiles: false,
            is_precompressed: true,
            cache_rules: CacheRules::default(),
            store: Store::new(StoreLimits::default()),
        }
    }

    /// The files of a directory, which is opened now.
    ///
    /// # Errors
    ///
    /// When it is no directory, or may not be opened.
    pub fn open(directory: impl AsRef<Path>) -> io::Result<Self> {
        let files = Self::new(directory);
        files.root.descriptor()?;
        Ok(files)
    }

    /// Serves a directory by the first of these that it has. Default: `index.html`.
    #[must_use]
    pub fn indexes<N: Into<String>>(mut self, names: impl IntoIterator<Item = N>) -> Self {
        self.indexes = names.into_iter().map(Into::into).collect();
        self
    }

    /// Answers what is not there with this file of the directory, such as `index.html`, for applications that find their way in
    /// the browser. That holds for navigations: paths whose last segment has no extension, and requests that name `text/html`
    /// in `Accept`. A script or picture that is missing is still a 404.
    #[must_use]
    pub fn spa(mut self, file: impl Into<String>) -> Self {
        self.fallback = Some(file.into());
        self
    }

    /// Shows what a directory without an index file holds, up to [`MAX_LISTED_ENTRIES`]. Default: it is a 404.
    #[must_use]
    pub fn list_directories(mut self) -> Self {
        self.lists_directories = true;
        self
    }

    /// Serves names that begin with a dot, too.
    #[must_use]
    pub fn show_dotfiles(mut self) -> Self {
        self.shows_dotfiles = true;
        self
    }

    /// Whether `.br`, `.zst` and `.gz` files are served in the place of those beside them. Default: they are.
    #[must_use]
    pub fn precompressed(mut self, is_precompressed: bool) -> Self {
        self.is_precompressed = is_precompressed;
        self
    }

    /// What becomes of symbolic links. Default: [`Symlinks::Within`].
    #[must_use]
    pub fn symlinks(mut self, symlinks: Symlinks) -> Self {
        self.root.symlinks = symlinks;
        self
    }

    /// Gives files a `Cache-Control`. In the pattern, of a path below the directory, `*` stands for anything, slashes included;
    /// of several patterns that match, the first counts. Default: none is sent, and browsers guess.
    ///
    /// ```
    /// use tayet::Files;
    ///
    /// let files = Files::new("public")
    ///     .cache_control("assets/*", "public, max-age=31536000, immutable")
    ///     .cache_control("*", "no-cache");
    /// ```
    ///
    /// # Panics
    ///
    /// When the value cannot stand in a header.
    #[track_caller]
    #[must_use]
    pub fn cache_control<V: TryInto<HeaderValue, Error: fmt::Debug>>(
        mut self,
        pattern: &str,
        value: V,
    ) -> Self {
        self.cache_rules.add(pattern, value.try_into().expect("a valid header value"));
        self
    }

    /// Holds files up to this size in memory. Default: [`DEFAULT_MAX_CACHED_FILE_BYTES`]; 0 holds none.
    #[must_use]
    pub fn max_cached_file_bytes(self, max_file_bytes: usize) -> Self {
        self.with_limits(|limits| limits.max_file_bytes = max_file_bytes)
    }

    /// Holds no more than this in all, what is known of files included. Default: [`DEFAULT_MAX_CACHE_BYTES`]; 0 looks at every file
    /// for every request.
    #[must_use]
    pub fn max_cache_bytes(self, max_bytes: usize) -> Self {
        self.with_limits(|limits| limits.max_bytes = max_bytes)
    }

    /// How long what is held is taken for true before the file is looked at again. Default: [`DEFAULT_REVALIDATE_MS`].
    #[must_use]
    pub fn revalidate_after(self, revalidate_after: Duration) -> Self {
        self.with_limits(|limits| limits.revalidate_after = revalidate_after)
    }

    fn with_limits(mut self, change: impl FnOnce(&mut StoreLimits)) -> Self {
        let mut limits = self.store.limits();
        change(&mut limits);
        self.store = Store::new(limits);
        self
    }

    fn answer(&self, request: &Request, pattern: Option<&str>) -> Result<Response, Missing> {
        if !matches!(*request.method(), Method::GET | Method::HEAD) {
            return Ok(refusal(request.method()));
        }
        let Some(path) = RequestPath::parse(request.path(), pattern, self.shows_dotfiles) else {
            return Err(Missing::NotFound);
        };
        match self.answer_path(request, &path) {
            Err(Missing::NotFound) if self.is_navigation(request, &path) => self.answer_fallback(request),
            result => result,
        }
    }

    fn answer_path(&self, request: &Request, path: &RequestPath<'_>) -> Result<Response, Missing> {
        if path.ends_with_slash {
            return self.answer_directory(request, &path.relative);
        }
        // Without a slash, links within the directory's page would lead beside it.
        if path.relative.is_empty() {
            return redirect_to_slash(request);
        }
        match self.answer_file(request, &path.relative) {
            Err(Missing::Directory) => redirect_to_slash(request),
            result => result,
        }
    }

    fn answer_directory(&self, request: &Request, path: &[u8]) -> Result<Response, Missing> {
        let separator = if path.is_empty() { &b""[..] } else { b"/" };
        for index in &self.indexes {
            match self.answer_file(request, &[path, separator, index.as_bytes()].concat()) {
                Err(Missing::NotFound | Missing::Directory) => {}
                result => return result,
            }
        }
        if !self.lists_directories {
            return Err(Missing::NotFound);
        }
        let directory = self.root.open(path).map_err(Missing::of)?;
        let listing =
            Listing::read(&self.root, path, &directory, self.shows_dotfiles).map_err(Missing::of)?;
        Ok(listing.page(path, Order::of_query(request.query())))
    }

    fn answer_file(&self, request: &Request, path: &[u8]) -> Result<Response, Missing> {
        for _ in 0..MAX_CHANGES {
            let entry = self.store.find(self.source(), path)?;
            match self.answer_entry(request, &entry) {
                Ok(response) => return Ok(response),
                Err(Changed) => self.store.forget(path),
            }
        }
        Err(Missing::Failed(io::Error::other("the file changes all the time")))
    }

    fn answer_entry(&self, request: &Request, entry: &Arc<Entry>) -> Result<Response, Changed> {
        let form = entry.choose(request);
        form.representation.answer(request, || form.content(&self.root))
    }

    fn answer_fallback(&self, request: &Request) -> Result<Response, Missing> {
        let file = self.fallback.as_deref().ok_or(Missing::NotFound)?;
        self.answer_file(request, file.as_bytes())
    }

    fn is_navigation(&self, request: &Request, path: &RequestPath<'_>) -> bool {
        let name = path.relative.rsplit(|&byte| byte == b'/').next().unwrap_or_default();
        let accepts_html = || request.header("accept").is_some_and(|accept| accept.contains("text/html"));
        self.fallback.is_some() && (!name.contains(&b'.') || accepts_html())
    }

    fn source(&self) -> Source<'_> {
        Source { root: &self.root, cache_rules: &self.cache_rules, is_precompressed: self.is_precompressed }
    }
}

impl<S> Handler<ViaFiles, S> for Files {
    fn call(&self, request: &mut Request, context: Context<'_, S>) -> Response {
        self.answer(request, context.route().pattern()).unwrap_or_else(|missing| missing.into_response())
    }
}

/// So that [`Router::nest`] and [`Router::merge`] take it.
impl<S: Send + Sync + 'static> From<Files> for Router<S> {
    fn from(files: Files) -> Self {
        Self::new().fallback(files)
    }
}

impl fmt::Debug for Files {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Files").field("directory", &self.root.path()).finish_non_exhaustive()
    }
}

impl IntoResponse for Missing {
    fn into_response(self) -> Response {
        let (status, detail) = match self {
            Self::NotFound | Self::Directory => (StatusCode::NOT_FOUND, "there is nothing at this path"),
            Self::Forbidden => (StatusCode::FORBIDDEN, "the server may not read this file"),
            Self::Failed(error) => {
                tracing::error!(%error, "a file could not be served");
                (StatusCode::INTERNAL_SERVER_ERROR, "")
            }
        };
        Problem::new(status).with_detail(detail).into_response()
    }
}

/// 204 or 405, with what there is.
fn refusal(method: &Method) -> Response {
    let response = match *method {
        Method::OPTIONS => Response::empty(StatusCode::NO_CONTENT),
        _ => Problem::new(StatusCode::METHOD_NOT_ALLOWED).with_detail("files are only read").into_response(),
    };
    response.with_header(header::ALLOW, "GET, HEAD, OPTIONS")
}

/// Redirects to the same path with a slash. The location is relative, so that it holds behind a proxy that has cut off a prefix, and
/// begins with a dot, so that no name can be taken for another host or scheme.
fn redirect_to_slash(request: &Request) -> Result<Response, Missing> {
    let name = request.path().rsplit('/').next().unwrap_or_default();
    let query = request.query().map_or(String::new(), |query| format!("?{query}"));
    let location = HeaderValue::try_from(format!("./{name}/{query}")).map_err(|_| Missing::NotFound)?;
    Ok(Response::empty(StatusCode::PERMANENT_REDIRECT).with_header(header::LOCATION, location))
}
