//! Numbers from a seed.

use std::ops::RangeInclusive;

/// Numbers that look random and are the same for the same seed (SplitMix64).
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// The numbers of this seed.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Another source, whose numbers do not depend on how many are taken of this one afterwards.
    pub fn fork(&mut self) -> Self {
        Self(self.next())
    }

    /// Any number.
    #[allow(
        clippy::should_implement_trait,
        reason = "it never ends, so an iterator would promise too little"
    )]
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A number of the range.
    ///
    /// # Panics
    ///
    /// When the range is empty.
    pub fn within(&mut self, range: RangeInclusive<u64>) -> u64 {
        let (first, last) = range.into_inner();
        assert!(first <= last, "no number is in {first}..={last}");
        match (last - first).checked_add(1) {
            Some(count) => first + self.next() % count,
            None => self.next(),
        }
    }

    /// A number of the range.
    ///
    /// # Panics
    ///
    /// When the range is empty.
    pub fn size(&mut self, range: RangeInclusive<usize>) -> usize {
        self.within(*range.start() as u64..=*range.end() as u64) as usize
    }

    /// `true` so many times in a thousand.
    pub fn chance(&mut self, per_mille: u32) -> bool {
        self.within(0..=999) < u64::from(per_mille)
    }

    /// One of them.
    ///
    /// # Panics
    ///
    /// When there are none.
    pub fn pick<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.size(0..=of.len() - 1)]
    }

    /// Puts them into any order.
    pub fn shuffle<T>(&mut self, of: &mut [T]) {
        for last in (1..of.len()).rev() {
            of.swap(last, self.size(0..=last));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_numbers_and_another_gives_others() {
        let take = |seed| {
            std::iter::repeat_with({
                let mut random = Random::new(seed);
                move || random.next()
            })
            .take(8)
            .collect::<Vec<_>>()
        };
        assert_eq!(take(1), take(1));
        assert_ne!(take(1), take(2));
        // The first number of seed 0, as the algorithm's authors give it.
        assert_eq!(take(0)[0], 0xE220_A839_7B1D_CDAF);
    }

    #[test]
    fn ranges_are_kept_and_reached() {
        let mut random = Random::new(3);
        let mut seen = [false; 5];
        (0..200).for_each(|_| seen[random.size(0..=4)] = true);
        assert_eq!(seen, [true; 5]);
        assert_eq!(random.within(7..=7), 7);
        random.within(0..=u64::MAX);
    }

    #[test]
    fn chances_are_about_right_at_their_ends() {
        let mut random = Random::new(4);
        assert!((0..1_000).all(|_| !random.chance(0) && random.chance(1_000)));
    }
}
