//! `cargo xtask layers`: crates depend on each other downwards only, and protocol crates do no I/O.
//!
//! The picture is in ARCHITECTURE.md; this is the same picture as a table that the build refuses to leave.

mod purity;

use std::fmt;

use anyhow::{Context, bail};

use crate::workspace::{Dependency, DependencyKind, Package, Workspace};

/// Where a crate stands. Protocol crates stand on the ground floor too, but may not even touch the operating system.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Layer {
    Net,
    Protocol,
    Engine,
    Facade,
    Product,
    /// What joins a product to a program of others.
    Integration,
    Command,
    Testkit,
    Chores,
}

/// Every crate of the workspace; a new one is entered here first.
const LAYERS: &[(&str, Layer)] = &[
    ("tayet-net", Layer::Net),
    ("tayet-http1", Layer::Protocol),
    ("tayet-websocket", Layer::Protocol),
    ("tayet-engine", Layer::Engine),
    ("tayet", Layer::Facade),
    ("tayet-tus", Layer::Product),
    ("tayet-tus-s3", Layer::Integration),
    ("tayet-mongo", Layer::Product),
    ("tayet-wsgi", Layer::Product),
    ("tayet-cli", Layer::Command),
    ("tayet-testkit", Layer::Testkit),
    ("tayet-bench", Layer::Testkit),
    ("xtask", Layer::Chores),
];

/// Checks the workspace; the error lists every violation.
pub(crate) fn run(workspace: &Workspace) -> anyhow::Result<()> {
    let packages = workspace.packages()?;
    let mut violations = direction_violations(&packages);
    for package in packages.iter().filter(|package| layer_of(&package.name) == Some(Layer::Protocol)) {
        let sources = package.manifest_path.parent().context("a manifest lies in a directory")?.join("src");
        violations.extend(purity::violations(&sources)?);
    }
    if !violations.is_empty() {
        bail!("{}", violations.join("\n"));
    }
    println!("layers: {} crates in order", packages.len());
    Ok(())
}

fn direction_violations(packages: &[Package]) -> Vec<String> {
    packages.iter().flat_map(package_violations).collect()
}

fn package_violations(package: &Package) -> Vec<String> {
    let Some(from) = layer_of(&package.name) else {
        return vec![format!(
            "{}: not in the table of xtask/src/layers.rs; say which layer it is",
            package.name
        )];
    };
    let refusal = |dependency: &Dependency| {
        let to = layer_of(&dependency.name)?;
        let allowed = from.may_depend_on(to, dependency.kind);
        (!allowed).then(|| format!("{} ({from}) depends on {} ({to})", package.name, dependency.name))
    };
    package.dependencies.iter().filter_map(refusal).collect()
}

fn layer_of(name: &str) -> Option<Layer> {
    LAYERS.iter().find(|(entry, _)| *entry == name).map(|(_, layer)| *layer)
}

impl Layer {
    fn may_depend_on(self, to: Self, kind: Option<DependencyKind>) -> bool {
        if to == Self::Testkit {
            return kind == Some(DependencyKind::Dev);
        }
        match self {
            Self::Net | Self::Protocol | Self::Chores => false,
            Self::Engine => to.is_ground_floor(),
            Self::Facade => to == Self::Engine,
            Self::Product => to == Self::Facade,
            Self::Integration => matches!(to, Self::Facade | Self::Product),
            Self::Command => matches!(to, Self::Facade | Self::Product | Self::Integration),
            Self::Testkit => to.is_ground_floor() || to == Self::Engine,
        }
    }

    fn is_ground_floor(self) -> bool {
        matches!(self, Self::Net | Self::Protocol)
    }
}

impl fmt::Display for Layer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Net => "ground floor",
            Self::Protocol => "protocol",
            Self::Engine => "engine",
            Self::Facade => "facade",
            Self::Product => "product",
            Self::Integration => "integration",
            Self::Command => "command",
            Self::Testkit => "test kit",
            Self::Chores => "chores",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn package(name: &str, dependencies: &[(&str, Option<DependencyKind>)]) -> Package {
        let dependency = |(name, kind): &(&str, _)| Dependency { name: (*name).to_owned(), kind: *kind };
        Package {
            name: name.to_owned(),
            manifest_path: "Cargo.toml".into(),
            dependencies: dependencies.iter().map(dependency).collect(),
        }
    }

    #[test]
    fn downwards_is_allowed() {
        let packages = [
            package("tayet-http1", &[("bytes", None)]),
            package("tayet-engine", &[("tayet-net", None), ("tayet-http1", None)]),
            package("tayet", &[("tayet-engine", None), ("serde", None)]),
            package("tayet-tus", &[("tayet", None), ("sha2", None)]),
            package("tayet-tus-s3", &[("tayet-tus", None), ("ureq", None)]),
            package("tayet-cli", &[("tayet", None), ("tayet-tus", None), ("tayet-tus-s3", None)]),
            package("tayet-testkit", &[("tayet-net", None), ("tayet-engine", None)]),
        ];
        assert_eq!(direction_violations(&packages), [""; 0]);
    }

    #[test]
    fn sideways_upwards_and_past_a_layer_are_refused() {
        for (from, to) in [
            ("tayet-http1", "tayet-net"),
            ("tayet-net", "tayet-http1"),
            ("tayet-net", "tayet-engine"),
            ("tayet-engine", "tayet"),
            ("tayet", "tayet-http1"),
            ("tayet", "tayet-cli"),
            ("tayet-cli", "tayet-engine"),
            ("tayet-tus", "tayet-engine"),
            ("tayet-tus", "tayet-cli"),
            ("tayet-tus", "tayet-tus-s3"),
            ("tayet-testkit", "tayet"),
            ("xtask", "tayet"),
            ("tayet", "xtask"),
        ] {
            let violations = direction_violations(&[package(from, &[(to, None)])]);
            assert_eq!(violations.len(), 1, "{from} -> {to}");
            assert!(violations[0].starts_with(from) && violations[0].contains(to), "{violations:?}");
        }
    }

    #[test]
    fn the_test_kit_is_for_tests_only() {
        let dev = package("tayet-http1", &[("tayet-testkit", Some(DependencyKind::Dev))]);
        assert_eq!(direction_violations(&[dev]), [""; 0]);
        for kind in [None, Some(DependencyKind::Build)] {
            let package = package("tayet-engine", &[("tayet-testkit", kind)]);
            assert_eq!(
                direction_violations(&[package]),
                ["tayet-engine (engine) depends on tayet-testkit (test kit)"]
            );
        }
    }

    #[test]
    fn tests_do_not_excuse_an_upward_dependency() {
        let upwards = package("tayet-net", &[("tayet-engine", Some(DependencyKind::Dev))]);
        assert_eq!(direction_violations(&[upwards]).len(), 1);
    }

    #[test]
    fn a_crate_without_a_layer_is_refused() {
        let violations = direction_violations(&[package("tayet-new", &[])]);
        assert_eq!(violations.len(), 1);
        assert!(violations[0].starts_with("tayet-new: not in the table"), "{violations:?}");
    }
}
