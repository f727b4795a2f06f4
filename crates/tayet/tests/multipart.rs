//! Forms with files: taken apart however they are cut, and read in handlers.

use std::fs;
use std::io::Read;
use std::path::Path;

use tayet::multipart::{Event, Parser};
use tayet::testing::{TestClient, TestResponse};
use tayet::{Multipart, MultipartError, MultipartLimits, Router, StatusCode};

/// What a form holds: names, file names and contents.
type Parts = Vec<(String, Option<String>, Vec<u8>)>;

/// Parts as far as they came, and how it ended.
type Outcome = (Parts, Result<(), MultipartError>);

fn parse<'a>(pieces: impl Iterator<Item = &'a [u8]>, limits: MultipartLimits) -> Outcome {
    let mut parser = Parser::new("AaB03x", limits).unwrap();
    let mut parts = Parts::new();
    let mut is_open = false;
    for piece in pieces {
        let mut input = piece;
        loop {
            match parser.receive(&mut input) {
                Ok(Some(Event::Part(head))) => {
                    assert!(!is_open);
                    is_open = true;
                    parts.push((head.name().to_owned(), head.file_name().map(str::to_owned), Vec::new()));
                }
                Ok(Some(Event::Data(data))) => {
                    assert!(is_open && !data.is_empty());
                    parts.last_mut().unwrap().2.extend_from_slice(data);
                }
                Ok(Some(Event::PartEnd)) => is_open = false,
                Ok(Some(Event::End)) => assert!(!is_open),
                Ok(None) => {
                    assert!(input.is_empty(), "more is wanted, but not all was taken");
                    break;
                }
                Err(error) => {
                    assert_eq!(parser.receive(&mut &b"--AaB03x"[..]), Err(error.clone()), "it stays failed");
                    return (parts, Err(error));
                }
            }
        }
    }
    (parts, parser.finish())
}

/// Parses a form whole, byte by byte, and cut in two everywhere; always with the same outcome.
#[track_caller]
fn parse_cut_everywhere(form: &[u8], limits: MultipartLimits) -> Outcome {
    let whole = parse([form].into_iter(), limits);
    let text = String::from_utf8_lossy(form);
    assert_eq!(parse(form.chunks(1), limits), whole, "byte by byte: {text:?}");
    for at in 0..=form.len() {
        let (first, second) = form.split_at(at);
        assert_eq!(parse([first, second].into_iter(), limits), whole, "cut at {at}: {text:?}");
    }
    whole
}

#[track_caller]
fn contents(form: &str) -> Vec<String> {
    let (parts, end) = parse_cut_everywhere(form.as_bytes(), MultipartLimits::default());
    assert_eq!(end, Ok(()), "{form:?}");
    parts.into_iter().map(|(_, _, content)| String::from_utf8(content).unwrap()).collect()
}

#[track_caller]
fn error_of(form: &str, limits: MultipartLimits) -> MultipartError {
    parse_cut_everywhere(form.as_bytes(), limits).1.expect_err(form)
}

fn part(name: &str, content: &str) -> String {
    format!("--AaB03x\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{content}\r\n")
}

fn file(file_name: &str, content: &str) -> String {
    let disposition = format!("Content-Disposition: form-data; name=\"file\"; filename=\"{file_name}\"");
    format!("--AaB03x\r\n{disposition}\r\nContent-Type: text/plain\r\n\r\n{content}\r\n")
}

const END: &str = "--AaB03x--\r\n";

#[test]
fn a_form_as_browsers_send_it() {
    let form = part("title", "Loom") + &file("a.txt", "one\r\ntwo\r\n") + &file("", "") + END;
    let (parts, end) = parse_cut_everywhere(form.as_bytes(), MultipartLimits::default());
    assert_eq!(end, Ok(()));
    let expected: [(&str, Option<&str>, &[u8]); 3] =
        [("title", None, b"Loom"), ("file", Some("a.txt"), b"one\r\ntwo\r\n"), ("file", Some(""), b"")];
    for ((name, file_name, content), expected) in parts.iter().zip(expected) {
        assert_eq!((name.as_str(), file_name.as_deref(), &content[..]), expected);
    }
    assert_eq!(parts.len(), 3);
}

