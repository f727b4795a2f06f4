//! A test that does not run says why.

use syn::visit::{self, Visit};
use syn::{Attribute, Meta};

use super::{Source, Violation};

/// Put together here, so that this file passes its own check.
const PYTHON_MARKS: &[&str] = &[concat!("pytest.mark.", "skip"), concat!("pytest.mark.", "xfail")];

/// Every `#[ignore]` without `= "reason"`.
pub(super) fn rust_violations(source: &Source, file: &syn::File) -> Vec<Violation> {
    let mut finder = Finder { source, violations: Vec::new() };
    finder.visit_file(file);
    finder.violations
}

/// Every skipped or expected-to-fail Python test without a `reason=` on the same line.
pub(super) fn python_violations(source: &Source) -> Vec<Violation> {
    let lines = source.text.lines().enumerate();
    let is_unexplained =
        |line: &str| PYTHON_MARKS.iter().any(|mark| line.contains(mark)) && !line.contains("reason=");
    lines
        .filter(|(_, line)| is_unexplained(line))
        .map(|(index, _)| source.violation(index + 1, "a test that does not run says why: `reason=...`"))
        .collect()
}

struct Finder<'a> {
    source: &'a Source,
    violations: Vec<Violation>,
}

impl<'ast> Visit<'ast> for Finder<'_> {
    fn visit_attribute(&mut self, attribute: &'ast Attribute) {
        if let Meta::Path(path) = &attribute.meta
            && let Some(ident) = path.get_ident().filter(|ident| *ident == "ignore")
        {
            let what = "a test that does not run says why: `#[ignore = \"...\"]`";
            self.violations.push(self.source.violation(ident.span().start().line, what));
        }
        visit::visit_attribute(self, attribute);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rust_lines(text: &str) -> Vec<usize> {
        let file = syn::parse_file(text).unwrap();
        let violations = rust_violations(&Source::new("a.rs", text), &file);
        violations.into_iter().map(|violation| violation.line).collect()
    }

    #[test]
    fn an_ignored_test_needs_a_reason() {
        assert_eq!(rust_lines("#[test]\n#[ignore]\nfn f() {}"), [2]);
        assert_eq!(rust_lines("#[test]\n#[ignore = \"needs a kernel module\"]\nfn f() {}"), [0; 0]);
    }

    #[test]
    fn a_skipped_python_test_needs_a_reason() {
        for mark in PYTHON_MARKS {
            let text =
                format!("@{mark}\ndef test_a(): ...\n@{mark}(reason=\"no IPv6\")\ndef test_b(): ...\n");
            let lines: Vec<_> = python_violations(&Source::new("a.py", &text))
                .into_iter()
                .map(|violation| violation.line)
                .collect();
            assert_eq!(lines, [1]);
        }
    }
}
