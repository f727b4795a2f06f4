//! Finding the patterns that match a path.

use percent_encoding::percent_decode;
use tayet_engine::{Captures, is_same_text};

use crate::pattern::{Pattern, Segment};

/// A pattern's place in the order of insertion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PathId(pub(crate) usize);

/// Patterns, laid out for the search: a tree of segments, and beside it the paths that need none.
#[derive(Debug)]
pub(crate) struct RouteTable {
    /// The paths that a pattern without parameters matches as it stands, by their length, then in their order.
    exact: Vec<Vec<(Box<str>, PathId)>>,
    nodes: Vec<Node>,
}

#[derive(Debug, Default)]
struct Node {
    /// In the order of their texts.
    literals: Vec<(Box<str>, usize)>,
    one: Option<usize>,
    rest: Option<PathId>,
    end: Option<PathId>,
}

impl RouteTable {
    /// Lays out patterns of which no two have the same shape.
    pub(crate) fn new<'p>(patterns: impl IntoIterator<Item = &'p Pattern>) -> Self {
        let mut table = Self { exact: Vec::new(), nodes: vec![Node::default()] };
        for (index, pattern) in patterns.into_iter().enumerate() {
            if let Some(path) = pattern.exact_path() {
                table.insert_exact(path.into(), PathId(index));
            }
            table.insert(pattern.segments(), PathId(index));
        }
        table
    }

    /// The pattern that is a raw path, letter by letter, if no other has its length: what [`search`](Self::search) would offer
    /// first, found sooner.
    // It calls nothing, so that whoever looks here first has no registers to save.
    #[inline(always)]
    pub(crate) fn exact_alone(&self, path: &[u8]) -> Option<PathId> {
        match &self.exact.get(path.len())?[..] {
            [(exact, id)] => is_same_text(exact.as_bytes(), path).then_some(*id),
            _ => None,
        }
    }

    /// The same, however many have that length.
    pub(crate) fn exact(&self, path: &[u8]) -> Option<PathId> {
        let of_length = self.exact.get(path.len())?;
        let at = of_length.binary_search_by(|(exact, _)| exact.as_bytes().cmp(path)).ok()?;
        Some(of_length[at].1)
    }

    /// Offers the patterns that match a raw path, the most specific one first, until `take` takes one. The order is
    /// decided by the first segment that differs: a literal comes before one segment, and that before the rest.
    pub(crate) fn search<T>(
        &self,
        path: &[u8],
        mut take: impl FnMut(PathId, &Captures) -> Option<T>,
    ) -> Option<T> {
        if !path.starts_with(b"/") {
            return None;
        }
        self.descend(0, path, 1, &mut Captures::default(), &mut take)
    }

    /// Every node is reached by one way only, so a search visits none of them twice.
    fn descend<T>(
        &self,
        node: usize,
        path: &[u8],
        start: usize,
        captures: &mut Captures,
        take: &mut impl FnMut(PathId, &Captures) -> Option<T>,
    ) -> Option<T> {
        let node = &self.nodes[node];
        let (end, is_encoded) = scan_segment(path, start);
        let mut go_on = |next: usize, captures: &mut Captures| match end == path.len() {
            true => self.nodes[next].end.and_then(|id| take(id, captures)),
            false => self.descend(next, path, end + 1, captures, take),
        };
        if let Some(next) = node.literal(&path[start..end], is_encoded)
            && let Some(taken) = go_on(next, captures)
        {
            return Some(taken);
        }
        let depth = captures.len();
        if start < end
            && let Some(next) = node.one
        {
            captures.push(start, end);
            if let Some(taken) = go_on(next, captures) {
                return Some(taken);
            }
            captures.truncate(depth);
        }
        if start < path.len()
            && let Some(id) = node.rest
        {
            captures.push(start, path.len());
            if let Some(taken) = take(id, captures) {
                return Some(taken);
            }
            captures.truncate(depth);
        }
        None
    }

    fn insert_exact(&mut self, path: Box<str>, id: PathId) {
        if self.exact.len() <= path.len() {
            self.exact.resize_with(path.len() + 1, Vec::new);
        }
        let of_length = &mut self.exact[path.len()];
        let at = of_length.partition_point(|(other, _)| *other < path);
        of_length.insert(at, (path, id));
    }

    fn insert(&mut self, segments: &[Segment], id: PathId) {
        let mut at = 0;
        for segment in segments {
            at = match segment {
                Segment::Literal(text) => self.literal_child(at, text),
                Segment::One(_) => self.one_child(at),
                Segment::Rest(_) => {
                    self.nodes[at].rest = Some(id);
                    return;
                }
            };
        }
        self.nodes[at].end = Some(id);
    }

    fn literal_child(&mut self, parent: usize, text: &str) -> usize {
        let next = self.nodes.len();
        let literals = &mut self.nodes[parent].literals;
        match literals.binary_search_by(|(literal, _)| (**literal).cmp(text)) {
            Ok(at) => literals[at].1,
            Err(at) => {
                literals.insert(at, (text.into(), next));
                self.nodes.push(Node::default());
                next
            }
        }
    }

    fn one_child(&mut self, parent: usize) -> usize {
        let next = self.nodes.len();
        let child = *self.nodes[parent].one.get_or_insert(next);
        if child == next {
            self.nodes.push(Node::default());
        }
        child
    }
}

impl Node {
    /// The child for a raw segment. Only one that has a `%` needs decoding.
    fn literal(&self, raw: &[u8], is_encoded: bool) -> Option<usize> {
        if self.literals.is_empty() {
            return None;
        }
        if is_encoded {
            return self.child(percent_decode(raw).decode_utf8().ok()?.as_bytes());
        }
        self.child(raw)
    }

