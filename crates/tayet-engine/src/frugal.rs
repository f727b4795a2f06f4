//! Tables with an entry for each of a hundred thousand connections.

/// Appends to a table that grows by an eighth where a `Vec` doubles, and would leave a quarter of its room empty on average.
pub(crate) fn push<T>(table: &mut Vec<T>, entry: T) {
    if table.len() == table.capacity() {
        table.reserve_exact(table.len() / 8 + 1);
    }
    table.push(entry);
}

#[cfg(test)]
mod tests {
    #[test]
    fn little_room_is_left_empty() {
        let mut table = Vec::new();
        for entry in 0..10_000 {
            super::push(&mut table, entry);
            assert!(table.capacity() <= table.len() + table.len() / 8 + 1);
        }
        assert!(table.into_iter().eq(0..10_000));
    }
}