#[test]
fn what_only_looks_like_a_boundary_is_content() {
    for content in [
        "\r",
        "\n",
        "\r\n",
        "\r\n--",
        "\r\n--AaB03",
        "\r\n--AaB03\r\n--AaB03",
        "\r\r\n--AaB03y",
        "--AaB03x",
        "\n--AaB03x",
        "\r--AaB03x",
        "\r\n-AaB03x",
        "\r\n--aab03x",
        "x--AaB03x--\r\n",
        "\r\n\r\n\r\n--",
    ] {
        assert_eq!(contents(&(part("a", content) + &part("b", "") + END)), [content, ""]);
    }
}

#[test]
fn what_has_no_meaning_is_passed_over() {
    let form = format!(
        "a preamble\r\n--AaB03\r\n{}--AaB03x--\t \r\nan epilogue\r\n{}",
        part("a", "1"),
        part("b", "2")
    );
    assert_eq!(contents(&form), ["1"]);
    assert_eq!(contents(&format!("\r\n{}", part("a", "1") + END)), ["1"]);
    assert_eq!(contents(&(part("a", "1").replace("AaB03x\r\n", "AaB03x \t\r\n") + "--AaB03x--")), ["1"]);
    assert_eq!(contents("--AaB03x--"), [""; 0]);
}

#[test]
fn boundary_lines_are_strict() {
    let limits = MultipartLimits::default();
    for form in [
        "--AaB03x",
        "--AaB03x-",
        "--AaB03x\r",
        "--AaB03x--\r",
        "",
        "text",
        &part("a", "1"),
        &(part("a", "1") + "--AaB03x"),
        part("a", "1").trim_end(),
        "--AaB03x\r\nContent-Disposition: form-data; name=a\r\n",
    ] {
        assert_eq!(error_of(form, limits), MultipartError::Truncated, "{form:?}");
    }
    for form in [
        "--AaB03xyz\r\n".to_owned(),
        "--AaB03x\n".to_owned(),
        "--AaB03x\rx".to_owned(),
        "--AaB03x -".to_owned(),
        "--AaB03x-\r\n".to_owned(),
        "--AaB03x--x".to_owned(),
        "--AaB03x--\n".to_owned(),
        "--AaB03x-- \rx".to_owned(),
        part("a", "1\r\n--AaB03xy") + END,
    ] {
        assert_eq!(error_of(&form, limits), MultipartError::MalformedBoundaryLine, "{form:?}");
    }
}

#[test]
fn part_headers_are_strict() {
    let limits = MultipartLimits::default();
    let with = |lines: &str| format!("--AaB03x\r\n{lines}\r\n\r\n1\r\n{END}");
    for lines in ["", "\r\nContent-Disposition: form-data; name=a", "Content-Type: text/plain"] {
        assert_eq!(error_of(&with(lines), limits), MultipartError::MalformedDisposition, "{lines:?}");
    }
    for lines in [
        "Content-Disposition: form-data; name=a\nX: 1",
        "Content-Disposition: form-data;\r\n name=a",
        "no colon",
        "--AaB03x",
    ] {
        assert_eq!(error_of(&with(lines), limits), MultipartError::MalformedPartHeader, "{lines:?}");
    }
    assert_eq!(contents(&with("CONTENT-DISPOSITION:form-data;name=a")), ["1"]);
}

#[test]
fn every_limit_is_kept_to_the_byte() {
    let small = MultipartLimits {
        max_fields: 2,
        max_files: 1,
        max_field_bytes: 5,
        max_file_bytes: 9,
        max_part_header_bytes: 100,
        max_preamble_bytes: 8,
    };
    let header = |length: usize| {
        let lines = "Content-Disposition: form-data; name=a\r\nX: ";
        format!("--AaB03x\r\n{lines}{}\r\n\r\n1\r\n{END}", "x".repeat(length - lines.len() - 4))
    };
    let padded = |length: usize| {
        let lines = "Content-Disposition: form-data; name=a\r\n\r\n";
        format!("--AaB03x{}\r\n{lines}1\r\n{END}", " ".repeat(length - lines.len()))
    };
    for (at, past, error) in [
        (
            part("a", "1") + &part("b", "2") + END,
            part("a", "1") + &part("b", "2") + &part("c", "3") + END,
            MultipartError::TooManyFields { limit: 2 },
        ),
        (
            file("a", "1") + END,
            file("a", "1") + &file("", "") + END,
            MultipartError::TooManyFiles { limit: 1 },
        ),
        (
            part("a", "12345") + END,
            part("a", "123456") + END,
            MultipartError::FieldTooLarge { limit_bytes: 5 },
        ),
        (
            part("a", "\r\n--A") + END,
            part("a", "\r\n--Aa") + END,
            MultipartError::FieldTooLarge { limit_bytes: 5 },
        ),
        (
            file("a", "123456789") + END,
            file("a", "1234567890") + END,
            MultipartError::FileTooLarge { limit_bytes: 9 },
        ),
        (header(100), header(101), MultipartError::PartHeaderTooLarge { limit_bytes: 100 }),
        (padded(100), padded(101), MultipartError::PartHeaderTooLarge { limit_bytes: 100 }),
        (
            format!("12345678\r\n{}{END}", part("a", "1")),
            format!("123456789\r\n{}{END}", part("a", "1")),
            MultipartError::PreambleTooLarge { limit_bytes: 8 },
        ),
        (
            format!("{}{END}123456", part("a", "1")),
            format!("{}{END}1234567", part("a", "1")),
            MultipartError::PreambleTooLarge { limit_bytes: 8 },
        ),
    ] {
        assert_eq!(parse_cut_everywhere(at.as_bytes(), small).1, Ok(()), "{at:?}");
        assert_eq!(error_of(&past, small), error, "{past:?}");
        assert_eq!(error.status(), 413);
    }
}

