//! Another inflater (RFC 1951), as simple as can be, that tells how far back the data refers.

const LENGTH_BASES: [usize; 29] = [
    3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 15, 17, 19, 23, 27, 31, 35, 43, 51, 59, 67, 83, 99, 115, 131, 163, 195,
    227, 258,
];
const DISTANCE_BASES: [usize; 30] = [
    1, 2, 3, 4, 5, 7, 9, 13, 17, 25, 33, 49, 65, 97, 129, 193, 257, 385, 513, 769, 1025, 1537, 2049, 3073,
    4097, 6145, 8193, 12289, 16385, 24577,
];
const CODE_LENGTH_ORDER: [usize; 19] = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15];
const END_OF_BLOCK: usize = 256;
const MAX_CODE_BITS: usize = 15;

/// What came of compressed data.
pub(crate) struct Inflated {
    pub(crate) bytes: Vec<u8>,
    pub(crate) max_distance: usize,
}

/// Inflates the payload of a compressed message, with the bytes that were left out at its end put back.
///
/// `window` is what was inflated before. It panics where the data is wrong.
pub(crate) fn inflate(payload: &[u8], window: &[u8]) -> Inflated {
    let data = [payload, &[0x00, 0x00, 0xff, 0xff]].concat();
    let mut reference = Reference { data: &data, bit: 0, out: window.to_vec(), max_distance: 0 };
    while reference.bit < data.len() * 8 {
        reference.block();
    }
    assert_eq!(reference.bit, data.len() * 8, "the last block ends where the data ends");
    Inflated { bytes: reference.out.split_off(window.len()), max_distance: reference.max_distance }
}

struct Reference<'d> {
    data: &'d [u8],
    bit: usize,
    out: Vec<u8>,
    max_distance: usize,
}

impl Reference<'_> {
    fn block(&mut self) {
        assert_eq!(self.bits(1), 0, "BFINAL is never set here");
        match self.bits(2) {
            0 => self.stored(),
            1 => {
                let lengths: Vec<usize> = (0..288)
                    .map(|symbol| match symbol {
                        0..=143 => 8,
                        144..=255 => 9,
                        256..=279 => 7,
                        _ => 8,
                    })
                    .collect();
                self.symbols(&lengths, &[5; 30]);
            }
            2 => self.dynamic(),
            other => panic!("block type {other}"),
        }
    }

    fn stored(&mut self) {
        self.bit = self.bit.next_multiple_of(8);
        let (length, complement) = (self.bits(16), self.bits(16));
        assert_eq!(length, !complement & 0xffff);
        for _ in 0..length {
            let byte = self.bits(8) as u8;
            self.out.push(byte);
        }
    }

    fn dynamic(&mut self) {
        let (literals, distances, codes) = (self.bits(5) + 257, self.bits(5) + 1, self.bits(4) + 4);
        let mut code_lengths = [0; 19];
        for &symbol in &CODE_LENGTH_ORDER[..codes] {
            code_lengths[symbol] = self.bits(3);
        }
        let mut lengths = Vec::new();
        while lengths.len() < literals + distances {
            let (value, count) = match self.symbol(&code_lengths) {
                16 => (*lengths.last().unwrap(), 3 + self.bits(2)),
                17 => (0, 3 + self.bits(3)),
                18 => (0, 11 + self.bits(7)),
                length => (length, 1),
            };
            lengths.extend(std::iter::repeat_n(value, count));
        }
        let (literals, distances) = lengths.split_at(literals);
        self.symbols(literals, distances);
    }

    fn symbols(&mut self, literals: &[usize], distances: &[usize]) {
        loop {
            match self.symbol(literals) {
                END_OF_BLOCK => return,
                symbol if symbol < END_OF_BLOCK => self.out.push(symbol as u8),
                symbol => {
                    let symbol = symbol - END_OF_BLOCK - 1;
                    let length_bits = if symbol < 4 || symbol == 28 { 0 } else { symbol / 4 - 1 };
                    let length = LENGTH_BASES[symbol] + self.bits(length_bits);
                    let symbol = self.symbol(distances);
                    let distance = DISTANCE_BASES[symbol] + self.bits((symbol / 2).saturating_sub(1));
                    self.copy(length, distance);
                }
            }
        }
    }

    fn copy(&mut self, length: usize, distance: usize) {
        assert!(distance <= self.out.len(), "a distance beyond the window");
        self.max_distance = self.max_distance.max(distance);
        for _ in 0..length {
            self.out.push(self.out[self.out.len() - distance]);
        }
    }

    /// Reads one symbol of the canonical Huffman code with these lengths (RFC 1951 section 3.2.2).
    fn symbol(&mut self, lengths: &[usize]) -> usize {
        let (mut code, mut first) = (0, 0);
        for bits in 1..=MAX_CODE_BITS {
            code = code << 1 | self.bits(1);
            let mut of_this_length = lengths.iter().enumerate().filter(|(_, length)| **length == bits);
            let count = of_this_length.clone().count();
            if code < first + count {
                return of_this_length.nth(code - first).unwrap().0;
            }
            first = (first + count) << 1;
        }
        panic!("no such code")
    }

    fn bits(&mut self, count: usize) -> usize {
        let mut value = 0;
        for position in 0..count {
            let bit = self.data[self.bit / 8] >> (self.bit % 8) & 1;
            value |= usize::from(bit) << position;
            self.bit += 1;
        }
        value
    }
}
