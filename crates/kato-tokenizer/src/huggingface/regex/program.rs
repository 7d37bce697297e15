//! The instructions of an expression.

mod machine;

use std::collections::HashMap;

use foldhash::fast::RandomState;
use regex_syntax::hir::ClassUnicode;

pub(super) use self::machine::Machine;
use super::class::{FirstBytes, Table, single};
use super::node::{Assert, Kind, Node};
use super::{MAX_INSTRUCTIONS, MAX_SETS, RegexError};

/// Most characters that a look behind may go back.
const MAX_BEHIND: usize = 64;

#[derive(Debug)]
enum Instruction {
    Char(char),
    Set(usize),
    /// Goes on with the first branch that leads to a match.
    Branches(Vec<Branch>),
    Jump(usize),
    /// As many characters of a set as there are, or as few.
    Run(Run),
    /// The instructions up to `end` once, whatever follows.
    Atomic {
        end: usize,
    },
    /// Whether the instructions up to `end` match here, or at some distance before.
    Look {
        behind: Option<(usize, usize)>,
        negated: bool,
        end: usize,
    },
    Assert(Assert),
    /// Remembers where a repetition began.
    Mark(usize),
    /// Leaves a repetition that matched nothing, as it would do so for ever.
    Progress {
        mark: usize,
        exit: usize,
    },
    Done,
}

/// `min` to `max` characters of a set.
#[derive(Debug, Clone, Copy)]
struct Run {
    set: usize,
    min: usize,
    max: usize,
    kind: Kind,
}

#[derive(Debug, Clone, Copy)]
struct Branch {
    /// Bytes without which it need not be tried.
    first: FirstBytes,
    to: usize,
}

/// An expression as instructions.
#[derive(Debug)]
pub(super) struct Program {
    instructions: Vec<Instruction>,
    sets: Vec<Table>,
    first: FirstBytes,
    marks: usize,
    /// What `\b` asks for, if it does.
    word: Option<Table>,
}

impl Program {
    pub(super) fn new(node: &Node) -> Result<Self, RegexError> {
        let mut compiler = Compiler::default();
        compiler.node(node)?;
        compiler.push(Instruction::Done)?;
        let boundary = |instruction: &Instruction| {
            matches!(
                instruction,
                Instruction::Assert(Assert::WordBoundary | Assert::NoWordBoundary)
            )
        };
        let word = compiler.instructions.iter().any(boundary);
        let word = word.then(super::class::word_outside_sets).flatten();
        Ok(Self {
            first: first_bytes(node).0,
            sets: compiler.sets,
            marks: compiler.marks,
            word: word.map(|set| Table::new(&set)),
            instructions: compiler.instructions,
        })
    }
}

/// Returns the bytes with which a match may begin, and whether it may be empty; all bytes if it may be.
fn first_bytes(node: &Node) -> (FirstBytes, bool) {
    match node {
        Node::Char(character) => (FirstBytes::of(&single(*character)), false),
        Node::Set(set) => (FirstBytes::of(set), false),
        Node::Concat(nodes) => {
            let mut all = FirstBytes::NONE;
            for node in nodes {
                // What only looks takes no part in where a match begins, and narrows nothing here.
                if matches!(node, Node::Look { .. } | Node::Assert(_)) {
                    continue;
                }
                let (first, may_be_empty) = first_part(node);
                all = all.union(first);
                if !may_be_empty {
                    return (all, false);
                }
            }
            (FirstBytes::ALL, true)
        }
        _ => match first_part(node) {
            (_, true) => (FirstBytes::ALL, true),
            first => first,
        },
    }
}

/// Returns the bytes with which a match that is not empty may begin, and whether it may be empty.
fn first_part(node: &Node) -> (FirstBytes, bool) {
    match node {
        Node::Alternatives(nodes) => nodes.iter().map(first_part).fold(
            (FirstBytes::NONE, false),
            |(all, any_empty), (first, may_be_empty)| (all.union(first), any_empty || may_be_empty),
        ),
        Node::Repeat { node, min, .. } => {
            let (first, may_be_empty) = first_part(node);
            (first, may_be_empty || *min == 0)
        }
        Node::Atomic(node) => first_part(node),
        Node::Look { .. } | Node::Assert(_) => (FirstBytes::NONE, true),
        Node::Concat(_) | Node::Char(_) | Node::Set(_) => first_bytes(node),
    }
}

