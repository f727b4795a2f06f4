//! A file or function that does not fit in a reader's head says why it must be so long.

use std::path::Path;

use proc_macro2::Span;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{Attribute, Block, ImplItemFn, Item, ItemFn, ItemImpl, ItemMod, Meta, Signature, TraitItemFn};

use super::{Source, Violation};

const MAX_FILE_LINES: usize = 800;
const MAX_FUNCTION_LINES: usize = 70;
/// How far from a file's beginning its reason may stand.
const HEAD_LINES: usize = 20;
/// What a reason begins with, behind the comment's marker.
const REASON: &str = "tidy: long because ";
/// Whose lines count. Prose, data and lock files are as long as they are.
const CODE: &[&str] = &["c", "go", "js", "mjs", "py", "rs", "sh", "ts"];

/// The violation of a file that is too long and does not say why.
pub(super) fn file_violation(source: &Source) -> Option<Violation> {
    let lines = source.text.lines().count();
    let is_short = lines <= MAX_FILE_LINES || !CODE.iter().any(|extension| source.has_extension(extension));
    let is_excused = || source.text.lines().take(HEAD_LINES).any(is_reason);
    (!is_short && !is_excused())
        .then(|| source.violation(1, format!("{lines} lines; split it, or say `{REASON}...` at its head")))
}

/// The violations of functions outside tests that are too long and do not say why.
pub(super) fn function_violations(source: &Source, file: &syn::File) -> Vec<Violation> {
    if is_test_file(&source.path) {
        return Vec::new();
    }
    let mut finder = Finder { source, lines: source.text.lines().collect(), violations: Vec::new() };
    finder.visit_file(file);
    finder.violations
}

struct Finder<'a> {
    source: &'a Source,
    lines: Vec<&'a str>,
    violations: Vec<Violation>,
}

impl Finder<'_> {
    /// Counts from the signature to the closing brace: documentation and attributes are free.
    fn check(&mut self, attributes: &[Attribute], signature: &Signature, body: &Block) {
        let first = signature.span().start().line;
        let length = body.span().end().line + 1 - first;
        if length > MAX_FUNCTION_LINES && !self.is_excused(head_of(attributes, signature.span()), first) {
            let what =
                format!("`{}` has {length} lines; split it, or say `{REASON}...` above it", signature.ident);
            self.violations.push(self.source.violation(first, what));
        }
    }

    /// Whether a reason stands in the lines from `head` to `first`, or in the comment directly above.
    fn is_excused(&self, head: usize, first: usize) -> bool {
        let above =
            self.lines[..head - 1].iter().rev().take_while(|line| line.trim_start().starts_with("//"));
        above.chain(&self.lines[head - 1..first]).any(|line| is_reason(line))
    }
}

impl<'ast> Visit<'ast> for Finder<'_> {
    fn visit_item(&mut self, item: &'ast Item) {
        if !is_for_tests(attributes_of(item)) {
            visit::visit_item(self, item);
        }
    }

    fn visit_item_fn(&mut self, function: &'ast ItemFn) {
        self.check(&function.attrs, &function.sig, &function.block);
        visit::visit_item_fn(self, function);
    }

    fn visit_impl_item_fn(&mut self, function: &'ast ImplItemFn) {
        if !is_for_tests(&function.attrs) {
            self.check(&function.attrs, &function.sig, &function.block);
            visit::visit_impl_item_fn(self, function);
        }
    }

    fn visit_trait_item_fn(&mut self, function: &'ast TraitItemFn) {
        if let Some(body) = &function.default {
            self.check(&function.attrs, &function.sig, body);
        }
        visit::visit_trait_item_fn(self, function);
    }
}

/// Whether the file is compiled for tests only, as far as its name tells.
fn is_test_file(path: &Path) -> bool {
    path.components().any(|component| component.as_os_str() == "tests" || component.as_os_str() == "tests.rs")
}

fn attributes_of(item: &Item) -> &[Attribute] {
    match item {
        Item::Fn(ItemFn { attrs, .. })
        | Item::Mod(ItemMod { attrs, .. })
        | Item::Impl(ItemImpl { attrs, .. }) => attrs,
        _ => &[],
    }
}

fn is_for_tests(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| attribute.path().is_ident("test") || is_test_condition(&attribute.meta))
}

/// Whether `meta` is `cfg(test)` or `cfg(all(test, ...))`.
fn is_test_condition(meta: &Meta) -> bool {
    let Meta::List(list) = meta else { return false };
    let condition: String = list.tokens.to_string().split_whitespace().collect();
    list.path.is_ident("cfg") && (condition == "test" || condition.starts_with("all(test,"))
}

