//! The instructions of an expression, and the machine that follows them, going back where one leads nowhere.

use std::collections::HashMap;

use foldhash::fast::RandomState;
use regex_syntax::hir::ClassUnicode;

use super::class::{FirstBytes, Table, single};
use super::parse::{Assert, Kind, Node};
use super::{MAX_INSTRUCTIONS, MAX_SETS, RegexError};
use crate::huggingface::limits::{Overrun, Work};

/// Most places that are kept to go back to.
const MAX_PLACES: usize = 1 << 20;
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
    Run {
        set: usize,
        min: usize,
        max: usize,
        kind: Kind,
    },
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
            return self
                .push(Instruction::Run {
                    set,
                    min,
                    max,
                    kind,
                })
                .map(drop);
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
        let first = first_bytes(node).0;
        // The order of the two says whether more or fewer are tried first.
        let branches = |body: usize, exit: usize| {
            let (body, exit) = (
                Branch { first, to: body },
                Branch {
                    first: FirstBytes::ALL,
                    to: exit,
                },
            );
            Instruction::Branches(if kind == Kind::Greedy {
                vec![body, exit]
            } else {
                vec![exit, body]
            })
        };
        match max {
            None => {
                let at = self.push(Instruction::Done)?;
                let mark = (width(node).0 == 0).then(|| {
                    self.marks += 1;
                    self.marks - 1
                });
                if let Some(mark) = mark {
                    self.push(Instruction::Mark(mark))?;
                }
                self.node(node)?;
                let progress = mark.map(|mark| (self.push(Instruction::Done), mark));
                self.push(Instruction::Jump(at))?;
                let exit = self.here();
                if let Some((progress, mark)) = progress {
                    self.instructions[progress?] = Instruction::Progress { mark, exit };
                }
                self.instructions[at] = branches(at + 1, exit);
            }
            Some(max) => {
                let mut optional = Vec::new();
                for _ in min..max {
                    optional.push(self.push(Instruction::Done)?);
                    self.node(node)?;
                }
                let exit = self.here();
                for at in optional {
                    self.instructions[at] = branches(at + 1, exit);
                }
            }
        }
        Ok(())
    }
}

/// A place to go back to.
enum Place {
    /// The next branch to try.
    Branch { at: usize, next: usize, pos: usize },
    /// A run that may give back characters, down to `min`.
    Fewer { to: usize, pos: usize, min: usize },
    /// A run that may take `left` more characters.
    More { at: usize, pos: usize, left: usize },
    /// What a mark was.
    Mark { mark: usize, was: usize },
}

/// A search through a text.
pub(super) struct Machine<'a> {
    program: &'a Program,
    text: &'a str,
    places: Vec<Place>,
    marks: Vec<usize>,
}

impl<'a> Machine<'a> {
    pub(super) fn new(program: &'a Program, text: &'a str) -> Self {
        Self {
            program,
            text,
            places: Vec::new(),
            marks: vec![usize::MAX; program.marks],
        }
    }

    /// Returns start and end of the leftmost match that begins at `from` or later.
    pub(super) fn find(
        &mut self,
        from: usize,
        work: &mut Work,
    ) -> Result<Option<(usize, usize)>, Overrun> {
        let bytes = self.text.as_bytes();
        let mut start = from;
        loop {
            if self.program.first.contains(bytes.get(start).copied()) {
                if let Some(end) = self.run(0, start, None, work)? {
                    return Ok(Some((start, end)));
                }
            } else {
                work.take(1)?;
            }
            match self.char_at(start) {
                Some(character) => start += character.len_utf8(),
                None => return Ok(None),
            }
        }
    }

    #[inline]
    fn char_at(&self, pos: usize) -> Option<char> {
        let &byte = self.text.as_bytes().get(pos)?;
        if byte.is_ascii() {
            return Some(char::from(byte));
        }
        self.text[pos..].chars().next()
    }

    fn char_before(&self, pos: usize) -> Option<char> {
        self.text[..pos].chars().next_back()
    }

    fn keep(&mut self, place: Place) -> Result<(), Overrun> {
        if self.places.len() >= MAX_PLACES {
            return Err(Overrun::Places(MAX_PLACES));
        }
        self.places.push(place);
        Ok(())
    }

