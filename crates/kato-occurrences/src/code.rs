//! The code of the symbols of a text: the more frequent a symbol, the fewer bits it has.
//!
//! It is a tree, and a function of the counts alone, so only these are kept. Each inner node has the bits of
//! the symbols below it, in the order in which they come in the text; nodes follow each other from the root
//! down, the side of the zeros first.

/// The mark of a child that is a symbol.
const SYMBOL: u32 = 1 << 31;

/// An inner node.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Node {
    /// Where its bits begin among those of all nodes.
    pub(crate) start: u64,
    /// Bits set in front of that.
    pub(crate) set_before: u64,
    /// Its children by bit.
    children: [u32; 2],
}

/// What lies below a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Child {
    Node(usize),
    Symbol(u32),
}

impl Node {
    /// Returns the child of a bit.
    #[inline]
    pub(crate) const fn child(&self, bit: bool) -> Child {
        let child = self.children[bit as usize];
        match child & SYMBOL {
            0 => Child::Node(child as usize),
            _ => Child::Symbol(child & !SYMBOL),
        }
    }
}

/// The code of a text's symbols.
#[derive(Debug)]
pub(crate) struct Code {
    /// The inner nodes, the root first.
    pub(crate) nodes: Vec<Node>,
    /// The bits of each symbol, the first one lowest, and their number.
    words: Vec<(u64, u32)>,
}

impl Code {
    /// Creates the code of at least two symbols that occur so often, each at least once, and fewer than 2³²
    /// times together. So none has more than 47 bits.
    pub(crate) fn new(counts: &[u32]) -> Self {
        let merged = merge(counts);
        let mut code = Self {
            nodes: Vec::with_capacity(merged.len()),
            words: vec![(0, 0); counts.len()],
        };
        let (mut start, mut set_before) = (0, 0);
        // The node above and the side of it; none for the root, which was merged last.
        let mut open = Vec::new();
        if let Some(root) = merged.len().checked_sub(1) {
            open.push((root as u32, None, (0, 0)));
        }
        while let Some((child, above, word)) = open.pop() {
            let idx = code.nodes.len();
            let is_symbol = child & SYMBOL != 0;
            if let Some((above, side)) = above {
                let above: &mut Node = &mut code.nodes[above];
                above.children[side] = if is_symbol { child } else { idx as u32 };
            }
            if is_symbol {
                code.words[(child & !SYMBOL) as usize] = word;
                continue;
            }
            let Merged {
                children,
                count,
                ones,
            } = merged[child as usize];
            code.nodes.push(Node {
                start,
                set_before,
                children: [0; 2],
            });
            start += count;
            set_before += ones;
            let (bits, length) = word;
            for side in [1, 0] {
                let word = (bits | (side as u64) << length, length + 1);
                open.push((children[side], Some((idx, side)), word));
            }
        }
        code
    }

    /// Returns the bits of a symbol, the first one lowest, and their number.
    #[inline]
    pub(crate) fn word(&self, symbol: u32) -> (u64, u32) {
        self.words[symbol as usize]
    }
}

/// A node of two that were the rarest.
#[derive(Debug, Clone, Copy)]
struct Merged {
    children: [u32; 2],
    count: u64,
    /// That of the child of the bit 1.
    ones: u64,
}

/// Merges the two rarest symbols or nodes until one is left, the last. Ties go by the number of the child, nodes
/// before symbols, so that nothing else decides.
fn merge(counts: &[u32]) -> Vec<Merged> {
    let leaves = (0..).zip(counts);
    let mut leaves: Vec<(u32, u32)> = leaves.map(|(symbol, &count)| (count, symbol)).collect();
    leaves.sort_unstable();
    let mut leaves = leaves.into_iter().peekable();
    let mut merged: Vec<Merged> = Vec::with_capacity(counts.len());
    // A node is never rarer than those before it, so the rarest is the first that is in no other.
    let mut n_inside = 0;
    let mut rarest = |merged: &[Merged]| {
        let node = merged.get(n_inside).map(|node| node.count);
        let leaf = leaves.peek().map(|leaf| u64::from(leaf.0));
        match (node, leaf) {
            (Some(node), leaf) if leaf.is_none_or(|leaf| node <= leaf) => {
                n_inside += 1;
                Some((node, n_inside as u32 - 1))
            }
            _ => {
                let (count, symbol) = leaves.next()?;
                Some((u64::from(count), symbol | SYMBOL))
            }
        }
    };
    while let Some((count, zero)) = rarest(&merged)
        && let Some((ones, one)) = rarest(&merged)
    {
        merged.push(Merged {
            children: [zero, one],
            count: count + ones,
            ones,
        });
    }
    merged
}

#[cfg(test)]
mod tests {
    use std::cmp::Reverse;
    use std::collections::BinaryHeap;

    use proptest::prelude::*;

    use super::*;

    /// Merges as the book says, with all that is left in a heap.
    fn merged_in_a_heap(counts: &[u32]) -> Vec<[u32; 2]> {
        let leaves = (0..).zip(counts);
        let leaves = leaves.map(|(symbol, &count)| Reverse((u64::from(count), symbol | SYMBOL)));
        let mut heap: BinaryHeap<_> = leaves.collect();
        let mut merged = Vec::new();
        while let Some(Reverse((rarest, zero))) = heap.pop()
            && let Some(Reverse((next, one))) = heap.pop()
        {
            heap.push(Reverse((rarest + next, merged.len() as u32)));
            merged.push([zero, one]);
        }
        merged
    }

    proptest! {
        #[test]
        fn the_rarest_are_merged_first(
            // Few numbers, so that there are ties.
            counts in prop_oneof![
                prop::collection::vec(1u32..9, 2..80),
                prop::collection::vec(1u32..100_000, 2..80),
            ],
        ) {
            let merged = merge(&counts);
            let children: Vec<[u32; 2]> = merged.iter().map(|node| node.children).collect();
            prop_assert_eq!(children, merged_in_a_heap(&counts));
        }

        #[test]
        fn words_lead_to_their_symbols_and_bits_are_counted(
            counts in prop::collection::vec(1u32..1000, 2..80),
        ) {
            let code = Code::new(&counts);
            let mut through = vec![(0u64, 0u64); code.nodes.len()];
            for (symbol, &count) in (0..).zip(&counts) {
                let (bits, length) = code.word(symbol);
                let mut at = Child::Node(0);
                for place in 0..length {
                    let Child::Node(node) = at else { panic!("a word goes on behind a symbol") };
                    let bit = bits >> place & 1 == 1;
                    through[node].0 += u64::from(count);
                    through[node].1 += u64::from(bit) * u64::from(count);
                    at = code.nodes[node].child(bit);
                }
                prop_assert_eq!(at, Child::Symbol(symbol));
            }
            let (mut start, mut set) = (0, 0);
            for (node, (bits, ones)) in code.nodes.iter().zip(through) {
                prop_assert_eq!((node.start, node.set_before), (start, set));
                start += bits;
                set += ones;
            }
        }
    }
}