fn head_of(attributes: &[Attribute], signature: Span) -> usize {
    let lines = attributes.iter().map(|attribute| attribute.span().start().line);
    lines.chain([signature.start().line]).min().unwrap_or(1)
}

/// Whether the line is a comment that gives a reason, not an empty one.
fn is_reason(line: &str) -> bool {
    let comment = line.trim_start().trim_start_matches(['/', '!', '#']).trim_start();
    comment.strip_prefix(REASON).is_some_and(|reason| !reason.trim().is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn functions_in(text: &str) -> Vec<String> {
        let file = syn::parse_file(text).unwrap();
        let violations = function_violations(&Source::new("a.rs", text), &file);
        violations.into_iter().map(|violation| violation.what).collect()
    }

    /// A function of exactly `lines` lines.
    fn function(lines: usize) -> String {
        format!("fn f() {{\n{}}}\n", "    g();\n".repeat(lines - 2))
    }

    #[test]
    fn a_file_at_the_limit_is_fine_and_one_past_it_is_not() {
        let file = |lines| Source::new("a.rs", &"//\n".repeat(lines));
        assert_eq!(file_violation(&file(MAX_FILE_LINES)), None);
        let violation = file_violation(&file(MAX_FILE_LINES + 1)).unwrap();
        assert!(violation.what.starts_with("801 lines"), "{violation}");
    }

    #[test]
    fn a_long_file_with_a_reason_at_its_head_is_fine() {
        let lines = "x = 1\n".repeat(MAX_FILE_LINES);
        assert_eq!(
            file_violation(&Source::new("a.py", &format!("# {REASON}it is one table.\n{lines}"))),
            None
        );
        assert!(file_violation(&Source::new("a.py", &format!("# {REASON}\n{lines}"))).is_some());
        assert!(file_violation(&Source::new("a.py", &format!("{lines}# {REASON}of the end.\n"))).is_some());
    }

    #[test]
    fn prose_may_be_long() {
        assert_eq!(file_violation(&Source::new("a.md", &"word\n".repeat(9_000))), None);
    }

    #[test]
    fn a_function_at_the_limit_is_fine_and_one_past_it_is_not() {
        assert_eq!(functions_in(&function(MAX_FUNCTION_LINES)), [""; 0]);
        let violations = functions_in(&function(MAX_FUNCTION_LINES + 1));
        assert_eq!(violations.len(), 1);
        assert!(violations[0].starts_with("`f` has 71 lines"), "{violations:?}");
    }

    #[test]
    fn methods_and_default_methods_count_too() {
        let long = function(MAX_FUNCTION_LINES + 1);
        assert_eq!(functions_in(&format!("impl A {{\n{long}}}")).len(), 1);
        assert_eq!(functions_in(&format!("trait A {{\n{long}}}")).len(), 1);
    }

    #[test]
    fn documentation_and_attributes_do_not_count() {
        let documented =
            format!("{}#[must_use]\n{}", "/// Words.\n".repeat(80), function(MAX_FUNCTION_LINES));
        assert_eq!(functions_in(&documented), [""; 0]);
    }

    #[test]
    fn a_reason_excuses_the_function_below_it_alone() {
        let long = function(MAX_FUNCTION_LINES + 1);
        assert_eq!(functions_in(&format!("// {REASON}it is one table.\n{long}")), [""; 0]);
        assert_eq!(
            functions_in(&format!("/// Does.\n// {REASON}it is one table.\n#[inline]\n{long}")),
            [""; 0]
        );
        let second = format!("// {REASON}it is one table.\nfn e() {{}}\n{long}");
        assert_eq!(functions_in(&second).len(), 1);
    }

    #[test]
    fn tests_may_be_long() {
        let long = function(MAX_FUNCTION_LINES + 1);
        assert_eq!(functions_in(&format!("#[test]\n{long}")), [""; 0]);
        assert_eq!(functions_in(&format!("#[cfg(test)]\nmod tests {{\n{long}}}")), [""; 0]);
        assert_eq!(functions_in(&format!("#[cfg(all(test, not(loom)))]\nimpl A {{\n{long}}}")), [""; 0]);
        assert_eq!(functions_in(&format!("#[cfg(not(test))]\n{long}")).len(), 1);
        assert!(is_test_file(Path::new("crates/x/tests/y.rs")) && is_test_file(Path::new("src/x/tests.rs")));
        assert!(!is_test_file(Path::new("xtask/src/test.rs")));
        assert_eq!(functions_in(&format!("#[cfg(unix)]\nmod unix {{\n{long}}}")).len(), 1);
    }
}
