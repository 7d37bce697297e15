//! The reader of Newick texts: one pass, no recursion, so a tree may be as deep as it is long.

use crate::tree::Tree;

/// How a Newick text is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct NewickOptions {
    /// Reads `_` outside of quotes as a space, as the format's first description has it. Off by
    /// default: today's programs write the names of tables with their underscores, unquoted.
    pub underscores_are_spaces: bool,
}

impl NewickOptions {
    /// Reads `_` outside of quotes as a space.
    #[must_use]
    pub const fn with_underscores_as_spaces(mut self) -> Self {
        self.underscores_are_spaces = true;
        self
    }
}

/// Why a text is no Newick tree.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, column {column} of the tree: {reason}")]
#[non_exhaustive]
pub struct NewickError {
    /// Line, counted from 1.
    pub line: usize,
    /// Column in bytes, counted from 1.
    pub column: usize,
    /// What is wrong, and what to do.
    pub reason: &'static str,
}

/// Reads the first tree of a text, and counts the others.
///
/// The grammar: `(child,child)label:length;`, with white space and comments in brackets, which may
/// be nested, between any two parts. A label in single quotes may hold everything; two quotes in it
/// stand for one.
///
/// ```
/// use kato_unifrac::newick::{self, NewickOptions};
///
/// let text = "('it''s':1[&r[nested]],b_c:2);";
/// let tree = newick::parse(text, NewickOptions::default().with_underscores_as_spaces())?;
/// assert_eq!([tree.label(0), tree.label(1)], ["it's", "b c"]);
/// # Ok::<(), newick::NewickError>(())
/// ```
///
/// # Errors
///
/// The text is no Newick: the error has the place.
pub fn parse(text: &str, options: NewickOptions) -> Result<Tree, NewickError> {
    let mut reader = Reader {
        text,
        at: 0,
        options,
    };
    reader.skip_blank()?;
    // Some programs say first, in brackets, whether the tree is rooted; that is a comment by now.
    if reader.peek().is_none() {
        return Err(reader.error(0, "there is no tree; name another file"));
    }
    let mut tree = reader.tree()?;
    reader.skip_blank()?;
    while reader.peek().is_some() {
        reader.tree()?;
        tree.n_further_trees += 1;
        reader.skip_blank()?;
    }
    Ok(tree)
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
    options: NewickOptions,
}

/// The nodes read so far, and those whose parent is not yet closed.
#[derive(Default)]
struct Nodes {
    parents: Vec<u32>,
    lengths: Vec<f64>,
    n_children: Vec<u32>,
    labels: String,
    label_ends: Vec<usize>,
    // Closed nodes without a parent, in order; each open bracket owns the end of them.
    waiting: Vec<u32>,
    // For each open bracket, how many were waiting before it.
    open: Vec<usize>,
}