#[test]
fn what_was_within_a_limit_has_been_handed_out() {
    let limits = MultipartLimits { max_field_bytes: 3, ..MultipartLimits::default() };
    let (parts, end) = parse_cut_everywhere((part("a", "\r\n--\r\n") + END).as_bytes(), limits);
    assert_eq!(end, Err(MultipartError::FieldTooLarge { limit_bytes: 3 }));
    assert_eq!(parts[0].2, b"\r\n-");
}

#[test]
fn of_two_errors_behind_the_last_boundary_it_is_the_first_however_it_is_cut() {
    let limits = MultipartLimits { max_preamble_bytes: 2, ..MultipartLimits::default() };
    let end = END.trim_end();
    assert_eq!(
        error_of(&format!("{}{end}   x", part("a", "1")), limits),
        MultipartError::PreambleTooLarge { limit_bytes: 2 }
    );
    assert_eq!(
        error_of(&format!("{}{end} x  ", part("a", "1")), limits),
        MultipartError::MalformedBoundaryLine
    );
}

/// A handler that tells what it got.
fn describe(mut form: Multipart) -> tayet::Result<String> {
    let mut said = String::new();
    while let Some(mut part) = form.next_part()? {
        let content = part.text()?;
        said += &format!("{}={content};", part.name());
    }
    Ok(said)
}

fn post(client: &TestClient, form: &str) -> TestResponse {
    let content_type = "multipart/form-data; boundary=AaB03x";
    client.post("/").header("Content-Type", content_type).body(form.to_owned()).send()
}

#[test]
fn handlers_read_part_by_part() {
    let client = TestClient::new(Router::new().post("/", describe));
    let form = part("a", "1") + &file("x", "2") + &part("b", "") + END;
    assert_eq!(post(&client, &form).text(), "a=1;file=2;b=;");
    let response = post(&client, &form[..form.len() - 9]);
    assert_eq!(response.status(), 400);
    assert!(response.text().contains("the form ends before its last boundary"), "{}", response.text());
    let large = part("a", &"x".repeat(256 * 1024 + 1)) + END;
    assert_eq!(post(&client, &large).status(), 413);
    let not_a_form = client.post("/").json("{}").send();
    assert_eq!(not_a_form.status(), 415);
    assert!(not_a_form.text().contains("the body must be multipart/form-data, not application/json"));
    assert_eq!(client.post("/").header("Content-Type", "multipart/form-data").body("x").send().status(), 400);
    let latin1 = [part("a", "").trim_end().as_bytes(), b"\r\n\r\n\xfc\r\n", END.as_bytes()].concat();
    let request = client.post("/").header("Content-Type", "multipart/form-data; boundary=AaB03x");
    assert_eq!(request.body(latin1).send().status(), 400);
}

#[test]
fn what_is_not_read_of_a_part_is_passed_over() {
    fn second(mut form: Multipart) -> tayet::Result<String> {
        let mut first = form.next_part()?.expect("a part");
        let mut start = [0; 3];
        first.read_exact(&mut start)?;
        let mut second = form.next_part()?.expect("a second part");
        let text = second.text()?;
        assert!(form.next_part()?.is_none());
        assert!(form.next_part()?.is_none());
        Ok(format!("{} {text} {}", String::from_utf8_lossy(&start), form.bytes_read()))
    }
    let client = TestClient::new(Router::new().post("/", second));
    let form = file("a", &"0123456789".repeat(100_000)) + &part("b", "2") + END;
    assert_eq!(post(&client, &form).text(), format!("012 2 {}", form.len()));
}

