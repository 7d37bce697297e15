//! The ends of patterns: what n-grams that cross a border reach.

use foldhash::quality::RandomState;
use hashbrown::HashMap;
use kato_model::PatternName;

use super::BREAK;

/// A child of a pattern: a place in [`Edges`], or none.
pub(crate) type Child = Option<u32>;

/// The first and the last symbols of patterns, as many as can belong to an n-gram that reaches
/// into a neighbour.
#[derive(Debug)]
pub(crate) struct Edges {
    /// One less than the order.
    reach: usize,
    /// The place of each, and its level.
    places: HashMap<PatternName, (u32, usize), RandomState>,
    /// Where the symbols of each end; they begin where those before end.
    ends: Vec<usize>,
    /// Of each pattern all symbols, or the first and the last `reach`.
    symbols: Vec<u32>,
}

impl Edges {
    pub(crate) fn new(reach: usize) -> Self {
        Self {
            reach,
            places: HashMap::default(),
            ends: Vec::new(),
            symbols: Vec::new(),
        }
    }

    /// Returns the place of a pattern that lies below a level; `None` if it is unknown there.
    pub(crate) fn place(&self, level: usize, name: &PatternName) -> Option<u32> {
        // Not those of the level itself: whether they were read before would decide.
        let found = self.places.get(name).filter(|(_, of)| *of < level);
        found.map(|&(place, _)| place)
    }

    /// Returns about how many bytes all of it takes.
    pub(crate) fn heap_bytes(&self) -> usize {
        self.places.allocation_size()
            + self.ends.capacity() * size_of::<usize>()
            + self.symbols.capacity() * size_of::<u32>()
    }

    /// Adds a pattern of a level, given its symbols or what [`join`](Self::join) left of them. Of
    /// several of one name the first stays, which has to be that of the lowest level.
    pub(crate) fn insert(&mut self, level: usize, name: PatternName, symbols: &[u32]) {
        // Places have 32 bits; a pattern that gets none is unknown to the levels above.
        let Ok(place) = u32::try_from(self.ends.len()) else {
            return;
        };
        if place == BREAK || self.places.contains_key(&name) {
            return;
        }
        self.places.insert(name, (place, level));
        let reach = self.reach;
        match symbols.len() <= 2 * reach {
            true => self.symbols.extend_from_slice(symbols),
            false => {
                self.symbols.extend_from_slice(&symbols[..reach]);
                self.symbols
                    .extend_from_slice(&symbols[symbols.len() - reach..]);
            }
        }
        self.ends.push(self.symbols.len());
    }

    /// Forgets all patterns.
    pub(crate) fn clear(&mut self) {
        self.places.clear();
        self.ends.clear();
        self.symbols.clear();
    }

    /// Adds a pattern without a name, given what is left of its symbols, and returns its place.
    pub(crate) fn push(&mut self, symbols: &[u32]) -> u32 {
        self.symbols.extend_from_slice(symbols);
        self.ends.push(self.symbols.len());
        // For the children of one pattern, which are fewer than 2³².
        (self.ends.len() - 1) as u32
    }

    fn symbols(&self, place: u32) -> &[u32] {
        let place = place as usize;
        let start = match place {
            0 => 0,
            _ => self.ends[place - 1],
        };
        &self.symbols[start..self.ends[place]]
    }

    /// Writes the symbols of a pattern of these children: all of them, or its first and last.
    pub(crate) fn join(&self, children: &[Child], symbols: &mut Vec<u32>) {
        let of = |child: &Child| child.map_or(&[BREAK][..], |place| self.symbols(place));
        // Where a child is cut in its middle, the whole is longer than twice the reach as well, so
        // that what is missing lies between what is kept.
        symbols.clear();
        for child in children {
            symbols.extend_from_slice(of(child));
        }
    }

    /// Calls a function with every window that begins in one child and ends in a later one, and
    /// with the number of its symbols that lie in the first.
    pub(crate) fn crossing_windows<E>(
        &self,
        children: &[Child],
        mut each: impl FnMut(&[u32], usize) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut window = Vec::with_capacity(2 * self.reach);
        for (idx, child) in children.iter().enumerate() {
            let Some(place) = *child else { continue };
            let left = last_run(tail(self.symbols(place), self.reach));
            window.clear();
            window.extend_from_slice(left);
            for next in &children[idx + 1..] {
                let symbols = next.map_or(&[][..], |next| self.symbols(next));
                let head = &symbols[..symbols.len().min(self.reach)];
                let run = first_run(head);
                window.extend_from_slice(run);
                // A child of fewer symbols than an n-gram reaches is all in it.
                let goes_on = next.is_some()
                    && run.len() == symbols.len()
                    && window.len() - left.len() < self.reach;
                if !goes_on {
                    break;
                }
            }
            for start in 0..left.len() {
                let end = (start + self.reach + 1).min(window.len());
                let n_known = left.len() - start;
                if end - start > n_known {
                    each(&window[start..end], n_known)?;
                }
            }
        }
        Ok(())
    }
}

/// Returns the last `n` symbols, or all.
fn tail(symbols: &[u32], n: usize) -> &[u32] {
    &symbols[symbols.len() - symbols.len().min(n)..]
}

/// Returns the symbols after the last break.
fn last_run(symbols: &[u32]) -> &[u32] {
    let run = symbols.rsplit(|&symbol| symbol == BREAK).next();
    run.unwrap_or_default()
}

/// Returns the symbols before the first break.
fn first_run(symbols: &[u32]) -> &[u32] {
    let run = symbols.split(|&symbol| symbol == BREAK).next();
    run.unwrap_or_default()
}
