//! The classes of a route: one for all its calls, or one for each group of paths.

use crate::Pin;
use crate::route_class::RouteClass;

/// Groups that a route's paths fall into, where they are told apart. Two that share a group share a class: that costs the
/// quicker one some microseconds, not its answers.
const MAX_PATH_GROUPS: usize = 256;

/// Segments at the beginning of a path that tell its group: `/api/report/7` and `/api/report/8` are of one.
const GROUP_SEGMENTS: usize = 2;

/// What a route's calls have taught, by the groups of their paths.
#[derive(Debug)]
pub(crate) struct RouteClasses {
    groups: Box<[RouteClass]>,
}

/// One of a route's groups of paths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PathGroup(u8);

impl RouteClasses {
    /// One class for all, or, where `by_path`, one for each group.
    pub(crate) fn new(pin: Option<Pin>, by_path: bool) -> Self {
        let count = if by_path { MAX_PATH_GROUPS } else { 1 };
        Self { groups: (0..count).map(|_| RouteClass::new(pin)).collect() }
    }

    /// The group of a raw path, which is asked for only where it matters.
    #[inline]
    pub(crate) fn group<'p>(&self, path: impl FnOnce() -> &'p [u8]) -> PathGroup {
        if self.groups.len() == 1 { PathGroup(0) } else { PathGroup::of(path()) }
    }

    pub(crate) fn of(&self, group: PathGroup) -> &RouteClass {
        &self.groups[usize::from(group.0)]
    }

    /// Whether any group is dispatched.
    pub(crate) fn is_dispatched(&self) -> bool {
        self.groups.iter().any(RouteClass::is_dispatched)
    }

    pub(crate) fn takeovers(&self) -> u64 {
        self.groups.iter().map(RouteClass::takeovers).sum()
    }
}

impl PathGroup {
    fn of(path: &[u8]) -> Self {
        Self((hash(beginning(path)) % MAX_PATH_GROUPS as u32) as u8)
    }
}

/// The segments that tell the group.
fn beginning(path: &[u8]) -> &[u8] {
    let mut slashes = path.iter().enumerate().filter(|(_, byte)| **byte == b'/');
    match slashes.nth(GROUP_SEGMENTS) {
        Some((end, _)) => &path[..end],
        None => path,
    }
}

/// FNV-1a, its upper half folded in: quick for the few bytes that there are. Who finds paths of one group gains nothing.
fn hash(bytes: &[u8]) -> u32 {
    let hash =
        bytes.iter().fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193));
    hash ^ (hash >> 16)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::route_class::Overrun;

    #[test]
    fn a_route_as_a_whole_has_one_class() {
        let classes = RouteClasses::new(None, false);
        classes.of(classes.group(|| b"/slow")).overran(Overrun::Blocked, 0);
        assert!(classes.of(classes.group(|| b"/fast")).is_dispatched());
    }

    #[test]
    fn by_path_one_that_is_slow_leaves_the_others_inline() {
        let classes = RouteClasses::new(None, true);
        classes.of(classes.group(|| b"/api/slow/1")).overran(Overrun::Blocked, 0);
        assert!(classes.of(classes.group(|| b"/api/slow/2/3")).is_dispatched());
        assert!(classes.of(classes.group(|| b"/api/slow")).is_dispatched());
        for fast in ["/", "/api", "/api/fast", "/fast/slow", "*", ""] {
            assert!(!classes.of(classes.group(|| fast.as_bytes())).is_dispatched(), "{fast}");
        }
        assert!(classes.is_dispatched());
        assert_eq!(classes.takeovers(), 1);
    }

    #[test]
    fn paths_are_spread_over_all_groups() {
        let groups: std::collections::HashSet<u8> =
            (0..4_000).map(|number| PathGroup::of(format!("/users/{number}").as_bytes()).0).collect();
        assert_eq!(groups.len(), MAX_PATH_GROUPS);
    }

    #[test]
    fn a_pin_is_for_all_groups() {
        let classes = RouteClasses::new(Some(Pin::Blocking), true);
        assert!((0..=u8::MAX).all(|group| classes.of(PathGroup(group)).is_dispatched()));
    }
}