impl Reader<'_> {
    fn tree(&mut self) -> Result<Tree, NewickError> {
        let start = self.at;
        let mut nodes = Nodes::default();
        loop {
            self.skip_blank()?;
            // Where a node begins: brackets first, then its label and length.
            if self.peek() == Some(b'(') {
                self.at += 1;
                nodes.open.push(nodes.waiting.len());
                continue;
            }
            self.node(&mut nodes, None)?;
            // Behind a node: a sibling, the end of its parent, or of the tree.
            loop {
                match self.peek() {
                    Some(b',') if !nodes.open.is_empty() => {
                        self.at += 1;
                        break;
                    }
                    Some(b')') => {
                        let Some(first_child) = nodes.open.pop() else {
                            return Err(self.error(self.at, "`)` closes nothing; add a `(`"));
                        };
                        self.at += 1;
                        self.node(&mut nodes, Some(first_child))?;
                    }
                    Some(b';') if nodes.open.is_empty() => {
                        self.at += 1;
                        return Ok(nodes.into_tree());
                    }
                    Some(b';') | None if !nodes.open.is_empty() => {
                        return Err(self.error(start, "the tree that begins here lacks a `)`"));
                    }
                    // The last semicolon is often forgotten, and nothing is lost without it.
                    None => return Ok(nodes.into_tree()),
                    Some(b',') => {
                        let reason = "`,` outside of all brackets; put the parts in `(` and `)`";
                        return Err(self.error(self.at, reason));
                    }
                    Some(_) => {
                        let reason = "a `,`, `)` or `;` must stand here; a label with spaces or \
                                      signs belongs in single quotes";
                        return Err(self.error(self.at, reason));
                    }
                }
            }
        }
    }

    /// Reads label and length of a node, and closes it over the children that wait for it.
    fn node(&mut self, nodes: &mut Nodes, first_child: Option<usize>) -> Result<(), NewickError> {
        self.skip_blank()?;
        self.label(&mut nodes.labels)?;
        self.skip_blank()?;
        let mut length = f64::NAN;
        if self.peek() == Some(b':') {
            self.at += 1;
            self.skip_blank()?;
            length = self.length()?;
            self.skip_blank()?;
        }
        let number = nodes.parents.len();
        // Half of what an index can say, so that sums of two stay in range everywhere.
        if number >= (u32::MAX / 2) as usize {
            return Err(self.error(self.at, "the tree has more than 2^31 nodes; prune it"));
        }
        let mut n_children = 0;
        if let Some(first_child) = first_child {
            for child in nodes.waiting.drain(first_child..) {
                nodes.parents[child as usize] = number as u32;
                n_children += 1;
            }
        }
        nodes.waiting.push(number as u32);
        nodes.parents.push(number as u32);
        nodes.lengths.push(length);
        nodes.n_children.push(n_children);
        nodes.label_ends.push(nodes.labels.len());
        Ok(())
    }

    fn label(&mut self, labels: &mut String) -> Result<(), NewickError> {
        if self.peek() == Some(b'\'') {
            return self.quoted_label(labels);
        }
        let rest = &self.text[self.at..];
        let n_bytes = rest.bytes().position(ends_label).unwrap_or(rest.len());
        let label = &rest[..n_bytes];
        if self.options.underscores_are_spaces {
            labels.extend(label.chars().map(|c| if c == '_' { ' ' } else { c }));
        } else {
            labels.push_str(label);
        }
        self.at += n_bytes;
        Ok(())
    }

    fn quoted_label(&mut self, labels: &mut String) -> Result<(), NewickError> {
        let start = self.at;
        self.at += 1;
        loop {
            let rest = &self.text[self.at..];
            let Some(n_bytes) = rest.bytes().position(|byte| byte == b'\'') else {
                return Err(self.error(start, "the quote that opens here is never closed"));
            };
            labels.push_str(&rest[..n_bytes]);
            self.at += n_bytes + 1;
            if self.peek() != Some(b'\'') {
                return Ok(());
            }
            labels.push('\'');
            self.at += 1;
        }
    }

    fn length(&mut self) -> Result<f64, NewickError> {
        let rest = &self.text[self.at..];
        let n_bytes = rest.bytes().position(ends_label).unwrap_or(rest.len());
        let parsed = fast_float2::parse::<f64, _>(&rest[..n_bytes]);
        match parsed {
            // Neither is a length; NaN moreover stands for an absent one inside.
            Ok(length) if length.is_finite() => {
                self.at += n_bytes;
                Ok(length)
            }
            _ => {
                let reason = "a finite number must follow `:`; write a length, or drop the `:`";
                Err(self.error(self.at, reason))
            }
        }
    }

    /// Passes over white space and comments, which may hold comments.
    fn skip_blank(&mut self) -> Result<(), NewickError> {
        while let Some(byte) = self.peek() {
            match byte {
                b'[' => self.skip_comment()?,
                _ if byte.is_ascii_whitespace() => self.at += 1,
                _ => break,
            }
        }
        Ok(())
    }

    fn skip_comment(&mut self) -> Result<(), NewickError> {
        let start = self.at;
        let mut depth = 0_usize;
        while let Some(byte) = self.peek() {
            self.at += 1;
            match byte {
                b'[' => depth += 1,
                b']' if depth == 1 => return Ok(()),
                b']' => depth -= 1,
                _ => {}
            }
        }
        Err(self.error(
            start,
            "the comment that opens here is never closed; add a `]`",
        ))
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn error(&self, at: usize, reason: &'static str) -> NewickError {
        let before = &self.text.as_bytes()[..at];
        let line_start = before
            .iter()
            .rposition(|&byte| byte == b'\n')
            .map_or(0, |i| i + 1);
        NewickError {
            line: 1 + before.iter().filter(|&&byte| byte == b'\n').count(),
            column: at - line_start + 1,
            reason,
        }
    }
}

impl Nodes {
    fn into_tree(self) -> Tree {
        Tree {
            parents: self.parents,
            lengths: self.lengths,
            n_children: self.n_children,
            labels: self.labels,
            label_ends: self.label_ends,
            n_further_trees: 0,
        }
    }
}

/// Signs that have a meaning of their own, so that a label without quotes ends before them.
const fn ends_label(byte: u8) -> bool {
    matches!(byte, b'(' | b')' | b',' | b':' | b';' | b'[' | b']' | b'\'')
        || byte.is_ascii_whitespace()
}
