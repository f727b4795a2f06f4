//! The page that shows what a directory holds.

use std::cmp::{Ordering, Reverse};
use std::fmt::Write;
use std::fs::{File, Metadata};
use std::io;
use std::time::SystemTime;

use http::{HeaderValue, header};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_encode};
use rustix::fs::{AtFlags, Dir, FileType, statat};

use super::root::Root;
use crate::{Response, StatusCode};

/// A page shows at most this many entries, and says so if there are more.
pub const MAX_LISTED_ENTRIES: usize = 10_000;

const PAGE: &str = include_str!("listing.html");

/// It has a style of its own and needs nothing else.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'self'";

/// What stands in a link as it is.
const UNRESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');

/// What a directory holds.
#[derive(Debug)]
pub(super) struct Listing {
    items: Vec<Item>,
    is_cut: bool,
}

#[derive(Debug)]
struct Item {
    name: Vec<u8>,
    is_directory: bool,
    size_bytes: u64,
    modified: Option<SystemTime>,
}

/// By what a listing is sorted; directories come first in any case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Column {
    Name,
    Size,
    Modified,
}

/// A listing's order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Order {
    column: Column,
    is_descending: bool,
}

impl Order {
    /// Reads `sort` and `order` of a query; by name where they say nothing.
    pub(super) fn of_query(query: Option<&str>) -> Self {
        let mut order = Self { column: Column::Name, is_descending: false };
        for (name, value) in form_urlencoded::parse(query.unwrap_or("").as_bytes()) {
            match (&*name, &*value) {
                ("sort", "name") => order.column = Column::Name,
                ("sort", "size") => order.column = Column::Size,
                ("sort", "modified") => order.column = Column::Modified,
                ("order", direction) => order.is_descending = direction == "descending",
                _ => {}
            }
        }
        order
    }

    fn compare(self, a: &Item, b: &Item) -> Ordering {
        let by_name = || (a.name.to_ascii_lowercase(), &a.name).cmp(&(b.name.to_ascii_lowercase(), &b.name));
        let by_column = match self.column {
            Column::Name => by_name(),
            Column::Size => a.size_bytes.cmp(&b.size_bytes).then_with(by_name),
            Column::Modified => a.modified.cmp(&b.modified).then_with(by_name),
        };
        let in_direction = if self.is_descending { by_column.reverse() } else { by_column };
        Reverse(a.is_directory).cmp(&Reverse(b.is_directory)).then(in_direction)
    }
}

impl Listing {
    /// Reads an open directory that lies at a path below the root. What could not be fetched is left out.
    pub(super) fn read(root: &Root, path: &[u8], directory: &File, shows_dotfiles: bool) -> io::Result<Self> {
        let mut listing = Self { items: Vec::new(), is_cut: false };
        for entry in Dir::read_from(directory)? {
            let entry = entry?;
            let name = entry.file_name().to_bytes();
            if matches!(name, b"." | b"..") || (name.starts_with(b".") && !shows_dotfiles) {
                continue;
            }
            if listing.items.len() == MAX_LISTED_ENTRIES {
                listing.is_cut = true;
                break;
            }
            listing.items.extend(Item::look_at(root, path, directory, name));
        }
        Ok(listing)
    }

    /// The page; `path` is the directory's below the root.
    pub(super) fn page(mut self, path: &[u8], order: Order) -> Response {
        self.items.sort_by(|a, b| order.compare(a, b));
        let title = format!("/{}", escaped(&String::from_utf8_lossy(path)));
        let notice = if self.is_cut {
            format!("<p>There is more: only {MAX_LISTED_ENTRIES} entries are shown.</p>")
        } else {
            String::new()
        };
        let page = PAGE
            .replace("{{columns}}", &columns(order))
            .replace("{{notice}}", &notice)
            .replace("{{title}}", &title)
            .replace("{{trail}}", &trail(path))
            .replace("{{rows}}", &self.rows(path));
        Response::of_type(const { HeaderValue::from_static("text/html; charset=utf-8") }, page)
            .with_status(StatusCode::OK)
            .with_header(header::CACHE_CONTROL, "no-cache")
            .with_header(header::CONTENT_SECURITY_POLICY, POLICY)
            .with_header(header::X_CONTENT_TYPE_OPTIONS, "nosniff")
    }

