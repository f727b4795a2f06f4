//! The data set of `/json/{count}`: fifty items, made by rules, so that every program that serves them can have the same.

use std::sync::LazyLock;

use serde::Serialize;

/// How many items there are.
pub(crate) const COUNT: usize = 50;

/// The first items of the data set with their totals.
#[derive(Serialize)]
pub(crate) struct Listing {
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
    tags: &'static [&'static str],
    rating: &'static Rating,
    total: u64,
}

struct Item {
    id: u32,
    name: String,
    category: &'static str,
    price: u64,
    quantity: u64,
    active: bool,
    tags: Vec<&'static str>,
    rating: Rating,
}

#[derive(Serialize)]
struct Rating {
    score: u32,
    count: u32,
}

impl Listing {
    /// The first `count` items, each with the price of `multiplier` times its quantity.
    pub(crate) fn new(count: usize, multiplier: u32) -> Self {
        static ITEMS: LazyLock<Vec<Item>> = LazyLock::new(|| (0..COUNT as u32).map(Item::new).collect());
        let items: Vec<_> = ITEMS.iter().take(count).map(|item| item.priced(multiplier)).collect();
        Self { count: items.len(), items }
    }
}

const FIBRES: [&str; 5] = ["Linen", "Cotton", "Silk", "Woollen", "Flaxen"];
const TOOLS: [&str; 10] =
    ["Loom", "Shuttle", "Spindle", "Bobbin", "Heddle", "Reed", "Treadle", "Distaff", "Carder", "Winder"];
const CATEGORIES: [&str; 5] = ["weaving", "finishing", "spinning", "tools", "dyeing"];
const TAGS: [&str; 7] = ["handmade", "new", "fast", "sturdy", "light", "classic", "limited"];

impl Item {
    fn new(number: u32) -> Self {
        let index = number as usize;
        let tags = index % 3 + 1;
        Self {
            id: number + 1,
            name: format!("{} {}", FIBRES[index / TOOLS.len()], TOOLS[index % TOOLS.len()]),
            category: CATEGORIES[index % CATEGORIES.len()],
            price: 5 + (index as u64 * 37) % 491,
            quantity: 1 + (index as u64 * 13) % 97,
            active: index % 4 != 3,
            tags: (0..tags).map(|tag| TAGS[(index + tag * tags) % TAGS.len()]).collect(),
            rating: Rating { score: 1 + number * 7 % 50, count: number * number * 11 % 1_000 },
        }
    }

    fn priced(&'static self, multiplier: u32) -> Priced {
        Priced {
            id: self.id,
            name: &self.name,
            category: self.category,
            price: self.price,
            quantity: self.quantity,
            active: self.active,
            tags: &self.tags,
            rating: &self.rating,
            total: self.price * self.quantity * u64::from(multiplier),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    #[test]
    fn the_peers_of_the_benchmarks_serve_the_same_items() {
        let theirs: Vec<Value> =
            serde_json::from_str(include_str!("../../bench/peers/dataset.json")).expect("JSON");
        let listing = serde_json::to_value(Listing::new(COUNT, 3)).expect("JSON");
        assert_eq!(listing["count"], COUNT);
        assert_eq!(theirs.len(), COUNT);
        for (their, our) in theirs.into_iter().zip(listing["items"].as_array().expect("a list")) {
            let total = their["price"].as_u64().unwrap() * their["quantity"].as_u64().unwrap() * 3;
            let mut expected = their;
            expected["total"] = total.into();
            assert_eq!(*our, expected);
        }
    }
}
