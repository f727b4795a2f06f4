//! `unsafe` stays in the files that are reviewed for it.

use std::fs;

use anyhow::Context;
use proc_macro2::{TokenStream, TokenTree};
use quote::ToTokens;

use super::{Source, Violation};
use crate::workspace::Workspace;

/// The files that may hold `unsafe`, and why they must.
const ALLOWED: &[(&str, &str)] = &[
    (
        "bench/peers/floor/src/ring.rs",
        "what Tayet on io_uring is compared with: nothing safe is as little as that",
    ),
    (
        "crates/tayet-engine/src/slot.rs",
        "the cell by which a loop changes threads: shared without a lock, proved under loom",
    ),
    (
        "crates/tayet-net/src/io_uring/sys.rs",
        "io_uring's rings and buffers: memory shared with the kernel, owned by one type",
    ),
    (
        "crates/tayet-net/src/near_socket.rs",
        "a descriptor borrowed by its number, beside the handle that keeps it open",
    ),
    (
        "crates/tayet-net/tests/io_uring_stuck_thread.rs",
        "starts a program in the one way that blocks its starter as a disk would",
    ),
    (
        "crates/tayet-wsgi/src/attachment.rs",
        "a thread's state of the interpreter, for which PyO3 has nothing",
    ),
    (
        "crates/tayet-wsgi/src/callables.rs",
        "the count of an object's references, which PyO3 leaves to its foreign functions",
    ),
    ("crates/tayet-wsgi/src/descriptor.rs", "listening sockets that Python hands over by their number"),
    ("crates/tayet-wsgi/src/loan.rs", "a reference that a Python object may use for the time of a call"),
    (
        "crates/tayet-wsgi/src/memory.rs",
        "the calls by which free memory, and pages of programs, go back to the system",
    ),
    ("crates/tayet-wsgi/src/text.rs", "texts of ISO 8859-1, for which PyO3 has nothing"),
    (
        "crates/tayet-net/src/sys.rs",
        "system calls, and a few instructions, that no safe interface gives as they are needed",
    ),
];

/// Every `unsafe` of a file that may not hold any, macros included.
pub(super) fn violations(source: &Source, file: &syn::File) -> Vec<Violation> {
    if ALLOWED.iter().any(|(path, _)| source.path.as_os_str() == *path) {
        return Vec::new();
    }
    let complain =
        |line| source.violation(line, "`unsafe` outside the files listed in xtask/src/tidy/safety.rs");
    lines_with_unsafe(file.to_token_stream()).into_iter().map(complain).collect()
}

/// The entries of the table that are needed no more: the list only ever grows on purpose.
pub(super) fn stale_entries(workspace: &Workspace) -> anyhow::Result<Vec<Violation>> {
    let mut stale = Vec::new();
    for (path, _) in ALLOWED {
        let text = fs::read_to_string(workspace.path(path)).unwrap_or_default();
        let file = syn::parse_file(&text).with_context(|| format!("parsing {path}"))?;
        if lines_with_unsafe(file.to_token_stream()).is_empty() {
            let source = Source { path: path.into(), text };
            stale.push(source.violation(1, "holds no `unsafe`: take it out of xtask/src/tidy/safety.rs"));
        }
    }
    Ok(stale)
}

fn lines_with_unsafe(tokens: TokenStream) -> Vec<usize> {
    let mut lines = Vec::new();
    for token in tokens {
        match token {
            TokenTree::Group(group) => lines.extend(lines_with_unsafe(group.stream())),
            TokenTree::Ident(ident) if ident == "unsafe" => lines.push(ident.span().start().line),
            _ => {}
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines_in(text: &str) -> Vec<usize> {
        let file = syn::parse_file(text).unwrap();
        let violations = violations(&Source::new("crates/x/src/lib.rs", text), &file);
        violations.into_iter().map(|violation| violation.line).collect()
    }

    #[test]
    fn blocks_functions_impls_and_attributes_are_found() {
        assert_eq!(lines_in("fn f() {\n    unsafe { g() }\n}"), [2]);
        assert_eq!(lines_in("unsafe fn f() {}"), [1]);
        assert_eq!(lines_in("\nunsafe impl Send for X {}"), [2]);
        assert_eq!(lines_in("#[unsafe(no_mangle)]\nfn f() {}"), [1]);
    }

    #[test]
    fn a_macros_body_is_looked_into() {
        assert_eq!(lines_in("macro_rules! m {\n    () => { unsafe { g() } };\n}"), [2]);
        assert_eq!(lines_in("m! { unsafe { g() } }"), [1]);
    }

    #[test]
    fn words_in_comments_strings_and_lints_are_not_code() {
        assert_eq!(
            lines_in("//! unsafe\n#![forbid(unsafe_code)]\n/// unsafe\nconst A: &str = \"unsafe\";"),
            [0; 0]
        );
    }
}
