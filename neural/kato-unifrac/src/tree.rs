//! A rooted tree with branch lengths, as flat arrays in postorder.

use std::path::Path;

use crate::error::UnifracError;
use crate::newick::{self, NewickError, NewickOptions};

/// A rooted phylogenetic tree.
///
/// Nodes are numbered in postorder: every child has a smaller number than its parent, and the root
/// has the greatest. A node's branch is the one to its parent, so a branch has the number of its
/// lower node, and the root has none.
///
/// ```
/// use kato_unifrac::Tree;
///
/// let tree = Tree::from_newick("((a:1,b:2)0.98:0.5,c:3);")?;
/// assert_eq!(tree.n_nodes(), 5);
/// assert_eq!(tree.label(0), "a");
/// assert_eq!(tree.parent(0), Some(2));
/// assert_eq!(tree.length(2), Some(0.5));
/// assert_eq!(tree.support(2), Some(0.98));
/// # Ok::<(), kato_unifrac::newick::NewickError>(())
/// ```
#[derive(Debug, Clone)]
pub struct Tree {
    // The root's is its own number, so that walking up needs no test for absence.
    pub(crate) parents: Vec<u32>,
    // NaN where the file gives none; the reader refuses NaN as a length.
    pub(crate) lengths: Vec<f64>,
    pub(crate) n_children: Vec<u32>,
    // One text for all labels: a tree of 100,000 tips would otherwise be 200,000 allocations.
    pub(crate) labels: String,
    pub(crate) label_ends: Vec<usize>,
    pub(crate) n_further_trees: usize,
}

impl Tree {
    /// Reads a tree from a Newick text, with labels as they are written.
    ///
    /// [`NewickOptions`](crate::newick::NewickOptions) has another rule for underscores.
    ///
    /// # Errors
    ///
    /// The text is no Newick, or holds more than 2³¹ nodes. More than one tree is no error here, as
    /// [`check`](crate::check()) says it together with everything else.
    pub fn from_newick(text: &str) -> Result<Self, NewickError> {
        newick::parse(text, NewickOptions::default())
    }

    /// Reads a tree from a file with a Newick text in UTF-8.
    ///
    /// # Errors
    ///
    /// The file cannot be read, or as for [`from_newick`](Self::from_newick).
    pub fn read(path: impl AsRef<Path>, options: NewickOptions) -> Result<Self, UnifracError> {
        let path = path.as_ref();
        let text = std::fs::read_to_string(path).map_err(|source| UnifracError::Read {
            path: path.to_owned(),
            source,
        })?;
        newick::parse(&text, options).map_err(|source| UnifracError::Tree {
            path: path.to_owned(),
            source,
        })
    }

    /// Returns the number of nodes, tips and root included; at least one.
    #[must_use]
    pub fn n_nodes(&self) -> usize {
        self.parents.len()
    }

    /// Returns the number of nodes without children.
    #[must_use]
    pub fn n_tips(&self) -> usize {
        self.n_children.iter().filter(|&&n| n == 0).count()
    }

    /// Returns the number of trees that follow the first one in the text; they are not kept.
    #[must_use]
    pub const fn n_further_trees(&self) -> usize {
        self.n_further_trees
    }

    /// Returns the root's number, which is the greatest.
    #[must_use]
    pub fn root(&self) -> usize {
        self.n_nodes() - 1
    }

    /// Returns the node above, or `None` for the root.
    ///
    /// # Panics
    ///
    /// There is no such node.
    #[must_use]
    pub fn parent(&self, node: usize) -> Option<usize> {
        (node != self.root()).then(|| self.parents[node] as usize)
    }

    /// Returns how many children a node has; 0 for a tip, more than two in a polytomy.
    ///
    /// # Panics
    ///
    /// There is no such node.
    #[must_use]
    pub fn n_children(&self, node: usize) -> usize {
        self.n_children[node] as usize
    }

    /// Returns the length of a node's branch, or `None` where the text has none.
    ///
    /// # Panics
    ///
    /// There is no such node.
    #[must_use]
    pub fn length(&self, node: usize) -> Option<f64> {
        let length = self.lengths[node];
        (!length.is_nan()).then_some(length)
    }

    /// Returns a node's label, which is empty where the text has none.
    ///
    /// # Panics
    ///
    /// There is no such node.
    #[must_use]
    pub fn label(&self, node: usize) -> &str {
        let start = node.checked_sub(1).map_or(0, |i| self.label_ends[i]);
        &self.labels[start..self.label_ends[node]]
    }

    /// Returns the support of an inner node: its label, where that is a number.
    ///
    /// # Panics
    ///
    /// There is no such node.
    #[must_use]
    pub fn support(&self, node: usize) -> Option<f64> {
        let is_inner = self.n_children[node] > 0;
        is_inner.then(|| self.label(node).parse().ok()).flatten()
    }

    /// Iterates over the numbers of the tips, in the order of the text.
    pub fn tips(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.n_nodes()).filter(|&node| self.n_children[node] == 0)
    }
}

/// Trees are equal that have the same nodes, labels and lengths in the same order.
impl PartialEq for Tree {
    fn eq(&self, other: &Self) -> bool {
        // Absent lengths are NaN, which no comparison of numbers finds equal.
        let lengths = |tree: &Self| {
            (0..tree.n_nodes())
                .map(|node| tree.length(node))
                .collect::<Vec<_>>()
        };
        self.parents == other.parents
            && self.labels == other.labels
            && self.label_ends == other.label_ends
            && self.n_further_trees == other.n_further_trees
            && lengths(self) == lengths(other)
    }
}
