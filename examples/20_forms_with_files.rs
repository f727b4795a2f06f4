//! A form with files, each written to disk while it arrives.
//!
//! The parts come one after another, so no more than 64 KiB of the form are in memory, whatever its size. A file gets its own
//! name once it is whole; an upload that breaks off leaves nothing behind. Every limit has a default;
//! `tayet::MultipartLimits` lists them.
//!
//! ```console
//! $ cargo run --example 20_forms_with_files
//! $ seq 1 100000 | curl -s -F title=Numbers -F 'file=@-;filename=numbers.txt' http://127.0.0.1:8080/uploads
//! title: Numbers
//! numbers.txt: 588895 bytes saved
//! $ curl -s -F 'file=1234;filename=../../secret.txt' http://127.0.0.1:8080/uploads
//! secret.txt: 4 bytes saved
//! $ curl -s -F 'a=1;filename=a' -F 'b=2;filename=b' -F 'c=3;filename=c' http://127.0.0.1:8080/uploads
//! {"title":"Payload Too Large","status":413,"detail":"the form has more than 2 files"}
//! $ curl -s -d 'title=Numbers' http://127.0.0.1:8080/uploads
//! {"title":"Unsupported Media Type","status":415,"detail":"the body must be multipart/form-data, not application/x-www-form-urlencoded"}
//! ```

use std::fs;
use std::path::{Path, PathBuf};

use tayet::{Multipart, MultipartLimits, OrStatus, Router, Server, State, StatusCode};

fn upload(State(directory): State<PathBuf>, form: Multipart) -> tayet::Result<String> {
    let limits = MultipartLimits { max_files: 2, max_file_bytes: 100 << 20, ..MultipartLimits::default() };
    let mut form = form.with_limits(limits);
    let mut report = String::new();
    while let Some(mut part) = form.next_part()? {
        if part.is_file() {
            let name =
                part.safe_file_name().or_status(StatusCode::BAD_REQUEST, "a file has no name")?.to_owned();
            let length = part.save_to(directory.join(&name))?;
            report += &format!("{name}: {length} bytes saved\n");
        } else {
            report += &format!("{}: {}\n", part.name().to_owned(), part.text()?);
        }
    }
    Ok(report)
}

fn main() -> tayet::Result {
    let port = std::env::var("PORT").unwrap_or("8080".to_owned());
    let default = std::env::temp_dir().join("tayet-uploads");
    let directory = std::env::var_os("UPLOADS").map_or(default, |path| Path::new(&path).to_owned());
    fs::create_dir_all(&directory)?;
    println!("http://127.0.0.1:{port}/uploads saves to {}", directory.display());
    let app = Router::new().post("/uploads", upload).with_state(directory);
    Server::new(app).bind(format!("127.0.0.1:{port}"))?.run()
}