/// Returns the least and the most characters of a match.
pub(super) fn width(node: &Node) -> (usize, Option<usize>) {
    match node {
        Node::Char(_) | Node::Set(_) => (1, Some(1)),
        Node::Concat(nodes) => {
            nodes
                .iter()
                .map(width)
                .fold((0, Some(0)), |(min, max), (least, most)| {
                    let max = max.zip(most);
                    (min + least, max.map(|(max, most)| max + most))
                })
        }
        Node::Alternatives(nodes) => {
            let all = nodes.iter().map(width);
            all.reduce(|(min, max), (least, most)| {
                let max = max.zip(most);
                (min.min(least), max.map(|(max, most)| max.max(most)))
            })
            .unwrap_or((0, Some(0)))
        }
        Node::Repeat { node, min, max, .. } => {
            let (least, most) = width(node);
            let max = most
                .zip(*max)
                .map(|(most, max)| most.saturating_mul(max as usize));
            (least.saturating_mul(*min as usize), max)
        }
        Node::Atomic(node) => width(node),
        Node::Look { .. } | Node::Assert(_) => (0, Some(0)),
    }
}

#[derive(Default)]
struct Compiler {
    instructions: Vec<Instruction>,
    sets: Vec<Table>,
    known: HashMap<Vec<(char, char)>, usize, RandomState>,
    marks: usize,
}

impl Compiler {
    fn push(&mut self, instruction: Instruction) -> Result<usize, RegexError> {
        if self.instructions.len() >= MAX_INSTRUCTIONS {
            return Err(RegexError::TooLarge);
        }
        self.instructions.push(instruction);
        Ok(self.instructions.len() - 1)
    }

    fn here(&self) -> usize {
        self.instructions.len()
    }

    fn set(&mut self, set: &ClassUnicode) -> Result<usize, RegexError> {
        let key: Vec<_> = (set.iter().map(|range| (range.start(), range.end()))).collect();
        if let Some(&known) = self.known.get(&key) {
            return Ok(known);
        }
        if self.sets.len() >= MAX_SETS {
            return Err(RegexError::TooLarge);
        }
        self.sets.push(Table::new(set));
        self.known.insert(key, self.sets.len() - 1);
        Ok(self.sets.len() - 1)
    }

    fn node(&mut self, node: &Node) -> Result<(), RegexError> {
        match node {
            Node::Char(character) => self.push(Instruction::Char(*character)).map(drop),
            Node::Set(set) => {
                let set = self.set(set)?;
                self.push(Instruction::Set(set)).map(drop)
            }
            Node::Concat(nodes) => nodes.iter().try_for_each(|node| self.node(node)),
            Node::Alternatives(nodes) => self.alternatives(nodes),
            Node::Repeat {
                node,
                min,
                max,
                kind,
            } => self.repeat(node, *min as usize, max.map(|max| max as usize), *kind),
            Node::Atomic(node) => self.inner(node, |end| Instruction::Atomic { end }),
            Node::Look {
                node,
                behind,
                negated,
            } => {
                let distance = match (behind, width(node)) {
                    (false, _) => None,
                    (true, (min, Some(max))) if max <= MAX_BEHIND => Some((min, max)),
                    (true, _) => {
                        return Err(RegexError::Unsupported {
                            at: 0,
                            what: format!("a look behind of more than {MAX_BEHIND} characters"),
                        });
                    }
                };
                self.inner(node, |end| Instruction::Look {
                    behind: distance,
                    negated: *negated,
                    end,
                })
            }
            Node::Assert(assert) => self.push(Instruction::Assert(*assert)).map(drop),
        }
    }

