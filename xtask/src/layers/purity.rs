//! Protocol crates are sans-I/O: no socket, thread, file or clock, not even in their tests.

use std::fs;
use std::path::Path;

use anyhow::Context;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{ItemUse, UseTree};

/// What a protocol crate may not name, and nothing below it.
const FORBIDDEN: &[&str] = &[
    "std::env",
    "std::fs",
    "std::net",
    "std::os",
    "std::process",
    "std::thread",
    "Instant::now",
    "SystemTime::now",
];
/// Values that live in a forbidden module and touch nothing.
const ALLOWED: &[&str] = &["std::net::IpAddr", "std::net::Ipv4Addr", "std::net::Ipv6Addr"];

/// Every use of something forbidden in the Rust files below `directory`.
pub(super) fn violations(directory: &Path) -> anyhow::Result<Vec<String>> {
    let mut found = Vec::new();
    let mut entries = fs::read_dir(directory)
        .with_context(|| format!("reading {}", directory.display()))?
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<Result<Vec<_>, _>>()?;
    entries.sort();
    for path in entries {
        if path.is_dir() {
            found.extend(violations(&path)?);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let source = fs::read_to_string(&path)?;
            let file = syn::parse_file(&source).with_context(|| format!("parsing {}", path.display()))?;
            let complain =
                |name: Named| format!("{}:{}: {} in a protocol crate", path.display(), name.line, name.path);
            found.extend(names_in(&file).into_iter().filter(Named::is_forbidden).map(complain));
        }
    }
    Ok(found)
}

/// A path as the source names it, with groups of a `use` written out.
struct Named {
    path: String,
    line: usize,
}

impl Named {
    fn is_forbidden(&self) -> bool {
        self.mentions(FORBIDDEN) && !self.mentions(ALLOWED)
    }

    /// Whether one of `names` occurs in the path, in whole segments.
    fn mentions(&self, names: &[&str]) -> bool {
        let path = format!("::{}::", self.path);
        names.iter().any(|name| path.contains(&format!("::{name}::")))
    }
}

fn names_in(file: &syn::File) -> Vec<Named> {
    let mut collector = Collector { names: Vec::new() };
    collector.visit_file(file);
    collector.names
}

struct Collector {
    names: Vec<Named>,
}

impl<'ast> Visit<'ast> for Collector {
    fn visit_path(&mut self, path: &'ast syn::Path) {
        let segments: Vec<_> = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        self.names.push(Named { path: segments.join("::"), line: path.span().start().line });
        visit::visit_path(self, path);
    }

    fn visit_item_use(&mut self, item: &'ast ItemUse) {
        self.collect_tree(String::new(), &item.tree);
    }
}

impl Collector {
    fn collect_tree(&mut self, prefix: String, tree: &UseTree) {
        let join = |ident: &syn::Ident| {
            if prefix.is_empty() { ident.to_string() } else { format!("{prefix}::{ident}") }
        };
        let line = tree.span().start().line;
        match tree {
            UseTree::Path(path) => self.collect_tree(join(&path.ident), &path.tree),
            UseTree::Name(name) => self.names.push(Named { path: join(&name.ident), line }),
            UseTree::Rename(rename) => self.names.push(Named { path: join(&rename.ident), line }),
            UseTree::Glob(_) => self.names.push(Named { path: prefix, line }),
            UseTree::Group(group) => {
                for tree in &group.items {
                    self.collect_tree(prefix.clone(), tree);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn forbidden_in(source: &str) -> Vec<String> {
        let file = syn::parse_file(source).unwrap();
        names_in(&file).into_iter().filter(Named::is_forbidden).map(|name| name.path).collect()
    }

    #[test]
    fn sockets_threads_and_clocks_are_found() {
        assert_eq!(forbidden_in("use std::net::TcpStream;"), ["std::net::TcpStream"]);
        assert_eq!(forbidden_in("use std::{fmt, thread, time::Instant};"), ["std::thread"]);
        assert_eq!(forbidden_in("use std::net::*;"), ["std::net"]);
        assert_eq!(forbidden_in("use std::fs as files;"), ["std::fs"]);
        assert_eq!(forbidden_in("fn f() { std::thread::yield_now(); }"), ["std::thread::yield_now"]);
        assert_eq!(forbidden_in("fn f() { let _ = Instant::now(); }"), ["Instant::now"]);
        assert_eq!(forbidden_in("fn f(a: std::net::UdpSocket) {}"), ["std::net::UdpSocket"]);
    }

    #[test]
    fn addresses_are_only_values() {
        assert_eq!(forbidden_in("use std::net::{Ipv6Addr, TcpListener};"), ["std::net::TcpListener"]);
    }

    #[test]
    fn time_as_an_argument_and_words_in_comments_are_fine() {
        let source = "//! Never calls Instant::now or std::net.\nuse std::time::Instant;\nfn f(now: Instant) -> &'static str { \"std::net\" }";
        assert_eq!(forbidden_in(source), [""; 0]);
        assert_eq!(forbidden_in("use std::network::x; use my::std_net;"), [""; 0]);
    }
}
