//! What no text of the repository says: notes to oneself, and where somebody's machine keeps things.

use super::{Source, Violation};

/// Put together here, so that this file passes its own check.
const NOTES: &[&str] = &[concat!("TO", "DO"), concat!("FIX", "ME"), concat!("X", "XX")];
const MACHINE_PATHS: &[&str] =
    &[concat!("/ro", "ot/"), concat!("/ho", "me/"), concat!("/Use", "rs/"), concat!("/wo", "rk/")];

/// Every note and every path of a machine.
pub(super) fn violations(source: &Source) -> Vec<Violation> {
    let mut violations = Vec::new();
    for (index, line) in source.text.lines().enumerate() {
        for note in NOTES.iter().filter(|note| has_word(line, note)) {
            violations.push(source.violation(index + 1, format!("{note}: do it, or open an issue")));
        }
        for path in MACHINE_PATHS.iter().filter(|path| has_absolute_path(line, path)) {
            violations.push(source.violation(index + 1, format!("{path}... is a path of one machine")));
        }
    }
    violations
}

fn has_word(line: &str, word: &str) -> bool {
    line.match_indices(word).any(|(start, _)| {
        let before = line[..start].chars().next_back();
        let after = line[start + word.len()..].chars().next();
        !before.is_some_and(is_word_character) && !after.is_some_and(is_word_character)
    })
}

fn has_absolute_path(line: &str, path: &str) -> bool {
    let continues_a_path =
        |character: char| is_word_character(character) || matches!(character, '.' | '-' | '/' | '~' | '}');
    line.match_indices(path)
        .any(|(start, _)| !line[..start].chars().next_back().is_some_and(continues_a_path))
}

fn is_word_character(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found_in(text: &str) -> Vec<usize> {
        violations(&Source::new("a.txt", text)).into_iter().map(|violation| violation.line).collect()
    }

    #[test]
    fn notes_are_found_as_words_only() {
        for note in NOTES {
            assert_eq!(found_in(&format!("fine\n// {note}: later")), [2]);
            assert_eq!(found_in(&format!("# {note}(somebody)")), [1]);
            assert_eq!(found_in(&format!("MY{note}S {note}_LIST")), [0; 0]);
        }
    }

    #[test]
    fn paths_of_a_machine_are_found() {
        for path in MACHINE_PATHS {
            assert_eq!(found_in(&format!("see {path}me/notes")), [1]);
            assert_eq!(found_in(&format!("\"{path}x\"")), [1]);
            assert_eq!(
                found_in(&format!("https://example.org{path}x and target{path}x and ~{path}")),
                [0; 0]
            );
        }
    }
}