    fn child(&self, text: &[u8]) -> Option<usize> {
        let at = self.literals.binary_search_by(|(literal, _)| literal.as_bytes().cmp(text)).ok()?;
        Some(self.literals[at].1)
    }
}

/// Where the segment that begins at `start` ends, and whether it has a `%`. Segments are short: a plain loop finds both
/// sooner than a search for each.
fn scan_segment(path: &[u8], start: usize) -> (usize, bool) {
    let mut is_encoded = false;
    for (at, &byte) in path.iter().enumerate().skip(start) {
        match byte {
            b'/' => return (at, is_encoded),
            b'%' => is_encoded = true,
            _ => {}
        }
    }
    (path.len(), is_encoded)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(patterns: &[&str]) -> RouteTable {
        let patterns: Vec<Pattern> = patterns.iter().map(|text| Pattern::parse(text).unwrap()).collect();
        RouteTable::new(&patterns)
    }

    fn exact(table: &RouteTable, path: &str) -> Option<PathId> {
        let found = table.exact(path.as_bytes());
        let has_company = table.exact.get(path.len()).is_some_and(|of_length| of_length.len() > 1);
        assert_eq!(table.exact_alone(path.as_bytes()), found.filter(|_| !has_company), "{path}");
        found
    }

    /// The first pattern offered, with what it captures.
    fn found<'a>(table: &RouteTable, path: &'a str) -> Option<(usize, Vec<&'a str>)> {
        let found = table.search(path.as_bytes(), |PathId(id), captures| {
            Some((id, (0..captures.len()).map(|n| &path[captures.get(n).unwrap()]).collect()))
        });
        if let Some(PathId(id)) = exact(table, path) {
            assert_eq!(found, Some((id, vec![])), "{path}");
        }
        found
    }

    #[test]
    fn the_most_specific_pattern_wins_whatever_the_order() {
        let patterns = ["/{*all}", "/users/{id}", "/users/me", "/users/{id}/posts", "/users/{*rest}"];
        for turn in 0..patterns.len() {
            let mut turned = patterns;
            turned.rotate_left(turn);
            let table = table(&turned);
            for (path, pattern, captures) in [
                ("/users/me", "/users/me", vec![]),
                ("/users/7", "/users/{id}", vec!["7"]),
                ("/users/me/posts", "/users/{id}/posts", vec!["me"]),
                ("/users/7/likes", "/users/{*rest}", vec!["7/likes"]),
                ("/users/7/", "/users/{*rest}", vec!["7/"]),
                ("/users/", "/{*all}", vec!["users/"]),
                ("/x//y", "/{*all}", vec!["x//y"]),
            ] {
                let (id, found) = found(&table, path).expect(path);
                assert_eq!((turned[id], found), (pattern, captures), "{path}");
            }
        }
    }

    #[test]
    fn parameters_are_never_empty() {
        let table = table(&["/a/{id}", "/b/{*rest}"]);
        for path in ["/a", "/a/", "/a//", "/b", "/b/", "/", "", "*", "a/1"] {
            assert_eq!(found(&table, path), None, "{path}");
        }
    }

    #[test]
    fn an_encoded_slash_never_splits() {
        let table = table(&["/{id}", "/a/b"]);
        assert_eq!(found(&table, "/a%2Fb"), Some((0, vec!["a%2Fb"])));
    }

    #[test]
    fn literals_match_in_whatever_encoding() {
        let table = table(&["/a b/café", "/100%25", "/plain"]);
        assert_eq!(found(&table, "/a%20b/caf%c3%A9"), Some((0, vec![])));
        assert_eq!(found(&table, "/100%25"), Some((1, vec![])));
        assert_eq!(found(&table, "/p%6Cain"), Some((2, vec![])));
        assert_eq!(found(&table, "/p%FFain"), None);
    }

    #[test]
    fn paths_without_parameters_are_found_at_once() {
        let patterns =
            ["/", "/b", "/a", "/c", "/b/", "/b/c", "/{{d}}", "/a%20b", "/caf\u{e9}", "/100%25", "/{e}"];
        let table = table(&patterns);
        for (index, path) in
            ["/", "/b", "/a", "/c", "/b/", "/b/c", "/{d}", "/a b", "/caf\u{e9}"].iter().enumerate()
        {
            assert_eq!(exact(&table, path), Some(PathId(index)), "{path}");
            assert_eq!(found(&table, path), Some((index, vec![])));
        }
        for path in ["", "*", "/x", "/B", "/a%20b", "/100%25", "/100%", "/b/c/d/e/f/g"] {
            assert_eq!(exact(&table, path), None, "{path}");
        }
    }

    #[test]
    fn paths_of_one_length_are_found_however_many_there_are() {
        for count in [1, 2, 9, 99] {
            let paths: Vec<String> = (0..count).map(|n| format!("/of/{:02}", (n * 37) % 100)).collect();
            let table = table(&paths.iter().map(String::as_str).collect::<Vec<_>>());
            for (index, path) in paths.iter().enumerate() {
                assert_eq!(exact(&table, path), Some(PathId(index)), "{path} of {count}");
            }
            assert_eq!(exact(&table, "/of/xx"), None);
        }
    }

    #[test]
    fn a_pattern_that_is_not_taken_gives_way_to_the_next() {
        let table = table(&["/{*all}", "/{a}/c", "/b/{d}", "/b/c"]);
        let mut offered = Vec::new();
        let taken: Option<()> = table.search(b"/b/c", |PathId(id), _| {
            offered.push(id);
            None
        });
        assert_eq!((taken, offered), (None, vec![3, 2, 1, 0]));
    }
}
