//! Windows packed into numbers that order as the windows do.

use super::sorting;

/// How the windows of a corpus are packed.
///
/// From the highest bit down: the symbols, each one more than it is, so that the end of a window comes before all of
/// them; how many of its first symbols were counted elsewhere; and how often the window was learned.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Packing {
    order: usize,
    /// Bits of a symbol.
    bits: u32,
    /// Bits of how often.
    times_bits: u32,
}

/// Bits of the number of symbols that were counted elsewhere.
const KNOWN_BITS: u32 = 4;

/// Bits of how often at least: a window that was learned more often is several.
const MIN_TIMES_BITS: u32 = 10;

/// A window: its symbols, and how many of them were counted elsewhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key(u128);

impl Key {
    /// Comes after all windows.
    pub(crate) const END: Self = Self(u128::MAX);

    /// Returns how many first bytes two windows share, the highest first.
    pub(crate) const fn shared_bytes(self, other: Self) -> usize {
        ((self.0 ^ other.0).leading_zeros() / 8) as usize
    }

    /// Returns the bytes from one on, and zeros behind them.
    pub(crate) fn bytes_from(self, first: usize) -> [u8; size_of::<u128>()] {
        let bits = 8 * first as u32;
        self.0.unbounded_shl(bits).to_be_bytes()
    }

    /// Returns the key of `n_bytes` bytes which begins with so many of this one and goes on with others.
    pub(crate) fn followed_by(
        self,
        shared: usize,
        rest: [u8; size_of::<u128>()],
        n_bytes: usize,
    ) -> Self {
        let below = |bytes: usize| u128::MAX.unbounded_shr(8 * bytes as u32);
        let rest = u128::from_be_bytes(rest).unbounded_shr(8 * shared as u32);
        Self(self.0 & !below(shared) | rest & !below(n_bytes))
    }
}

impl Packing {
    /// Creates the packing of windows of up to `order` symbols, at most 15, which are below `n_symbols`; `None` if one
    /// number cannot hold them.
    pub(crate) fn new(order: usize, n_symbols: usize) -> Option<Self> {
        let bits = (usize::BITS - n_symbols.leading_zeros()).max(1);
        let symbol_bits = u32::try_from(order).ok()?.checked_mul(bits)?;
        let left = (u128::BITS - KNOWN_BITS).checked_sub(symbol_bits)?;
        let fits = left >= MIN_TIMES_BITS && bits < u32::BITS && order < 1 << KNOWN_BITS;
        fits.then_some(Self {
            order,
            bits,
            times_bits: left.min(u32::BITS),
        })
    }

    /// Returns the bits below the symbols.
    const fn low_bits(self) -> u32 {
        u128::BITS - self.bits * self.order as u32
    }

    /// Puts a symbol in front of a packed window, which loses what is more than the order.
    const fn prepend(self, symbol: u32, window: u128) -> u128 {
        let first = (symbol as u128 + 1) << (u128::BITS - self.bits);
        (first | window >> self.bits) >> self.low_bits() << self.low_bits()
    }

    /// Returns the key of a window of up to [`order`](Self::order) symbols.
    pub(crate) fn key(self, window: &[u32], n_known: usize) -> Key {
        let symbols = window.iter().rev();
        let packed = symbols.fold(0, |packed, &symbol| self.prepend(symbol, packed));
        Key(packed | self.known(n_known))
    }

    /// Returns a symbol of a window; `None` behind its end.
    pub(crate) const fn symbol(self, key: Key, place: usize) -> Option<u32> {
        let above = self.bits * (place as u32 + 1);
        if place >= self.order {
            return None;
        }
        let symbol = (key.0 >> (u128::BITS - above)) as u32 & ((1 << self.bits) - 1);
        symbol.checked_sub(1)
    }

    /// Returns the bytes that hold any symbol.
    pub(crate) const fn symbol_bytes(self) -> usize {
        self.bits.div_ceil(8) as usize
    }

    /// Returns how many bytes of a key may be other than 0, from the highest on.
    pub(crate) const fn key_bytes(self) -> usize {
        (u128::BITS - (self.low_bits() - KNOWN_BITS)).div_ceil(8) as usize
    }

    const fn known(self, n_known: usize) -> u128 {
        (n_known as u128) << (self.low_bits() - KNOWN_BITS)
    }

    /// Returns how many of a window's symbols were counted elsewhere.
    pub(crate) const fn n_known(self, key: Key) -> usize {
        (key.0 >> (self.low_bits() - KNOWN_BITS)) as usize & ((1 << KNOWN_BITS) - 1)
    }

    /// Returns how many first symbols two windows share, at most the order.
    pub(crate) const fn shared(self, one: Key, other: Key) -> usize {
        let equal_bits = (one.0 ^ other.0).leading_zeros();
        let shared = (equal_bits / self.bits) as usize;
        if shared < self.order {
            shared
        } else {
            self.order
        }
    }

