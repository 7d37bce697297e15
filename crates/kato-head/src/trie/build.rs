//! Builds a tree from windows in any order: sorted in batches, which are joined.

use super::level::Level;
use super::{Trie, join};
use crate::HeadError;

/// Windows of a batch; each takes 24 bytes and its symbols, and 32 while they are sorted.
const BATCH_WINDOWS: usize = 2 << 20;

/// A builder of a [`Trie`] from the windows of a corpus.
///
/// Memory beside the tree: one batch, and while two trees are joined both of them.
#[derive(Debug)]
pub(crate) struct TrieBuilder {
    batch: Batch,
    /// Trees of finished batches; each stands for twice as many batches as the one after it, so
    /// that every window is joined a few times only.
    tiers: Vec<(u32, Trie)>,
}

/// Windows in any order, to be sorted at once.
#[derive(Debug)]
pub(crate) struct Batch {
    order: usize,
    /// Symbols of all windows of the batch; windows of one run share them.
    symbols: Vec<u32>,
    windows: Vec<Window>,
}

/// Symbols of a window that one number can hold, and the bits of each.
const PACKED: usize = 5;
const PACKED_BITS: u32 = 25;

/// A window of a batch.
#[derive(Debug, Clone, Copy)]
struct Window {
    /// The first two symbols, which decide most comparisons.
    head: u64,
    start: u32,
    times: u32,
    length: u8,
    n_known: u8,
}

impl Window {
    fn content<'s>(&self, symbols: &'s [u32]) -> &'s [u32] {
        let start = self.start as usize;
        &symbols[start..start + self.length as usize]
    }

    /// Returns a number that orders windows of up to [`PACKED`] symbols as their content does.
    fn packed(&self, symbols: &[u32]) -> u128 {
        let content = self.content(symbols);
        // One more, so that the end of a window comes before every symbol.
        let symbol = |idx: usize| content.get(idx).map_or(0, |&symbol| u128::from(symbol) + 1);
        (0..PACKED).fold(0, |packed, idx| packed << PACKED_BITS | symbol(idx))
    }
}

impl Batch {
    /// Creates an empty batch of n-grams of up to `order` symbols, 1 to 64.
    pub(crate) const fn new(order: usize) -> Self {
        Self {
            order,
            symbols: Vec::new(),
            windows: Vec::new(),
        }
    }

    /// Returns the number of windows.
    pub(crate) fn len(&self) -> usize {
        self.windows.len()
    }

    fn heap_bytes(&self) -> usize {
        self.symbols.capacity() * size_of::<u32>() + self.windows.capacity() * size_of::<Window>()
    }

    /// Adds all n-grams of a run of symbols.
    pub(crate) fn run(&mut self, run: &[u32], times: u32) {
        let from = self.symbols.len();
        self.symbols.extend_from_slice(run);
        for start in 0..run.len() {
            self.push(from + start, (run.len() - start).min(self.order), 0, times);
        }
    }

    /// Adds the n-grams that begin a window, but not its first `n_known`.
    pub(crate) fn window(&mut self, window: &[u32], n_known: usize, times: u32) {
        let from = self.symbols.len();
        self.symbols.extend_from_slice(window);
        self.push(from, window.len().min(self.order), n_known, times);
    }

    fn push(&mut self, start: usize, length: usize, n_known: usize, times: u32) {
        if length <= n_known || times == 0 {
            return;
        }
        let symbol = |idx: usize| {
            let symbol = self.symbols.get(start + idx).filter(|_| idx < length);
            // One more, so that the end of a window comes before every symbol.
            symbol.map_or(0, |&symbol| u64::from(symbol) + 1)
        };
        self.windows.push(Window {
            // Symbols are below 2³¹, so both fit.
            head: symbol(0) << 32 | symbol(1),
            // A batch ends long before its symbols reach 2³².
            start: start as u32,
            times,
            length: length as u8,
            n_known: n_known as u8,
        });
    }

    /// Sorts the windows by their symbols.
    fn sort(&mut self) {
        let symbols = &self.symbols;
        let fits = |&symbol: &u32| symbol < (1 << PACKED_BITS) - 1;
        if self.order <= PACKED && symbols.iter().all(fits) {
            // One number is compared faster than two slices that lie somewhere.
            self.windows
                .sort_by_cached_key(|window| window.packed(symbols));
            return;
        }
        self.windows.sort_unstable_by(|one, other| {
            let by_head = one.head.cmp(&other.head);
            by_head.then_with(|| one.content(symbols).cmp(other.content(symbols)))
        });
    }