    fn rows(&self, path: &[u8]) -> String {
        let mut rows = String::new();
        if !path.is_empty() {
            rows.push_str("<tr><td><a href=\"../\" class=\"directory\">..</a></td><td></td><td></td></tr>\n");
        }
        self.items.iter().for_each(|item| item.add_row(&mut rows));
        rows
    }
}

impl Item {
    fn look_at(root: &Root, path: &[u8], directory: &File, name: &[u8]) -> Option<Self> {
        let stat = statat(directory, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile | FileType::Directory | FileType::Symlink => {}
            _ => return None,
        }
        // Only what may be fetched is shown, and of a link what it leads to.
        let separator = if path.is_empty() { &b""[..] } else { b"/" };
        let metadata = root.open(&[path, separator, name].concat()).ok()?.metadata().ok()?;
        Self::of(name, &metadata)
    }

    fn of(name: &[u8], metadata: &Metadata) -> Option<Self> {
        (metadata.is_file() || metadata.is_dir()).then(|| Self {
            name: name.to_owned(),
            is_directory: metadata.is_dir(),
            size_bytes: if metadata.is_dir() { 0 } else { metadata.len() },
            modified: metadata.modified().ok(),
        })
    }

    fn add_row(&self, rows: &mut String) {
        let (class, slash) = if self.is_directory { ("directory", "/") } else { ("file", "") };
        let link = percent_encode(&self.name, UNRESERVED);
        let name = escaped(&String::from_utf8_lossy(&self.name));
        let size = if self.is_directory { String::new() } else { human_size(self.size_bytes) };
        let modified = self.modified.map_or(String::new(), human_time);
        let bytes = self.size_bytes;
        let _ = writeln!(
            rows,
            "<tr><td><a href=\"./{link}{slash}\" class=\"{class}\">{name}{slash}</a></td>\
             <td title=\"{bytes} bytes\">{size}</td><td>{modified}</td></tr>"
        );
    }
}

/// The table's head: a link for each column, which turns the order of the one by which it is sorted.
fn columns(order: Order) -> String {
    let columns = [
        (Column::Name, "name", "Name"),
        (Column::Size, "size", "Size"),
        (Column::Modified, "modified", "Modified (UTC)"),
    ];
    let column = |(column, key, text)| {
        let (state, direction) = match (order.column == column, order.is_descending) {
            (false, _) => ("none", "ascending"),
            (true, false) => ("ascending", "descending"),
            (true, true) => ("descending", "ascending"),
        };
        format!("<th aria-sort=\"{state}\"><a href=\"?sort={key}&amp;order={direction}\">{text}</a></th>")
    };
    columns.map(column).concat()
}

/// Links to the directories above.
fn trail(path: &[u8]) -> String {
    let names: Vec<&[u8]> = path.split(|&byte| byte == b'/').filter(|name| !name.is_empty()).collect();
    let link = |levels: usize| if levels == 0 { "./".to_owned() } else { "../".repeat(levels) };
    let mut trail = format!("<a href=\"{}\">/</a>", link(names.len()));
    for (index, name) in names.iter().enumerate() {
        let text = escaped(&String::from_utf8_lossy(name));
        let _ = write!(trail, "<a href=\"{}\">{text}/</a>", link(names.len() - index - 1));
    }
    trail
}

fn human_size(bytes: u64) -> String {
    const UNITS: [&str; 6] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    if bytes < 1024 {
        return format!("{bytes} B");
    }
    let power = (bytes.ilog2() / 10) as usize;
    format!("{:.1} {}", bytes as f64 / 1024f64.powi(power as i32), UNITS[power - 1])
}

/// Such as `06 Nov 1994 08:49`.
fn human_time(time: SystemTime) -> String {
    let is_nameable =
        time.duration_since(SystemTime::UNIX_EPOCH).is_ok_and(|since| since.as_secs() < 253_402_300_800);
    if !is_nameable {
        return String::new();
    }
    let date = httpdate::fmt_http_date(time);
    date.get(5..22).unwrap_or_default().to_owned()
}

fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            // So that a name is none of the page's placeholders.
            '{' => escaped.push_str("&#123;"),
            c if c.is_control() => escaped.push('\u{fffd}'),
            c => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(name: &str, is_directory: bool, size_bytes: u64, modified_s: u64) -> Item {
        let modified = Some(SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(modified_s));
        Item { name: name.into(), is_directory, size_bytes, modified }
    }

    fn sorted(query: &str) -> Vec<String> {
        let mut items = vec![
            item("b.txt", false, 3, 30),
            item("A.txt", false, 20, 10),
            item("z", true, 0, 40),
            item("c.txt", false, 1, 20),
            item("m", true, 0, 5),
        ];
        items.sort_by(|a, b| Order::of_query(Some(query)).compare(a, b));
        items.into_iter().map(|item| String::from_utf8(item.name).unwrap()).collect()
    }

    #[test]
    fn directories_come_first_in_every_order() {
        for (query, names) in [
            ("", ["m", "z", "A.txt", "b.txt", "c.txt"]),
            ("sort=nonsense&order=nonsense", ["m", "z", "A.txt", "b.txt", "c.txt"]),
            ("sort=name&order=descending", ["z", "m", "c.txt", "b.txt", "A.txt"]),
            ("sort=size", ["m", "z", "c.txt", "b.txt", "A.txt"]),
            ("sort=modified", ["m", "z", "A.txt", "c.txt", "b.txt"]),
            ("sort=modified&order=descending", ["z", "m", "b.txt", "c.txt", "A.txt"]),
        ] {
            assert_eq!(sorted(query), names, "{query}");
        }
    }

    #[test]
    fn names_cannot_become_markup_or_leave_the_directory() {
        let listing = Listing {
            items: vec![
                item("<img src=x onerror=alert(1)>'\"&", false, 1, 0),
                item("javascript:x", false, 1, 0),
                item("{{rows}}", false, 1, 0),
            ],
            is_cut: false,
        };
        let response = listing.page(b"<b>", Order::of_query(None));
        let page = std::str::from_utf8(response.body().as_bytes().unwrap()).unwrap();
        assert!(!page.contains("<img") && !page.contains("<b>"), "{page}");
        assert!(page.contains("href=\"./%3Cimg%20src%3Dx%20onerror%3Dalert%281%29%3E%27%22%26\""), "{page}");
        assert!(page.contains("href=\"./javascript%3Ax\""), "{page}");
        assert!(!page.contains("{{"), "something is not filled in: {page}");
        assert!(page.contains(">&#123;&#123;rows}}<"), "a name is no placeholder: {page}");
    }

    #[test]
    fn a_directory_of_too_many_entries_is_cut() {
        let directory = tempfile::tempdir().unwrap();
        let root = Root::new(directory.path());
        let read = || Listing::read(&root, b"", &root.open(b"").unwrap(), false).unwrap();
        for n in 0..MAX_LISTED_ENTRIES {
            File::create(directory.path().join(n.to_string())).unwrap();
        }
        let whole = read();
        assert!(whole.items.len() == MAX_LISTED_ENTRIES && !whole.is_cut);
        File::create(directory.path().join("one more")).unwrap();
        let cut = read();
        assert!(cut.items.len() == MAX_LISTED_ENTRIES && cut.is_cut);
        let page = cut.page(b"", Order::of_query(None)).into_body().into_bytes(10 << 20).unwrap();
        assert!(String::from_utf8_lossy(&page).contains("only 10000 entries are shown"));
    }

    #[test]
    fn the_trail_leads_up() {
        assert_eq!(trail(b""), "<a href=\"./\">/</a>");
        assert_eq!(trail(b"a/b"), "<a href=\"../../\">/</a><a href=\"../\">a/</a><a href=\"./\">b/</a>");
    }

    #[test]
    fn sizes_and_times_are_short() {
        for (bytes, text) in [
            (0, "0 B"),
            (1023, "1023 B"),
            (1024, "1.0 KiB"),
            (1536, "1.5 KiB"),
            (5 << 20, "5.0 MiB"),
            (u64::MAX, "16.0 EiB"),
        ] {
            assert_eq!(human_size(bytes), text);
        }
        assert_eq!(human_time(SystemTime::UNIX_EPOCH), "01 Jan 1970 00:00");
    }
}
