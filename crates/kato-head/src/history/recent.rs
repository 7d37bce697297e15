//! The distinct symbols among the latest ones, kept in order as symbols come and go.

use std::collections::VecDeque;

/// The latest symbols.
#[derive(Debug, Clone, Default)]
pub(super) struct Recent {
    /// The slot of each, the oldest first.
    places: VecDeque<u16>,
    /// The distinct ones, ascending, and the slot of each.
    symbols: Vec<u32>,
    slots: Vec<u16>,
    /// By slot, how many places it has; those with none are free.
    n_places: Vec<u16>,
    free: Vec<u16>,
}

impl Recent {
    /// Adds a symbol, and forgets the oldest ones until `most` are left, which are below 2¹⁶.
    pub(super) fn push(&mut self, symbol: u32, most: usize) {
        let slot = match self.symbols.binary_search(&symbol) {
            Ok(at) => self.slots[at],
            Err(at) => {
                let slot = self.free.pop().unwrap_or_else(|| {
                    self.n_places.push(0);
                    // There are no more slots than places.
                    (self.n_places.len() - 1) as u16
                });
                self.symbols.insert(at, symbol);
                self.slots.insert(at, slot);
                slot
            }
        };
        self.n_places[slot as usize] += 1;
        self.places.push_back(slot);
        while self.places.len() > most {
            self.forget_oldest();
        }
    }

    fn forget_oldest(&mut self) {
        let Some(slot) = self.places.pop_front() else {
            return;
        };
        let n_places = &mut self.n_places[slot as usize];
        *n_places -= 1;
        if *n_places == 0 {
            let at = self.slots.iter().position(|&other| other == slot);
            if let Some(at) = at {
                self.symbols.remove(at);
                self.slots.remove(at);
            }
            self.free.push(slot);
        }
    }

    pub(super) fn len(&self) -> usize {
        self.places.len()
    }

    /// Returns the distinct symbols, ascending.
    pub(super) fn symbols(&self) -> &[u32] {
        &self.symbols
    }

    /// Returns what belongs to the symbol of every place, the oldest first, given what belongs to
    /// each distinct symbol.
    pub(super) fn by_place<'a>(&'a self, of_symbols: &[f64]) -> impl Iterator<Item = f64> + 'a {
        let mut by_slot = [0.0; super::RECENT + 1];
        for (&slot, &of_symbol) in self.slots.iter().zip(of_symbols) {
            by_slot[slot as usize] = of_symbol;
        }
        self.places.iter().map(move |&slot| by_slot[slot as usize])
    }
}
