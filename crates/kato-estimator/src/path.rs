//! The learn calls of a document at every level, and those that cuts from every other token would
//! make.

use crate::EstimatedHierarchy;
use crate::hash::{NAMES, finish, hash_names, hash_tokens, mix};

/// Computes what a document teaches, as hashes of content. Its buffers are reused between
/// documents.
#[derive(Debug, Clone, Default)]
pub(crate) struct Paths {
    /// Hashes of the names of the current level.
    names: Vec<u64>,
    above: Vec<u64>,
    /// For every token, the pattern of the current level that begins there.
    starts: Vec<Start>,
    starts_above: Vec<Start>,
}

#[derive(Debug, Clone, Copy)]
struct Start {
    /// Hash of the pattern; `None` where nothing is learned from this token.
    name: Option<u64>,
    /// The token behind it.
    next: usize,
}

impl Paths {
    /// Calls `learned` for every learn call of a document, with level, name, tokens at level 0, and
    /// number of symbols; level by level, in the order of the text.
    pub(crate) fn calls<P: AsRef<[u32]>>(
        &mut self,
        hierarchy: &EstimatedHierarchy,
        paragraphs: &[P],
        mut learned: impl FnMut(usize, u64, &[u32], usize),
    ) {
        self.names.clear();
        for paragraph in paragraphs {
            let tokens = paragraph.as_ref();
            for chunk in hierarchy.token_chunks(tokens.len()) {
                let chunk = &tokens[chunk];
                // KATO learns nothing from fewer than two symbols.
                if chunk.len() >= 2 {
                    let name = hash_tokens(chunk);
                    learned(0, name, chunk, chunk.len());
                    self.names.push(name);
                }
            }
        }
        let mut promoted = None;
        for level in 1..hierarchy.n_levels() {
            // A promoted name comes after all names of the level below, as it was the last there.
            self.names.extend(promoted.take());
            self.above.clear();
            let chunks = hierarchy.name_chunks(level, self.names.len());
            let has_single = chunks.n_dropped() > 0;
            for chunk in chunks {
                let children = &self.names[chunk];
                let name = hash_names(children);
                learned(level, name, &[], children.len());
                self.above.push(name);
            }
            let is_top = level + 1 == hierarchy.n_levels();
            // At the top there is no level to promote it to.
            if has_single && hierarchy.promotes_single_names() && !is_top {
                promoted = self.names.last().copied();
            }
            std::mem::swap(&mut self.names, &mut self.above);
        }
    }

    /// Calls `seen` for what a cut that begins at each token of the document would learn first at
    /// each level, with level, name and number of symbols.
    pub(crate) fn windows<P: AsRef<[u32]>>(
        &mut self,
        hierarchy: &EstimatedHierarchy,
        paragraphs: &[P],
        mut seen: impl FnMut(usize, u64, usize),
    ) {
        self.starts.clear();
        for paragraph in paragraphs {
            let (tokens, base) = (paragraph.as_ref(), self.starts.len());
            for at in 0..tokens.len() {
                // Up to the end of the paragraph: chunks do not cross it, names above do.
                let rest = &tokens[at..];
                let first = hierarchy.token_chunks(rest.len()).next();
                let len = first.map(|chunk| chunk.len());
                let name = len
                    .filter(|&len| len >= 2)
                    .map(|len| hash_tokens(&rest[..len]));
                if let (Some(name), Some(len)) = (name, len) {
                    seen(0, name, len);
                }
                self.starts.push(Start {
                    name,
                    next: base + at + len.unwrap_or(rest.len()),
                });
            }
        }
        for level in 1..hierarchy.n_levels() {
            self.starts_above.clear();
            for at in 0..self.starts.len() {
                let start = self.level_start(at, hierarchy.chunk_size(level));
                if let (Some(name), n_symbols) = (start.0.name, start.1) {
                    seen(level, name, n_symbols);
                }
                self.starts_above.push(start.0);
            }
            std::mem::swap(&mut self.starts, &mut self.starts_above);
        }
    }

    /// Returns the pattern of up to `chunk_size` names that begins at a token, and its number of
    /// names.
    fn level_start(&self, at: usize, chunk_size: usize) -> (Start, usize) {
        let (mut next, mut n_names, mut hash) = (at, 0, NAMES);
        // No cut begins here. Walking on would count the pattern that begins behind once more.
        if let Some(&start @ Start { name: None, .. }) = self.starts.get(at) {
            return (start, 0);
        }
        // From pattern to pattern of the level below, as the cut goes, over what teaches nothing.
        while let (true, Some(start)) = (n_names < chunk_size, self.starts.get(next)) {
            if let Some(name) = start.name {
                hash = mix(hash, name);
                n_names += 1;
            }
            next = start.next;
        }
        let name = (n_names >= 2).then(|| finish(hash, n_names));
        (Start { name, next }, n_names)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_cut_of_the_text_is_a_walk_over_the_windows(
            paragraphs in prop::collection::vec(prop::collection::vec(0..3u32, 0..30), 0..5),
            sizes in prop::collection::vec(2..6usize, 1..4),
        ) {
            let hierarchy = EstimatedHierarchy::new(sizes).unwrap();
            let mut calls = Vec::new();
            let mut paths = Paths::default();
            paths.calls(&hierarchy, &paragraphs, |level, name, _, len| calls.push((level, name, len)));
            let mut windows = std::collections::HashSet::new();
            paths.windows(&hierarchy, &paragraphs, |level, name, len| { windows.insert((level, name, len)); });
            for call in calls {
                prop_assert!(windows.contains(&call), "{:?}", call);
            }
        }
    }
}
