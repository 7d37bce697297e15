//! The rarity of all symbols that a history keeps, summed up from the oldest to the latest.

use std::collections::VecDeque;
use std::sync::OnceLock;

/// Symbols whose sums are made at once.
const LANES: usize = 16;

/// A sum over a window that moves on.
///
/// Its bits are those of adding one after the other, so that nothing can be taken off. While nothing
/// is forgotten the next is added; afterwards a window is summed when it is asked for, or those of
/// some symbols to come beside each other, which takes hardly longer than one of them.
#[derive(Debug, Clone)]
pub(super) struct RarityTotal {
    /// Filled when it is known.
    total: OnceLock<f64>,
    /// Of symbols to come: the rarity of each, and the sum when it has come.
    ahead: VecDeque<(f64, f64)>,
}

impl Default for RarityTotal {
    fn default() -> Self {
        Self {
            // What summing nothing gives.
            total: OnceLock::from(-0.0),
            ahead: VecDeque::new(),
        }
    }
}

impl RarityTotal {
    /// Takes note of a symbol that came; `is_full` tells that another one was forgotten for it.
    pub(super) fn push(&mut self, rarity: f64, is_full: bool) {
        let before = self.total.take();
        let foreseen = self.ahead.pop_front();
        let total = match foreseen.filter(|(of, _)| of.to_bits() == rarity.to_bits()) {
            Some((_, total)) => Some(total),
            None => {
                self.ahead.clear();
                before.filter(|_| !is_full).map(|before| before + rarity)
            }
        };
        self.total = total.map_or_else(OnceLock::new, OnceLock::from);
    }

    /// Returns the sum over these rarities.
    pub(super) fn get(&self, rarities: &VecDeque<f64>) -> f64 {
        *self.total.get_or_init(|| rarities.iter().sum())
    }

    /// Sums up the windows that end in each of some symbols to come. `rarities` are those before.
    pub(super) fn look_ahead(
        &mut self,
        rarities: &mut VecDeque<f64>,
        window: usize,
        to_come: &[f64],
    ) {
        self.ahead.clear();
        let n_before = rarities.len();
        for (idx, coming) in to_come.chunks(LANES).enumerate() {
            // Before the window is full nothing is forgotten, and the next is simply added.
            let n_seen = n_before + idx * LANES;
            if n_seen < window {
                return;
            }
            let mut lanes = [-0.0; LANES];
            let before = rarities.iter().copied().chain(to_come.iter().copied());
            // Lane `n` sums up the `window` symbols that end in the n-th that comes.
            let from = n_seen + 1 - window;
            let numbers: Vec<f64> = before.skip(from).take(window + coming.len() - 1).collect();
            let (full, own) = (window.saturating_sub(1), coming.len());
            for at in 0..=full {
                let numbers = &numbers[at..(at + own).min(numbers.len())];
                match <&[f64; LANES]>::try_from(numbers) {
                    Ok(numbers) => lanes.iter_mut().zip(numbers).for_each(|(sum, n)| *sum += n),
                    Err(_) => lanes.iter_mut().zip(numbers).for_each(|(sum, n)| *sum += n),
                }
            }
            self.ahead.extend(coming.iter().copied().zip(lanes));
        }
    }
}