    /// Follows the instructions from `at` on; returns where the match ends, which is `must_end` if that is given.
    fn run(
        &mut self,
        mut at: usize,
        mut pos: usize,
        must_end: Option<usize>,
        work: &mut Work,
    ) -> Result<Option<usize>, Overrun> {
        let program = self.program;
        let base = self.places.len();
        loop {
            work.take(1)?;
            let goes_on = match &program.instructions[at] {
                Instruction::Char(character) => match self.char_at(pos) {
                    Some(next) if next == *character => {
                        pos += next.len_utf8();
                        at += 1;
                        true
                    }
                    _ => false,
                },
                Instruction::Set(set) => match self.char_at(pos) {
                    Some(next) if program.sets[*set].contains(next) => {
                        pos += next.len_utf8();
                        at += 1;
                        true
                    }
                    _ => false,
                },
                Instruction::Branches(_) => self.branch(&mut at, 0, pos)?,
                Instruction::Jump(to) => {
                    at = *to;
                    true
                }
                &Instruction::Run {
                    set,
                    min,
                    max,
                    kind,
                } => {
                    let first = if kind == Kind::Lazy { min } else { max };
                    let (mut n, mut min_pos, start) = (0, pos, pos);
                    while n < first
                        && let Some(next) = self.char_at(pos)
                        && program.sets[set].contains(next)
                    {
                        pos += next.len_utf8();
                        n += 1;
                        if n == min {
                            min_pos = pos;
                        }
                    }
                    work.take((pos - start) as u64)?;
                    let enough = n >= min;
                    if enough && kind == Kind::Greedy && pos > min_pos {
                        self.keep(Place::Fewer {
                            to: at + 1,
                            pos,
                            min: min_pos,
                        })?;
                    } else if enough && kind == Kind::Lazy && max > min {
                        let left = max - min;
                        self.keep(Place::More { at, pos, left })?;
                    }
                    at += 1;
                    enough
                }
                &Instruction::Atomic { end } => match self.run(at + 1, pos, None, work)? {
                    Some(to) => {
                        pos = to;
                        at = end;
                        true
                    }
                    None => false,
                },
                &Instruction::Look {
                    behind,
                    negated,
                    end,
                } => {
                    let found = match behind {
                        None => self.run(at + 1, pos, None, work)?.is_some(),
                        Some((min, max)) => self.looks_behind(at + 1, pos, min, max, work)?,
                    };
                    at = end;
                    found != negated
                }
                Instruction::Assert(assert) => {
                    at += 1;
                    self.holds(*assert, pos)
                }
                &Instruction::Mark(mark) => {
                    let was = std::mem::replace(&mut self.marks[mark], pos);
                    self.keep(Place::Mark { mark, was })?;
                    at += 1;
                    true
                }
                &Instruction::Progress { mark, exit } => {
                    at = if self.marks[mark] == pos {
                        exit
                    } else {
                        at + 1
                    };
                    true
                }
                Instruction::Done => {
                    if must_end.is_none_or(|end| end == pos) {
                        self.forget(base);
                        return Ok(Some(pos));
                    }
                    false
                }
            };
            if !goes_on && !self.go_back(base, &mut at, &mut pos)? {
                return Ok(None);
            }
        }
    }

    /// Goes on with the first branch from number `next` on that may match at `pos`.
    fn branch(&mut self, at: &mut usize, next: usize, pos: usize) -> Result<bool, Overrun> {
        let program = self.program;
        let Instruction::Branches(branches) = &program.instructions[*at] else {
            return Ok(false);
        };
        let byte = self.text.as_bytes().get(pos).copied();
        let mut open = (next..branches.len()).filter(|&n| branches[n].first.contains(byte));
        let Some(taken) = open.next() else {
            return Ok(false);
        };
        if let Some(next) = open.next() {
            self.keep(Place::Branch { at: *at, next, pos })?;
        }
        *at = branches[taken].to;
        Ok(true)
    }

    /// Takes the last place that leads on; returns whether there is one above `base`.
    fn go_back(&mut self, base: usize, at: &mut usize, pos: &mut usize) -> Result<bool, Overrun> {
        while self.places.len() > base {
            match self.places.pop().expect("there are more than `base`") {
                Place::Branch {
                    at: branches,
                    next,
                    pos: here,
                } => {
                    (*at, *pos) = (branches, here);
                    if self.branch(at, next, here)? {
                        return Ok(true);
                    }
                }
                Place::Fewer { to, pos: here, min } => {
                    let last = self.char_before(here).map_or(0, char::len_utf8);
                    (*at, *pos) = (to, here - last);
                    if *pos > min {
                        let pos = *pos;
                        self.keep(Place::Fewer { to, pos, min })?;
                    }
                    return Ok(true);
                }
                Place::More {
                    at: run,
                    pos: here,
                    left,
                } => {
                    let program = self.program;
                    let Instruction::Run { set, .. } = program.instructions[run] else {
                        continue;
                    };
                    if let Some(next) = self.char_at(here)
                        && program.sets[set].contains(next)
                    {
                        (*at, *pos) = (run + 1, here + next.len_utf8());
                        if left > 1 {
                            let pos = *pos;
                            self.keep(Place::More {
                                at: run,
                                pos,
                                left: left - 1,
                            })?;
                        }
                        return Ok(true);
                    }
                }
                Place::Mark { mark, was } => self.marks[mark] = was,
            }
        }
        Ok(false)
    }

    /// Drops the places above `base`.
    fn forget(&mut self, base: usize) {
        while self.places.len() > base {
            if let Some(Place::Mark { mark, was }) = self.places.pop() {
                self.marks[mark] = was;
            }
        }
    }

    /// Returns whether the instructions at `at` match some text that ends at `pos`, `min` to `max` characters long.
    fn looks_behind(
        &mut self,
        at: usize,
        pos: usize,
        min: usize,
        max: usize,
        work: &mut Work,
    ) -> Result<bool, Overrun> {
        let mut start = pos;
        for n in 0..=max {
            if n >= min && self.run(at, start, Some(pos), work)?.is_some() {
                return Ok(true);
            }
            match self.char_before(start) {
                Some(character) => start -= character.len_utf8(),
                None => break,
            }
        }
        Ok(false)
    }

    fn holds(&self, assert: Assert, pos: usize) -> bool {
        let bytes = self.text.as_bytes();
        let is_end = pos == bytes.len();
        match assert {
            Assert::TextStart => pos == 0,
            Assert::TextEnd => is_end,
            // Behind a line feed at the very end no line begins.
            Assert::LineStart => pos == 0 || (bytes[pos - 1] == b'\n' && !is_end),
            Assert::LineEnd => is_end || bytes[pos] == b'\n',
            Assert::LastLineEnd => is_end || &bytes[pos..] == b"\n",
            Assert::WordBoundary => self.is_boundary(pos),
            Assert::NoWordBoundary => !self.is_boundary(pos),
        }
    }

    fn is_boundary(&self, pos: usize) -> bool {
        let is_word = |character: Option<char>| {
            let word = self.program.word.as_ref();
            word.zip(character)
                .is_some_and(|(word, character)| word.contains(character))
        };
        is_word(self.char_before(pos)) != is_word(self.char_at(pos))
    }
}
