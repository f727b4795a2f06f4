//! What caches are told of which files.

use http::HeaderValue;

/// `Cache-Control` values by patterns of paths; the first that matches counts.
#[derive(Clone, Debug, Default)]
pub(super) struct CacheRules(Vec<(String, HeaderValue)>);

impl CacheRules {
    pub(super) fn add(&mut self, pattern: &str, value: HeaderValue) {
        self.0.push((pattern.trim_start_matches('/').to_owned(), value));
    }

    /// The value for a path below the root.
    pub(super) fn value_for(&self, path: &[u8]) -> Option<&HeaderValue> {
        self.0.iter().find(|(pattern, _)| matches(pattern.as_bytes(), path)).map(|(_, value)| value)
    }
}

/// Whether a path is what a pattern says, in which `*` stands for anything, slashes included.
fn matches(pattern: &[u8], path: &[u8]) -> bool {
    let mut parts = pattern.split(|&byte| byte == b'*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = path.strip_prefix(first) else { return false };
    let Some(last) = parts.next_back() else { return rest.is_empty() };
    // The earliest place for each part leaves most for those behind it.
    for part in parts.filter(|part| !part.is_empty()) {
        let Some(at) = rest.windows(part.len()).position(|window| window == part) else { return false };
        rest = &rest[at + part.len()..];
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_stand_for_anything() {
        for (pattern, path, is_match) in [
            ("*", "a/b.css", true),
            ("*", "", true),
            ("*.css", "a/b.css", true),
            ("*.css", "b.css.map", false),
            ("assets/*", "assets/a/b", true),
            ("assets/*", "other/assets/a", false),
            ("assets/*.js", "assets/x/app.js", true),
            ("a*b*c", "a-b-c", true),
            ("a*b*c", "a-c-b", false),
            ("a*bc*c", "abc", false),
            ("index.html", "index.html", true),
            ("index.html", "docs/index.html", false),
        ] {
            assert_eq!(matches(pattern.as_bytes(), path.as_bytes()), is_match, "{pattern} {path}");
        }
    }

    #[test]
    fn the_first_rule_that_matches_counts() {
        let mut rules = CacheRules::default();
        rules.add("/assets/*", HeaderValue::from_static("max-age=60"));
        rules.add("*", HeaderValue::from_static("no-cache"));
        assert_eq!(rules.value_for(b"assets/a.css").unwrap(), "max-age=60");
        assert_eq!(rules.value_for(b"a.css").unwrap(), "no-cache");
        assert_eq!(CacheRules::default().value_for(b"a"), None);
    }
}
