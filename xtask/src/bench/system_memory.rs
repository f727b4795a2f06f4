//! What Linux tells about the machine's memory.

use std::fs;

use anyhow::Context;

use super::process_stat::parse_status_bytes;

pub(super) fn total_bytes() -> anyhow::Result<u64> {
    meminfo_bytes("MemTotal")
}

/// What can be had before the machine is short.
pub(super) fn available_bytes() -> anyhow::Result<u64> {
    meminfo_bytes("MemAvailable")
}

/// What the kernel's own objects take, and what lies in the buffers of TCP sockets. The rest of the kernel's memory does
/// not change with the number of sockets, or not by much.
pub(super) fn kernel_bytes() -> anyhow::Result<u64> {
    let sockstat = fs::read_to_string("/proc/net/sockstat").context("reading /proc/net/sockstat")?;
    let pages = parse_tcp_pages(&sockstat).context("/proc/net/sockstat is not as expected")?;
    Ok(meminfo_bytes("Slab")? + pages * rustix::param::page_size() as u64)
}

fn meminfo_bytes(field: &str) -> anyhow::Result<u64> {
    let text = fs::read_to_string("/proc/meminfo").context("reading /proc/meminfo")?;
    parse_status_bytes(&text, field).with_context(|| format!("/proc/meminfo has no {field}"))
}

fn parse_tcp_pages(sockstat: &str) -> Option<u64> {
    let mut words = sockstat.lines().find_map(|line| line.strip_prefix("TCP:"))?.split_whitespace();
    words.find(|word| *word == "mem")?;
    words.next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_of_tcp_are_read_by_their_name() {
        let sockstat = "sockets: used 15\nTCP: inuse 1 orphan 0 tw 0 alloc 1 mem 353\nUDP: inuse 0 mem 7\n";
        assert_eq!(parse_tcp_pages(sockstat), Some(353));
        assert_eq!(parse_tcp_pages("TCP: inuse 1\nUDP: inuse 0 mem 7\n"), None);
    }

    #[test]
    fn this_machine_has_memory() {
        assert!(available_bytes().unwrap() < total_bytes().unwrap());
        assert!(kernel_bytes().unwrap() > 0);
    }
}
