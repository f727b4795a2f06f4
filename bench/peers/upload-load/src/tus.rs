//! tus 1.0.0: <https://tus.io/protocols/resumable-upload>.

use anyhow::{Context, ensure};

use crate::connection::Connection;

const VERSION: &str = "Tus-Resumable: 1.0.0\r\n";

pub struct Upload<'a> {
    pub path: &'a str,
    pub bytes: u64,
    pub chunk_bytes: u64,
}

impl Upload<'_> {
    pub fn run(&self, connection: &mut Connection) -> anyhow::Result<()> {
        let fields = format!("{VERSION}Upload-Length: {}\r\n", self.bytes);
        let created = connection.exchange("POST", self.path, &fields, 0)?;
        created.require(201)?;
        let path = path_of(created.field("location").context("the creation has no Location")?);
        let mut offset = 0;
        while offset < self.bytes {
            let fields = format!(
                "{VERSION}Upload-Offset: {offset}\r\nContent-Type: application/offset+octet-stream\r\n"
            );
            let bytes = self.chunk_bytes.min(self.bytes - offset);
            let appended = connection.exchange("PATCH", path, &fields, bytes)?;
            appended.require(204)?;
            offset += bytes;
            let told = appended.field("upload-offset").context("the append has no Upload-Offset")?;
            ensure!(told == offset.to_string(), "the offset is said to be {told} instead of {offset}");
        }
        Ok(())
    }
}

/// Of an absolute URL or of a path.
fn path_of(location: &str) -> &str {
    let Some((_, rest)) = location.split_once("://") else { return location };
    rest.find('/').map_or("/", |slash| &rest[slash..])
}