    fn most_times(self) -> u32 {
        u32::MAX >> (u32::BITS - self.times_bits)
    }
}

/// Windows in any order, to be sorted at once.
#[derive(Debug)]
pub(crate) struct Windows {
    packing: Packing,
    packed: Vec<u128>,
}

/// Bytes of a window.
pub(crate) const WINDOW_BYTES: usize = size_of::<u128>();

impl Windows {
    /// Creates a list of none.
    pub(crate) const fn new(packing: Packing) -> Self {
        Self {
            packing,
            packed: Vec::new(),
        }
    }

    /// Returns how they are packed.
    pub(crate) const fn packing(&self) -> Packing {
        self.packing
    }

    /// Returns the number of windows.
    pub(crate) const fn len(&self) -> usize {
        self.packed.len()
    }

    /// Forgets all windows.
    pub(crate) fn clear(&mut self) {
        self.packed.clear();
    }

    /// Adds all windows of a run of symbols.
    pub(crate) fn run(&mut self, run: &[u32], times: u32) {
        let mut window = 0;
        for &symbol in run.iter().rev() {
            window = self.packing.prepend(symbol, window);
            self.push(window, times);
        }
    }

    /// Adds the n-grams that begin a window, but not its first `n_known`.
    pub(crate) fn window(&mut self, window: &[u32], n_known: usize, times: u32) {
        let window = &window[..window.len().min(self.packing.order)];
        if window.len() > n_known {
            self.push(self.packing.key(window, n_known).0, times);
        }
    }

    fn push(&mut self, key: u128, mut times: u32) {
        let most = self.packing.most_times();
        while times > 0 {
            let part = times.min(most);
            self.packed.push(key | u128::from(part));
            times -= part;
        }
    }

    /// Sorts the windows.
    pub(crate) fn sort(&mut self) {
        sorting::sort(&mut self.packed);
    }

    /// Returns the next one of the sorted windows from a place on, which moves behind it, and how often it was
    /// learned, up to 4,294,967,295 times.
    pub(crate) fn next(&self, place: &mut usize) -> Option<(Key, u32)> {
        let split = |packed: u128| {
            let times = packed as u32 & self.packing.most_times();
            (packed ^ u128::from(times), times)
        };
        let (key, mut times) = split(*self.packed.get(*place)?);
        *place += 1;
        while let Some((other, more)) = self.packed.get(*place).map(|&packed| split(packed))
            && other == key
        {
            times = times.saturating_add(more);
            *place += 1;
        }
        Some((Key(key), times))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    fn unpacked(packing: Packing, key: Key) -> Vec<u32> {
        let symbols = (0..).map(|place| packing.symbol(key, place));
        symbols.map_while(|symbol| symbol).collect()
    }

    #[test]
    fn what_one_number_cannot_hold_is_not_packed() {
        assert!(Packing::new(5, (1 << 22) - 1).is_some());
        assert!(Packing::new(5, 1 << 22).is_none());
        assert!(Packing::new(16, 2).is_none());
    }

    proptest! {
        #[test]
        fn windows_order_as_their_symbols_do(
            bits in 1..23u32,
            windows in prop::collection::vec(
                (prop::collection::vec(any::<prop::sample::Index>(), 1..6), 0..5usize, 0..3_000_000u32),
                1..20,
            ),
        ) {
            let n_symbols = (1 << bits) - 1;
            let packing = Packing::new(5, n_symbols).unwrap();
            let mut packed = Windows::new(packing);
            let mut expected: BTreeMap<(Vec<u32>, usize), u32> = BTreeMap::new();
            for (symbols, n_known, times) in &windows {
                let symbols: Vec<u32> = symbols.iter().map(|symbol| symbol.index(n_symbols) as u32).collect();
                let n_known = *n_known.min(&(symbols.len() - 1));
                packed.window(&symbols, n_known, *times);
                if *times > 0 {
                    *expected.entry((symbols, n_known)).or_default() += times;
                }
            }
            packed.sort();
            let (mut found, mut place, mut last) = (Vec::new(), 0, Key::END);
            while let Some((key, times)) = packed.next(&mut place) {
                let (symbols, n_known) = (unpacked(packing, key), packing.n_known(key));
                let before = unpacked(packing, last);
                let shared = symbols.iter().zip(&before).take_while(|(one, other)| one == other).count();
                if !found.is_empty() {
                    prop_assert_eq!(packing.shared(last, key).min(symbols.len()).min(before.len()), shared);
                    let (n_bytes, shared) = (packing.key_bytes(), last.shared_bytes(key));
                    prop_assert_eq!(last.followed_by(shared, key.bytes_from(shared), n_bytes), key);
                }
                prop_assert!(key < Key::END);
                last = key;
                found.push(((symbols, n_known), times));
            }
            let expected: Vec<_> = expected.into_iter().collect();
            prop_assert_eq!(found, expected);
        }
    }
}
