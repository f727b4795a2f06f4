//! A file in a request.

use anyhow::ensure;

use crate::connection::Connection;

pub fn upload(connection: &mut Connection, path: &str, bytes: u64) -> anyhow::Result<()> {
    let answer = connection.exchange("POST", path, "Content-Type: application/octet-stream\r\n", bytes)?;
    answer.require(200)?;
    let counted = String::from_utf8_lossy(&answer.body);
    ensure!(counted == bytes.to_string(), "it counted {counted} bytes instead of {bytes}");
    Ok(())
}