    /// Builds the tree of the batch, and empties the batch.
    pub(crate) fn sorted(&mut self) -> Trie {
        self.sort();
        let symbols = &self.symbols;
        let content = |window: &Window| window.content(symbols);
        let mut columns: Vec<(Vec<u32>, Vec<u32>)> = vec![Default::default(); self.order];
        let mut starts: Vec<Vec<u32>> = vec![Vec::new(); self.order];
        let mut path: &[u32] = &[];
        for window in &self.windows {
            let content = content(window);
            let shared = path.iter().zip(content).take_while(|(a, b)| a == b);
            for n in shared.count()..content.len() {
                // Windows come in order, so a new n-gram is the last of its order.
                if let Some(longer) = columns.get(n + 1) {
                    starts[n].push(longer.0.len() as u32);
                }
                columns[n].0.push(content[n]);
                columns[n].1.push(0);
            }
            for (_, counts) in &mut columns[window.n_known as usize..content.len()] {
                if let Some(count) = counts.last_mut() {
                    *count = count.saturating_add(window.times);
                }
            }
            path = content;
        }
        for n in 0..self.order.saturating_sub(1) {
            let end = columns[n + 1].0.len() as u32;
            starts[n].push(end);
        }
        let level = |((symbols, counts), starts)| {
            let mut level = Level::from_columns(symbols, counts);
            level.set_starts(starts);
            level
        };
        let levels = columns.into_iter().zip(starts).map(level).collect();
        self.windows.clear();
        self.symbols.clear();
        Trie::from_levels(levels)
    }
}

impl TrieBuilder {
    /// Creates a builder of n-grams of up to `order` symbols, 1 to 64.
    pub(crate) fn new(order: usize) -> Self {
        Self {
            batch: Batch::new(order),
            tiers: Vec::new(),
        }
    }

    /// Counts all n-grams of a run of symbols.
    ///
    /// # Errors
    ///
    /// [`HeadError::TooManyNgrams`].
    pub(crate) fn run(&mut self, run: &[u32], times: u32) -> Result<(), HeadError> {
        self.batch.run(run, times);
        self.end_batch_if_full()
    }

    /// Counts the n-grams that begin a window, but not its first `n_known`.
    ///
    /// # Errors
    ///
    /// [`HeadError::TooManyNgrams`].
    pub(crate) fn window(
        &mut self,
        window: &[u32],
        n_known: usize,
        times: u32,
    ) -> Result<(), HeadError> {
        self.batch.window(window, n_known, times);
        self.end_batch_if_full()
    }

    /// Returns about how many bytes are held, without those of a join.
    pub(crate) fn heap_bytes(&self) -> usize {
        let trees = self.tiers.iter().map(|(_, tree)| tree.heap_bytes());
        self.batch.heap_bytes() + trees.sum::<usize>()
    }

    fn end_batch_if_full(&mut self) -> Result<(), HeadError> {
        match self.batch.len() < BATCH_WINDOWS {
            true => Ok(()),
            false => self.end_batch(),
        }
    }

    /// Turns the batch into a tree, and joins it with trees of as many batches.
    fn end_batch(&mut self) -> Result<(), HeadError> {
        let mut tree = self.batch.sorted();
        let mut n_batches = 1;
        while let Some((_, other)) = self.tiers.pop_if(|(n, _)| *n <= n_batches) {
            tree = join::joined(&[&other, &tree]);
            n_batches *= 2;
        }
        if tree.levels.iter().any(|level| level.len() > Level::MAX_LEN) {
            return Err(HeadError::TooManyNgrams);
        }
        self.tiers.push((n_batches, tree));
        Ok(())
    }

    /// Returns the tree of everything that was counted.
    ///
    /// # Errors
    ///
    /// [`HeadError::TooManyNgrams`].
    pub(crate) fn finish(mut self) -> Result<Trie, HeadError> {
        self.end_batch()?;
        // Their memory is not needed any more while trees are joined.
        let order = self.batch.order;
        self.batch = Batch::new(order);
        let mut tree = Trie::new(order);
        while let Some((_, other)) = self.tiers.pop() {
            tree = match tree.len() {
                0 => other,
                _ => join::joined(&[&other, &tree]),
            };
        }
        if tree.levels.iter().any(|level| level.len() > Level::MAX_LEN) {
            return Err(HeadError::TooManyNgrams);
        }
        tree.count_continuations();
        Ok(tree)
    }
}
