//! A rooted tree that is made: drawn, joined, or cut out of one that there is.

use std::fmt::Write;

use kato_random::SplitMix64;
use kato_unifrac::Tree;

/// The distance of root and tips in a tree that is drawn, in substitutions a site.
const HEIGHT: f64 = 0.25;

/// A rooted tree. Tips come first, and every node before its parent; the root is the last.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Phylogeny {
    pub(super) n_tips: usize,
    /// The root's is its own number.
    pub(super) parents: Vec<usize>,
    /// Of the branch above each node; 0 above the root.
    pub(super) lengths: Vec<f64>,
}

impl Phylogeny {
    /// Draws a tree in which any two lineages meet at the same rate, going back in time.
    ///
    /// Source: Kingman, "The coalescent", Stochastic Processes and their Applications 13 (1982).
    pub(super) fn random(n_tips: usize, random: &mut SplitMix64) -> Self {
        let mut joined = Joining::new(n_tips);
        let mut lineages: Vec<usize> = (0..n_tips).collect();
        let mut time = 0.0;
        while lineages.len() > 1 {
            let k = lineages.len() as f64;
            time -= libm::log(1.0 - random.unit()) * 2.0 / (k * (k - 1.0));
            let left = lineages.swap_remove(random.below(lineages.len()));
            let right = lineages.swap_remove(random.below(lineages.len()));
            lineages.push(joined.join(left, right, time));
        }
        joined.into_phylogeny(HEIGHT / time)
    }

    /// Joins the two nearest clusters by their mean distance until one is left (UPGMA), by following
    /// chains of nearest neighbours: n² steps.
    pub(super) fn upgma(n_tips: usize, distance: impl Fn(usize, usize) -> f32) -> Self {
        let mut joined = Joining::new(n_tips);
        // By slot: the cluster's node, its size, and its distances.
        let mut nodes: Vec<usize> = (0..n_tips).collect();
        let mut sizes = vec![1.0_f32; n_tips];
        let mut apart: Vec<f32> = (0..n_tips * n_tips)
            .map(|at| distance(at / n_tips, at % n_tips))
            .collect();
        let mut alive: Vec<usize> = (0..n_tips).collect();
        let mut chain: Vec<usize> = Vec::new();
        while alive.len() > 1 {
            let top = *chain.last().unwrap_or(&alive[0]);
            if chain.is_empty() {
                chain.push(top);
            }
            let before = chain.len().checked_sub(2).map(|at| chain[at]);
            // The one before is kept among equals, or the chain would go round.
            let mut nearest = before.unwrap_or(if alive[0] == top { alive[1] } else { alive[0] });
            for &other in alive.iter().filter(|&&other| other != top) {
                if apart[top * n_tips + other] < apart[top * n_tips + nearest] {
                    nearest = other;
                }
            }
            if Some(nearest) != before {
                chain.push(nearest);
                continue;
            }
            chain.truncate(chain.len() - 2);
            let height = f64::from(apart[top * n_tips + nearest]) / 2.0;
            nodes[top] = joined.join(nodes[top], nodes[nearest], height);
            alive.retain(|&slot| slot != nearest);
            let (one, other) = (sizes[top], sizes[nearest]);
            sizes[top] += other;
            for &slot in alive.iter().filter(|&&slot| slot != top) {
                let sum = one * apart[top * n_tips + slot] + other * apart[nearest * n_tips + slot];
                apart[top * n_tips + slot] = sum / (one + other);
                apart[slot * n_tips + top] = sum / (one + other);
            }
        }
        joined.into_phylogeny(1.0)
    }

    /// Cuts the part of a tree out that holds some tips, given by their nodes in it. Absent and
    /// negative lengths are 0.
    pub(super) fn cut(tree: &Tree, tips: &[usize]) -> Self {
        let mut found: Vec<Option<(usize, f64)>> = vec![None; tree.n_nodes()];
        for (tip, &node) in tips.iter().enumerate() {
            found[node] = Some((tip, 0.0));
        }
        let mut made = Self {
            n_tips: tips.len(),
            parents: (0..tips.len()).collect(),
            lengths: vec![0.0; tips.len()],
        };
        let mut children: Vec<Vec<(usize, f64)>> = vec![Vec::new(); tree.n_nodes()];
        for node in 0..tree.n_nodes() {
            let below = std::mem::take(&mut children[node]);
            let own = match (&below[..], found[node]) {
                (_, Some(tip)) => Some(tip),
                ([], None) => None,
                // A node with one child left is a place on a branch.
                ([one], None) => Some(*one),
                (several, None) => {
                    let inner = made.parents.len();
                    made.parents.push(inner);
                    made.lengths.push(0.0);
                    for &(child, length) in several {
                        made.parents[child] = inner;
                        made.lengths[child] = length;
                    }
                    Some((inner, 0.0))
                }
            };
            if let (Some((id, length)), Some(parent)) = (own, tree.parent(node)) {
                let above = tree.length(node).unwrap_or(0.0).max(0.0);
                children[parent].push((id, length + above));
            }
        }
        made
    }

    /// Returns the root.
    pub(super) fn root(&self) -> usize {
        self.parents.len() - 1
    }

    /// Returns the tips below each node, the node itself if it is one.
    pub(super) fn tips_below(&self) -> Vec<Vec<usize>> {
        let mut below: Vec<Vec<usize>> = vec![Vec::new(); self.parents.len()];
        for node in 0..self.root() {
            if node < self.n_tips {
                below[node].push(node);
            }
            // Parents come behind their children, so this node is complete.
            let own = below[node].clone();
            below[self.parents[node]].extend(own);
        }
        below
    }

    /// Writes the tree as Newick, with the names of the tips.
    pub(super) fn newick(&self, names: &[String]) -> String {
        let mut texts: Vec<String> = names.to_vec();
        texts.resize(self.parents.len(), String::new());
        for node in 0..self.root() {
            let text = std::mem::take(&mut texts[node]);
            let closing = if node < self.n_tips { "" } else { ")" };
            let parent = &mut texts[self.parents[node]];
            parent.push(if parent.is_empty() { '(' } else { ',' });
            // Writing into a text does not fail.
            let _ = write!(parent, "{text}{closing}:{}", self.lengths[node]);
        }
        format!("{});\n", texts[self.root()])
    }
}

/// A tree that grows by joining two nodes at a height.
struct Joining {
    n_tips: usize,
    parents: Vec<usize>,
    heights: Vec<f64>,
}

impl Joining {
    fn new(n_tips: usize) -> Self {
        Self {
            n_tips,
            parents: (0..n_tips).collect(),
            heights: vec![0.0; n_tips],
        }
    }

    fn join(&mut self, left: usize, right: usize, height: f64) -> usize {
        let node = self.parents.len();
        self.parents.push(node);
        self.heights.push(height);
        self.parents[left] = node;
        self.parents[right] = node;
        node
    }

    fn into_phylogeny(self, scale: f64) -> Phylogeny {
        let length = |node: usize| self.heights[self.parents[node]] - self.heights[node];
        let lengths = (0..self.parents.len()).map(|node| (length(node) * scale).max(0.0));
        Phylogeny {
            n_tips: self.n_tips,
            lengths: lengths.collect(),
            parents: self.parents,
        }
    }
}
