//! The learn calls of a document at every level, and those that cuts from every other token would
//! make.

use crate::EstimatedHierarchy;
use crate::hash::{NAMES, finish, hash_names, hash_tokens, mix};

/// Computes what a document teaches, as hashes of content. Its buffers are reused between
/// documents.
#[derive(Debug, Clone, Default)]
pub(crate) struct Paths {
    /// Hashes of the names that have come up to each level and are in no chunk yet.
    waiting: Vec<Vec<u64>>,
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
    /// Calls `learned` for the learn calls of a document up to the end of its next paragraph, with
    /// level, name, tokens at level 0, and number of symbols.
    pub(crate) fn paragraph(
        &mut self,
        hierarchy: &EstimatedHierarchy,
        tokens: &[u32],
        learned: &mut impl FnMut(usize, u64, &[u32], usize),
    ) {
        self.waiting.resize(hierarchy.n_levels(), Vec::new());
        for chunk in hierarchy.token_chunks(tokens.len()) {
            let chunk = &tokens[chunk];
            // KATO learns nothing from fewer than two symbols.
            if chunk.len() >= 2 {
                let name = hash_tokens(chunk);
                learned(0, name, chunk, chunk.len());
                self.raise(hierarchy, 1, name, learned);
            }
        }
    }

    /// Takes a name to a level, and learns what is complete there whatever follows.
    fn raise(
        &mut self,
        hierarchy: &EstimatedHierarchy,
        mut level: usize,
        mut name: u64,
        learned: &mut impl FnMut(usize, u64, &[u32], usize),
    ) {
        while let Some(waiting) = self.waiting.get_mut(level) {
            waiting.push(name);
            if waiting.len() < 2 * hierarchy.chunk_size(level) {
                return;
            }
            let Some(chunk) = hierarchy.name_chunks(level, waiting.len()).next() else {
                return;
            };
            name = hash_names(&waiting[chunk.clone()]);
            learned(level, name, &[], chunk.len());
            waiting.drain(chunk);
            level += 1;
        }
    }

    /// Calls `learned` for the rest of the learn calls of a document.
    pub(crate) fn end(
        &mut self,
        hierarchy: &EstimatedHierarchy,
        learned: &mut impl FnMut(usize, u64, &[u32], usize),
    ) {
        for level in 1..hierarchy.n_levels() {
            let Some(mut names) = self.waiting.get_mut(level).map(std::mem::take) else {
                return;
            };
            let chunks = hierarchy.name_chunks(level, names.len());
            let has_single = chunks.n_dropped() > 0;
            for chunk in chunks {
                let children = &names[chunk];
                let name = hash_names(children);
                learned(level, name, &[], children.len());
                self.raise(hierarchy, level + 1, name, learned);
            }
            // At the top there is no level to promote it to. A promoted name comes after all names of
            // the level above, as it was the last here.
            if let (true, Some(&single)) = (has_single, names.last())
                && hierarchy.promotes_single_names()
            {
                self.raise(hierarchy, level + 1, single, learned);
            }
            names.clear();
            self.waiting[level] = names;
        }
    }

    /// Forgets a document of which the end is not known.
    pub(crate) fn abandon(&mut self) {
        self.waiting.iter_mut().for_each(Vec::clear);
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
            let mut learned = |level: usize, name: u64, _: &[u32], len: usize| calls.push((level, name, len));
            for paragraph in &paragraphs {
                paths.paragraph(&hierarchy, paragraph, &mut learned);
            }
            paths.end(&hierarchy, &mut learned);
            let mut windows = std::collections::HashSet::new();
            paths.windows(&hierarchy, &paragraphs, |level, name, len| { windows.insert((level, name, len)); });
            for call in calls {
                prop_assert!(windows.contains(&call), "{:?}", call);
            }
        }
    }
}