#[test]
fn a_part_is_read_in_pieces_of_any_size() {
    let content: String = (0..200_000).map(|n| ["\r\n--AaB03", "\r", "x\n", "abc"][n % 4]).collect();
    let expected = content.clone();
    for size in [1, 2, 7, 4096, 1 << 20] {
        let expected = expected.clone();
        let read = move |mut form: Multipart| -> tayet::Result<&'static str> {
            let mut part = form.next_part()?.expect("a part");
            let (mut read, mut piece) = (Vec::new(), vec![0; size]);
            loop {
                match part.read(&mut piece)? {
                    0 => break,
                    count => read.extend_from_slice(&piece[..count]),
                }
            }
            assert!(read == expected.as_bytes(), "{size}");
            Ok("the same")
        };
        let client = TestClient::new(Router::new().post("/", read));
        assert_eq!(post(&client, &(file("a", &content) + END)).text(), "the same");
    }
}

#[test]
fn a_whole_part_is_limited_in_memory() {
    fn limited(form: Multipart) -> tayet::Result<String> {
        let mut form = form.with_limits(MultipartLimits { max_field_bytes: 4, ..MultipartLimits::default() });
        let mut part = form.next_part()?.expect("a part");
        match part.safe_file_name() {
            Some("whole") => Ok(part.read_whole(6)?.len().to_string()),
            _ => Ok(part.content()?.len().to_string()),
        }
    }
    let client = TestClient::new(Router::new().post("/", limited));
    for (file_name, content, status) in
        [("x", "1234", 200), ("x", "12345", 413), ("whole", "123456", 200), ("whole", "1234567", 413)]
    {
        assert_eq!(
            post(&client, &(file(file_name, content) + END)).status(),
            status,
            "{file_name} {content}"
        );
    }
}

/// A client whose handler saves the files of a form in a directory.
fn saving(directory: &Path) -> TestClient {
    let directory = directory.to_owned();
    let save = move |mut form: Multipart| -> tayet::Result<String> {
        let mut lengths = Vec::new();
        while let Some(mut part) = form.next_part()? {
            let path = directory.join(part.safe_file_name().unwrap_or("unnamed"));
            lengths.push(part.save_to(path)?.to_string());
        }
        Ok(lengths.join(" "))
    };
    TestClient::new(Router::new().post("/", save))
}

fn names_in(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).unwrap();
    let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn a_file_is_saved_whole_or_not_at_all() {
    let directory = tempfile::tempdir().unwrap();
    let client = saving(directory.path());
    let long = "0123456789".repeat(50_000);
    let form = file("../a.txt", "one") + &file("b.txt", &long) + &file("..", "") + END;
    assert_eq!(post(&client, &form).text(), "3 500000 0");
    assert_eq!(names_in(directory.path()), ["a.txt", "b.txt", "unnamed"]);
    assert_eq!(fs::read_to_string(directory.path().join("b.txt")).unwrap(), long);
    assert_eq!(post(&client, &(file("a.txt", "two") + END)).text(), "3");
    assert_eq!(fs::read_to_string(directory.path().join("a.txt")).unwrap(), "two");
    // What breaks off takes nobody's place.
    for (form, status) in [
        (file("a.txt", &long)[..300_000].to_owned(), StatusCode::BAD_REQUEST),
        (file("a.txt", "three\r\n--AaB03x?") + END, StatusCode::BAD_REQUEST),
    ] {
        assert_eq!(post(&client, &form).status(), status);
        assert_eq!(fs::read_to_string(directory.path().join("a.txt")).unwrap(), "two");
        assert_eq!(names_in(directory.path()), ["a.txt", "b.txt", "unnamed"]);
    }
}

#[test]
fn a_file_that_is_saved_is_as_readable_as_any_other() {
    use std::os::unix::fs::PermissionsExt;
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("other"), "").unwrap();
    post(&saving(directory.path()), &(file("saved", "1") + END));
    let mode = |name| fs::metadata(directory.path().join(name)).unwrap().permissions().mode();
    assert_eq!(mode("saved"), mode("other"));
}

#[test]
fn a_directory_that_does_not_exist_is_the_servers_fault() {
    let response = post(&saving(Path::new("/nonexistent/directory")), &(file("a", "1") + END));
    assert_eq!(response.status(), 500);
}
