//! What of a request's path names a file.

use std::borrow::Cow;

use percent_encoding::percent_decode_str;

/// A path below the root, decoded: none of its segments is empty, `.` or `..`, or holds a slash or NUL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RequestPath<'r> {
    /// Without slashes at its ends; empty for the root.
    pub(super) relative: Cow<'r, [u8]>,
    pub(super) ends_with_slash: bool,
}

/// The one hidden name that is meant to be seen (RFC 8615).
const WELL_KNOWN: &[u8] = b".well-known";

impl<'r> RequestPath<'r> {
    /// Reads what stands behind the part of a path that its route's pattern names. `None` for what can name no file.
    ///
    /// The path is split before it is decoded, so an encoded slash is no slash; and as no name has one in it, it names nothing.
    pub(super) fn parse(path: &'r str, pattern: Option<&str>, shows_dotfiles: bool) -> Option<Self> {
        let rest = skip_segments(path, pattern.map_or(0, fixed_segments))?;
        let Some(rest) = rest.strip_prefix('/') else {
            return Some(Self { relative: Cow::Borrowed(b""), ends_with_slash: false });
        };
        let (relative, ends_with_slash) = match rest.strip_suffix('/') {
            Some(directory) => (directory, true),
            None => (rest, rest.is_empty()),
        };
        if relative.is_empty() {
            return rest.is_empty().then_some(Self { relative: Cow::Borrowed(b""), ends_with_slash });
        }
        for (index, segment) in relative.split('/').enumerate() {
            let name: Cow<'_, [u8]> = percent_decode_str(segment).into();
            let is_visible =
                shows_dotfiles || !name.starts_with(b".") || (index == 0 && *name == *WELL_KNOWN);
            if !is_visible || !is_name(&name) {
                return None;
            }
        }
        Some(Self { relative: percent_decode_str(relative).into(), ends_with_slash })
    }
}

/// How many segments of a path its pattern names: all but what takes the rest.
fn fixed_segments(pattern: &str) -> usize {
    let (head, last) = pattern.rsplit_once('/').unwrap_or(("", pattern));
    let fixed = if last == "**" || last.starts_with("{*") { head } else { pattern };
    fixed.trim_end_matches('/').matches('/').count()
}

fn skip_segments(path: &str, count: usize) -> Option<&str> {
    if count == 0 {
        return path.starts_with('/').then_some(path);
    }
    let rest = path.match_indices('/').nth(count).map_or("", |(at, _)| &path[at..]);
    Some(rest)
}

fn is_name(name: &[u8]) -> bool {
    !matches!(name, b"" | b"." | b"..") && !name.iter().any(|byte| matches!(byte, b'/' | 0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(path: &str, pattern: Option<&str>) -> Option<(String, bool)> {
        let path = RequestPath::parse(path, pattern, false)?;
        Some((String::from_utf8_lossy(&path.relative).into_owned(), path.ends_with_slash))
    }

    #[test]
    fn what_the_pattern_names_is_left_out() {
        for (path, pattern, relative, ends_with_slash) in [
            ("/", None, "", true),
            ("/a.txt", None, "a.txt", false),
            ("/a/b/", None, "a/b", true),
            ("/assets", Some("/assets"), "", false),
            ("/assets/", Some("/assets/"), "", true),
            ("/assets/a/b", Some("/assets/**"), "a/b", false),
            ("/static/a/b", Some("/static/{*path}"), "a/b", false),
            ("/u/7/x", Some("/u/{id}/**"), "x", false),
            ("/a/b", Some("/**"), "a/b", false),
            ("/", Some("/"), "", true),
        ] {
            let expected = Some((relative.to_owned(), ends_with_slash));
            assert_eq!(parse(path, pattern), expected, "{path} of {pattern:?}");
        }
    }

    #[test]
    fn names_are_decoded_after_the_split() {
        assert_eq!(parse("/a%20b/%C3%A9%25", None), Some(("a b/é%".to_owned(), false)));
        assert_eq!(parse("/.well-known/acme", None), Some((".well-known/acme".to_owned(), false)));
        assert_eq!(parse("/a/...txt...", None), None, "hidden");
        assert_eq!(parse("/a/b...", None), Some(("a/b...".to_owned(), false)));
    }

    #[test]
    fn what_could_leave_the_root_names_nothing() {
        for path in [
            "",
            "*",
            "/..",
            "/../etc/passwd",
            "/a/../b",
            "/a/..",
            "/a/../",
            "/./a",
            "/%2e%2e/a",
            "/.%2E/a",
            "/a%2Fb",
            "/%2fetc/passwd",
            "/a%2f..%2fb",
            "/..%2f..%2fetc",
            "/a%00",
            "/a%00.txt",
            "//",
            "//etc/passwd",
            "/a//b",
            "/a//",
            "/.git/config",
            "/a/.env",
            "/%2egit/config",
            "/a/.well-known/b",
        ] {
            assert_eq!(parse(path, None), None, "{path}");
        }
    }

    #[test]
    fn hidden_names_are_seen_where_they_are_shown() {
        assert!(RequestPath::parse("/.git/config", None, true).is_some());
        for path in ["/..", "/.", "/a/.."] {
            assert!(RequestPath::parse(path, None, true).is_none(), "{path}");
        }
    }
}