    /// Appends an instruction that has those of `node` inside.
    fn inner(
        &mut self,
        node: &Node,
        with_end: impl Fn(usize) -> Instruction,
    ) -> Result<(), RegexError> {
        let at = self.push(Instruction::Done)?;
        self.node(node)?;
        self.push(Instruction::Done)?;
        self.instructions[at] = with_end(self.here());
        Ok(())
    }

    fn alternatives(&mut self, nodes: &[Node]) -> Result<(), RegexError> {
        let at = self.push(Instruction::Done)?;
        let (mut branches, mut jumps) = (Vec::new(), Vec::new());
        for node in nodes {
            branches.push(Branch {
                first: first_bytes(node).0,
                to: self.here(),
            });
            self.node(node)?;
            jumps.push(self.push(Instruction::Done)?);
        }
        let end = self.here();
        for jump in jumps {
            self.instructions[jump] = Instruction::Jump(end);
        }
        self.instructions[at] = Instruction::Branches(branches);
        Ok(())
    }

    fn repeat(
        &mut self,
        node: &Node,
        min: usize,
        max: Option<usize>,
        kind: Kind,
    ) -> Result<(), RegexError> {
        let of_one = match node {
            Node::Char(character) => Some(self.set(&single(*character))?),
            Node::Set(set) => Some(self.set(set)?),
            _ => None,
        };
        if let Some(set) = of_one {
            let max = max.unwrap_or(usize::MAX);
            let run = Run {
                set,
                min,
                max,
                kind,
            };
            return self.push(Instruction::Run(run)).map(drop);
        }
        if kind == Kind::Possessive {
            let greedy = Node::Repeat {
                node: Box::new(node.clone()),
                min: u32::try_from(min).unwrap_or(u32::MAX),
                max: max.map(|max| u32::try_from(max).unwrap_or(u32::MAX)),
                kind: Kind::Greedy,
            };
            return self.inner(&greedy, |end| Instruction::Atomic { end });
        }
        for _ in 0..min {
            self.node(node)?;
        }
        match max {
            None => self.any_number(node, kind),
            Some(max) => self.optional(node, max.saturating_sub(min), kind),
        }
    }

    /// Appends any number of repetitions.
    fn any_number(&mut self, node: &Node, kind: Kind) -> Result<(), RegexError> {
        let at = self.push(Instruction::Done)?;
        let mark = (width(node).0 == 0).then(|| {
            self.marks += 1;
            self.marks - 1
        });
        if let Some(mark) = mark {
            self.push(Instruction::Mark(mark))?;
        }
        self.node(node)?;
        let progress = match mark {
            Some(mark) => Some((self.push(Instruction::Done)?, mark)),
            None => None,
        };
        self.push(Instruction::Jump(at))?;
        let exit = self.here();
        if let Some((progress, mark)) = progress {
            self.instructions[progress] = Instruction::Progress { mark, exit };
        }
        self.instructions[at] = one_more(first_bytes(node).0, kind, at + 1, exit);
        Ok(())
    }

    /// Appends up to `n` repetitions.
    fn optional(&mut self, node: &Node, n: usize, kind: Kind) -> Result<(), RegexError> {
        let mut optional = Vec::new();
        for _ in 0..n {
            optional.push(self.push(Instruction::Done)?);
            self.node(node)?;
        }
        let (first, exit) = (first_bytes(node).0, self.here());
        for at in optional {
            self.instructions[at] = one_more(first, kind, at + 1, exit);
        }
        Ok(())
    }
}

/// Returns the branches of a repetition: once more, at `body`, or no more, at `exit`.
fn one_more(first: FirstBytes, kind: Kind, body: usize, exit: usize) -> Instruction {
    let body = Branch { first, to: body };
    let exit = Branch {
        first: FirstBytes::ALL,
        to: exit,
    };
    // The order of the two says whether more or fewer are tried first.
    Instruction::Branches(match kind {
        Kind::Greedy => vec![body, exit],
        Kind::Lazy | Kind::Possessive => vec![exit, body],
    })
}
