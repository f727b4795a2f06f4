//! Room for a process's descriptors.

use rustix::event::{EventfdFlags, eventfd};
use rustix::io::fcntl_dupfd_cloexec;

/// Descriptors for which room is made ahead, at most. Each takes 8 bytes of the kernel's memory.
pub const MAX_DESCRIPTORS_AHEAD: usize = 16 * 1024;

/// Has the kernel make room for `count` descriptors, up to [`MAX_DESCRIPTORS_AHEAD`], now rather than when they are opened.
///
/// The table of a process's descriptors begins with room for 64 and is doubled when it is full. Where threads share it, who opens
/// the descriptor that does not fit waits until no processor uses the old table: 5 to 20 ms, in which a loop serves nobody.
///
/// Where the system allows fewer, nothing happens.
///
/// ```
/// tayet_net::make_room_for_descriptors(1_000);
/// ```
pub fn make_room_for_descriptors(count: usize) {
    let last = count.min(MAX_DESCRIPTORS_AHEAD).saturating_sub(1) as i32;
    // A copy at that place, or behind it, makes the table long enough; it stays so when the copy is closed.
    if let Ok(any) = eventfd(0, EventfdFlags::CLOEXEC) {
        drop(fcntl_dupfd_cloexec(&any, last));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The room that the process has, as the kernel tells it.
    fn room() -> usize {
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("FDSize:")).unwrap();
        line.trim().parse().unwrap()
    }

    #[test]
    fn there_is_room_and_no_descriptor_is_left_open() {
        let opened = || {
            std::fs::read_dir("/proc/self/fd").unwrap().filter(|entry| {
                let name = entry.as_ref().unwrap().file_name();
                name.to_str().unwrap().parse::<usize>().unwrap() >= 500
            })
        };
        make_room_for_descriptors(600);
        assert!(room() >= 600, "{}", room());
        assert_eq!(opened().count(), 0);
        make_room_for_descriptors(usize::MAX);
        assert_eq!(opened().count(), 0);
    }
}
