//! The work of `/json/{count}?m={m}`, the same for every peer that is written in Rust.

use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

/// The 50 items, parsed once; what a request costs is their totals and their serialisation.
static ITEMS: LazyLock<Vec<Item>> = LazyLock::new(|| {
    serde_json::from_str(include_str!("../../dataset.json")).expect("dataset.json is valid")
});

#[derive(Deserialize)]
struct Item {
    id: u32,
    name: String,
    category: String,
    price: u64,
    quantity: u64,
    active: bool,
    tags: Vec<String>,
    rating: Rating,
}

#[derive(Deserialize, Serialize)]
struct Rating {
    score: u32,
    count: u32,
}

#[derive(Serialize)]
pub struct Answer {
    items: Vec<Priced>,
    count: usize,
}

#[derive(Serialize)]
struct Priced {
    id: u32,
    name: &'static str,
    category: &'static str,
    price: u64,
    quantity: u64,
    active: bool,
    tags: &'static [String],
    rating: &'static Rating,
    total: u64,
}

impl Priced {
    fn new(item: &'static Item, m: u64) -> Self {
        Self {
            id: item.id,
            name: &item.name,
            category: &item.category,
            price: item.price,
            quantity: item.quantity,
            active: item.active,
            tags: &item.tags,
            rating: &item.rating,
            total: item.price * item.quantity * m,
        }
    }
}

/// The first `count` items (at most all of them), each with `total = price * quantity * m`.
pub fn answer(count: usize, m: u64) -> Answer {
    let items: Vec<Priced> = ITEMS.iter().take(count).map(|item| Priced::new(item, m)).collect();
    Answer { count: items.len(), items }
}

/// A target of the benchmarks, for the peers that bring no router.
pub enum Target {
    Hello,
    Json { count: usize, m: u64 },
    SleepMs(u64),
    Unknown,
}

impl Target {
    pub fn parse(path_and_query: &str) -> Self {
        let (path, query) = path_and_query.split_once('?').unwrap_or((path_and_query, ""));
        if path == "/" {
            return Self::Hello;
        }
        if let Some(count) = path.strip_prefix("/json/").and_then(|count| count.parse().ok()) {
            let m = query.strip_prefix("m=").and_then(|m| m.parse().ok()).unwrap_or(1);
            return Self::Json { count, m };
        }
        match path.strip_prefix("/sleep/").and_then(|ms| ms.parse().ok()) {
            Some(ms) => Self::SleepMs(ms),
            None => Self::Unknown,
        }
    }
}
