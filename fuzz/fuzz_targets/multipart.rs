//! Whatever form comes, it makes no difference how it is cut, nothing exceeds its limit, and what was put in comes out.
#![no_main]

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use tayet::multipart::{Event, Parser, PartHead};
use tayet::{MultipartError, MultipartLimits};
use tayet_fuzz::{MultipartBytes, pieces};

#[derive(Arbitrary, Debug)]
struct Case {
    limits: Limits,
    /// The lengths of the first pieces; the rest is one more.
    pieces: Vec<u8>,
    form: Form,
}

#[derive(Arbitrary, Debug)]
enum Form {
    Any(MultipartBytes),
    /// Contents of parts, files or not, of which a form is made.
    Made(Vec<(bool, MultipartBytes)>),
}

/// Small, so that they matter.
#[derive(Arbitrary, Debug)]
struct Limits {
    max_fields: u8,
    max_files: u8,
    max_field_bytes: u8,
    max_file_bytes: u8,
    max_part_header_bytes: u8,
    max_preamble_bytes: u8,
}

#[derive(Debug, PartialEq)]
enum Met {
    Part(Box<PartHead>),
    Data(Vec<u8>),
    PartEnd,
    End,
    Finished(Result<(), MultipartError>),
}

fuzz_target!(|case: Case| {
    let limits = MultipartLimits {
        max_fields: usize::from(case.limits.max_fields) / 8,
        max_files: usize::from(case.limits.max_files) / 8,
        max_field_bytes: case.limits.max_field_bytes.into(),
        max_file_bytes: case.limits.max_file_bytes.into(),
        max_part_header_bytes: case.limits.max_part_header_bytes.into(),
        max_preamble_bytes: case.limits.max_preamble_bytes.into(),
    };
    let bytes = match &case.form {
        Form::Any(bytes) => bytes.0.clone(),
        Form::Made(contents) => form_of(contents),
    };
    let whole = met(&mut [&bytes[..]].into_iter(), limits);
    assert_eq!(met(&mut pieces(&bytes, &case.pieces), limits), whole);
    assert_eq!(met(&mut bytes.chunks(1), limits), whole);
    check_limits(&whole, limits);
    if let Form::Made(contents) = &case.form {
        let met = met(&mut pieces(&bytes, &case.pieces), MultipartLimits::default());
        check_contents(contents, &met);
    }
});

fn form_of(contents: &[(bool, MultipartBytes)]) -> Vec<u8> {
    let mut form = Vec::new();
    for (is_file, content) in contents {
        let file_name = if *is_file { "; filename=f" } else { "" };
        form.extend(format!("--b\r\nContent-Disposition: form-data; name=a{file_name}\r\n\r\n").bytes());
        form.extend(&content.0);
        form.extend(b"\r\n");
    }
    form.extend(b"--b--\r\n");
    form
}

fn met<'a>(pieces: &mut dyn Iterator<Item = &'a [u8]>, limits: MultipartLimits) -> Vec<Met> {
    let (mut parser, mut met) = (Parser::new("b", limits).unwrap(), Vec::new());
    for mut input in pieces {
        loop {
            match parser.receive(&mut input) {
                Ok(Some(Event::Part(head))) => met.push(Met::Part(head)),
                Ok(Some(Event::Data(data))) => add_data(&mut met, data),
                Ok(Some(Event::PartEnd)) => met.push(Met::PartEnd),
                Ok(Some(Event::End)) => met.push(Met::End),
                Ok(None) => {
                    assert!(input.is_empty(), "more is wanted, but not all was taken");
                    break;
                }
                Err(error) => {
                    met.push(Met::Finished(Err(error)));
                    return met;
                }
            }
        }
    }
    met.push(Met::Finished(parser.finish()));
    met
}

/// Data that comes in pieces counts as one.
fn add_data(met: &mut Vec<Met>, data: &[u8]) {
    assert!(!data.is_empty());
    match met.last_mut() {
        Some(Met::Data(before)) => before.extend(data),
        _ => met.push(Met::Data(data.to_vec())),
    }
}

fn check_limits(met: &[Met], limits: MultipartLimits) {
    let heads: Vec<_> =
        met.iter().filter_map(|met| if let Met::Part(head) = met { Some(head) } else { None }).collect();
    let files = heads.iter().filter(|head| head.is_file()).count();
    assert!(files <= limits.max_files && heads.len() - files <= limits.max_fields);
    for two in met.windows(2) {
        if let [Met::Part(head), Met::Data(data)] = two {
            let max = if head.is_file() { limits.max_file_bytes } else { limits.max_field_bytes as u64 };
            assert!(data.len() as u64 <= max);
        }
        if let Some(name) = if let Met::Part(head) = &two[0] { head.safe_file_name() } else { None } {
            assert!(!name.contains(['/', '\\', '\0']) && !name.starts_with('.') && !name.is_empty());
        }
    }
}

/// Contents come out as they were put in, up to the first that holds a boundary.
fn check_contents(contents: &[(bool, MultipartBytes)], met: &[Met]) {
    let mut met = met.iter().peekable();
    let limits = MultipartLimits::default();
    let (mut fields, mut files) = (0, 0);
    for (is_file, content) in contents {
        if *is_file {
            files += 1
        } else {
            fields += 1
        };
        let has_boundary =
            [b"\r\n", &content.0[..], b"\r\n"].concat().windows(5).any(|five| five == b"\r\n--b");
        if has_boundary || fields > limits.max_fields || files > limits.max_files {
            return;
        }
        assert!(matches!(met.next(), Some(Met::Part(head)) if head.is_file() == *is_file));
        if !content.0.is_empty() {
            assert!(matches!(met.next(), Some(Met::Data(data)) if *data == content.0));
        }
        assert_eq!(met.next(), Some(&Met::PartEnd));
    }
    assert_eq!(met.next(), Some(&Met::End));
    assert_eq!(met.next(), Some(&Met::Finished(Ok(()))));
}
