//! Names that are fit for a file.

/// Most bytes of a file's name; file systems allow 255, and a number may be added.
pub(crate) const MAX_FILE_NAME_BYTES: usize = 200;

/// What a client calls its file, made fit to be a file's name in a directory: no path, nothing hidden, nothing that another
/// system could not store. `None` when nothing is left.
pub(crate) fn sanitised(name: &str) -> Option<String> {
    let last = name.rsplit(['/', '\\']).next().unwrap_or_default();
    let plain: String = last.chars().filter(|c| !c.is_control() && !is_invisible(*c)).map(replaced).collect();
    let trimmed = plain.trim_start_matches(|c: char| c == '.' || c.is_whitespace());
    let short = shortened(trimmed);
    let fit = short.trim_end_matches(|c: char| c == '.' || c.is_whitespace());
    (!fit.is_empty()).then(|| if is_device(fit) { format!("_{fit}") } else { fit.to_owned() })
}

/// The same name for the `count`th file that has it: `report (2).pdf`.
pub(crate) fn numbered(name: &str, count: u32) -> String {
    let (stem, extension) = split_extension(name);
    format!("{stem} ({count}){extension}")
}

fn replaced(c: char) -> char {
    if matches!(c, '<' | '>' | ':' | '"' | '|' | '?' | '*') { '_' } else { c }
}

/// Characters that change how a name is shown without being seen.
fn is_invisible(c: char) -> bool {
    matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

/// Names that Windows gives to devices, whatever their extension.
fn is_device(name: &str) -> bool {
    let stem = name.split('.').next().unwrap_or_default().trim_end().to_ascii_uppercase();
    let is_numbered = |prefix| {
        stem.strip_prefix(prefix).is_some_and(|digit: &str| matches!(digit.as_bytes(), [b'1'..=b'9']))
    };
    matches!(stem.as_str(), "CON" | "PRN" | "AUX" | "NUL") || is_numbered("COM") || is_numbered("LPT")
}

/// Cuts the stem, so that the extension still says what the file is.
fn shortened(name: &str) -> String {
    if name.len() <= MAX_FILE_NAME_BYTES {
        return name.to_owned();
    }
    let (stem, extension) = split_extension(name);
    let room = MAX_FILE_NAME_BYTES.saturating_sub(extension.len());
    let end = (0..=room.min(stem.len())).rev().find(|end| stem.is_char_boundary(*end)).unwrap_or(0);
    format!("{}{extension}", &stem[..end])
}

/// An extension has up to 15 ASCII letters and digits behind its dot; any other dot is a part of the name.
fn split_extension(name: &str) -> (&str, &str) {
    let Some(dot) = name.rfind('.').filter(|dot| *dot > 0) else { return (name, "") };
    let extension = &name[dot + 1..];
    let is_extension =
        (1..=15).contains(&extension.len()) && extension.bytes().all(|byte| byte.is_ascii_alphanumeric());
    if is_extension { name.split_at(dot) } else { (name, "") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn readable_names_stay() {
        for name in
            ["loom.jpg", "Bericht für Ägypten (neu).tar.gz", "織物.png", "a b", "no-extension", "1.5 GiB"]
        {
            assert_eq!(sanitised(name).as_deref(), Some(name));
        }
    }

    #[test]
    fn nothing_leaves_the_directory_or_hides() {
        for (name, fit) in [
            ("../../etc/passwd", "passwd"),
            ("C:\\Windows\\system.ini", "system.ini"),
            (".bashrc", "bashrc"),
            ("..hidden", "hidden"),
            ("a\0b\r\nc", "abc"),
            ("a:b?c*d", "a_b_c_d"),
            ("trailing. . ", "trailing"),
            ("gpj.\u{202e}exe", "gpj.exe"),
            ("nul.txt", "_nul.txt"),
            ("COM1", "_COM1"),
            ("console.log", "console.log"),
        ] {
            assert_eq!(sanitised(name).as_deref(), Some(fit), "{name:?}");
        }
        for name in ["", ".", "..", "/", "a/", "\u{200b}", " . "] {
            assert_eq!(sanitised(name), None, "{name:?}");
        }
    }

    #[test]
    fn a_long_name_keeps_its_extension() {
        for name in ["x".repeat(500) + ".jpg", "織".repeat(200) + ".jpg"] {
            let fit = sanitised(&name).unwrap();
            assert!(fit.len() <= MAX_FILE_NAME_BYTES && fit.ends_with(".jpg"), "{fit}");
        }
        assert!(sanitised(&".".repeat(500)).is_none());
        assert!(sanitised(&format!("a.{}", "y".repeat(500))).unwrap().len() <= MAX_FILE_NAME_BYTES);
    }

    #[test]
    fn a_number_goes_before_the_extension() {
        assert_eq!(numbered("loom.jpg", 2), "loom (2).jpg");
        assert_eq!(numbered("loom", 3), "loom (3)");
        assert_eq!(numbered("v1. final", 2), "v1. final (2)");
    }
}
