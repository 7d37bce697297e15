//! The check of a table against a tree, before anything is computed.

mod examine;
mod finding;

use std::fmt;

use crate::options::MatchOptions;
use crate::table::Table;
use crate::tree::Tree;

pub(crate) use examine::examine;
pub use finding::{CheckFinding, FindingKind, Severity};

/// Everything that was found about a table and a tree.
///
/// Its text has a line for each finding: how many, the first ten, and what to do.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Check {
    /// The findings, gravest first.
    pub findings: Vec<CheckFinding>,
    /// Samples of the table.
    pub n_samples: usize,
    /// Features of the table.
    pub n_features: usize,
    /// Tips of the tree.
    pub n_tips: usize,
    /// Features that one tip of the tree is named after.
    pub n_matched: usize,
}

/// Checks a table against a tree, and gives all findings at once.
///
/// ```
/// use kato_unifrac::{Table, Tree, check};
///
/// let table = Table::from_classic("#OTU ID\ts1\ts2\na\t3\t0\nb\t1\t0\n")?;
/// let tree = Tree::from_newick("(a:1,c:-1);")?;
/// let check = check(&table, &tree);
/// assert_eq!(
///     check.to_string().lines().map(|line| line.split(':').next().unwrap()).collect::<Vec<_>>(),
///     [
///         "1 feature of the table is no tip of the tree",
///         "1 branch has a negative length",
///         "1 sample holds nothing",
///         "note, 1 tip of the tree is no feature of the table",
///     ]
/// );
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use]
pub fn check(table: &Table, tree: &Tree) -> Check {
    examine(table, tree).check
}

impl Check {
    /// Tells whether distances can be computed with these options.
    #[must_use]
    pub fn passes(&self, options: MatchOptions) -> bool {
        self.findings.iter().all(|finding| finding.passes(options))
    }

    /// Returns the finding of a kind, if there is one.
    #[must_use]
    pub fn finding(&self, kind: FindingKind) -> Option<&CheckFinding> {
        self.findings.iter().find(|finding| finding.kind == kind)
    }
}

impl fmt::Display for Check {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, finding) in self.findings.iter().enumerate() {
            let line_break = if i == 0 { "" } else { "\n" };
            write!(formatter, "{line_break}{finding}")?;
        }
        Ok(())
    }
}
