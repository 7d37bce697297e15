//! The machine that follows the instructions of an expression, going back where one leads nowhere.

use super::super::node::{Assert, Kind};
use super::{Instruction, Program, Run};
use crate::huggingface::limits::{Overrun, Work};

/// Most places that are kept to go back to.
const MAX_PLACES: usize = 1 << 20;

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

/// Where the machine goes on: at an instruction, and in the text.
type Next = Option<(usize, usize)>;

/// A search through a text.
pub(in super::super) struct Machine<'a> {
    program: &'a Program,
    text: &'a str,
    places: Vec<Place>,
    marks: Vec<usize>,
}

impl<'a> Machine<'a> {
    pub(in super::super) fn new(program: &'a Program, text: &'a str) -> Self {
        Self {
            program,
            text,
            places: Vec::new(),
            marks: vec![usize::MAX; program.marks],
        }
    }

    /// Returns start and end of the leftmost match that begins at `from` or later.
    pub(in super::super) fn find(
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
            let next = match &program.instructions[at] {
                Instruction::Char(character) => self
                    .behind_one(pos, |next| next == *character)
                    .map(|pos| (at + 1, pos)),
                Instruction::Set(set) => self
                    .behind_one(pos, |next| program.sets[*set].contains(next))
                    .map(|pos| (at + 1, pos)),
                Instruction::Branches(_) => self.branch(at, 0, pos)?,
                Instruction::Jump(to) => Some((*to, pos)),
                Instruction::Run(run) => self.run_of(*run, at, pos, work)?,
                &Instruction::Atomic { end } => {
                    self.run(at + 1, pos, None, work)?.map(|pos| (end, pos))
                }
                &Instruction::Look {
                    behind,
                    negated,
                    end,
                } => {
                    let found = match behind {
                        None => self.run(at + 1, pos, None, work)?.is_some(),
                        Some((min, max)) => self.looks_behind(at + 1, pos, min, max, work)?,
                    };
                    (found != negated).then_some((end, pos))
                }
                Instruction::Assert(assert) => self.holds(*assert, pos).then_some((at + 1, pos)),
                &Instruction::Mark(mark) => {
                    let was = std::mem::replace(&mut self.marks[mark], pos);
                    self.keep(Place::Mark { mark, was })?;
                    Some((at + 1, pos))
                }
                &Instruction::Progress { mark, exit } => match self.marks[mark] == pos {
                    true => Some((exit, pos)),
                    false => Some((at + 1, pos)),
                },
                Instruction::Done if must_end.is_none_or(|end| end == pos) => {
                    self.forget(base);
                    return Ok(Some(pos));
                }
                Instruction::Done => None,
            };
            (at, pos) = match next {
                Some(next) => next,
                None => match self.go_back(base)? {
                    Some(next) => next,
                    None => return Ok(None),
                },
            };
        }
    }

    /// Returns the place behind the character at `pos` if it is one of those looked for.
    #[inline]
    fn behind_one(&self, pos: usize, is_one: impl Fn(char) -> bool) -> Option<usize> {
        let next = self.char_at(pos).filter(|&next| is_one(next))?;
        Some(pos + next.len_utf8())
    }

    /// Takes the characters of a run, as many as there are or as few, and keeps the place from which there may be
    /// others.
    #[inline]
    fn run_of(
        &mut self,
        run: Run,
        at: usize,
        start: usize,
        work: &mut Work,
    ) -> Result<Next, Overrun> {
        let Run {
            set,
            min,
            max,
            kind,
        } = run;
        let set = &self.program.sets[set];
        let first = if kind == Kind::Lazy { min } else { max };
        let (mut n, mut pos, mut min_pos) = (0, start, start);
        while n < first
            && let Some(behind) = self.behind_one(pos, |next| set.contains(next))
        {
            pos = behind;
            n += 1;
            if n == min {
                min_pos = pos;
            }
        }
        work.take((pos - start) as u64)?;
        if n < min {
            return Ok(None);
        }
        if kind == Kind::Greedy && pos > min_pos {
            self.keep(Place::Fewer {
                to: at + 1,
                pos,
                min: min_pos,
            })?;
        } else if kind == Kind::Lazy && max > min {
            let left = max - min;
            self.keep(Place::More { at, pos, left })?;
        }
        Ok(Some((at + 1, pos)))
    }

    /// Goes on with the first branch from number `next` on that may match at `pos`.
    fn branch(&mut self, at: usize, next: usize, pos: usize) -> Result<Next, Overrun> {
        let program = self.program;
        let Instruction::Branches(branches) = &program.instructions[at] else {
            return Ok(None);
        };
        let byte = self.text.as_bytes().get(pos).copied();
        let mut open = (next..branches.len()).filter(|&n| branches[n].first.contains(byte));
        let Some(taken) = open.next() else {
            return Ok(None);
        };
        if let Some(next) = open.next() {
            self.keep(Place::Branch { at, next, pos })?;
        }
        Ok(Some((branches[taken].to, pos)))
    }

    /// Takes the last place above `base` that leads on; returns where to.
    fn go_back(&mut self, base: usize) -> Result<Next, Overrun> {
        while self.places.len() > base {
            match self.places.pop().expect("there are more than `base`") {
                Place::Branch { at, next, pos } => {
                    let next = self.branch(at, next, pos)?;
                    if next.is_some() {
                        return Ok(next);
                    }
                }
                Place::Fewer { to, pos, min } => {
                    let last = self.char_before(pos).map_or(0, char::len_utf8);
                    let pos = pos - last;
                    if pos > min {
                        self.keep(Place::Fewer { to, pos, min })?;
                    }
                    return Ok(Some((to, pos)));
                }
                Place::More { at, pos, left } => {
                    let program = self.program;
                    let Instruction::Run(Run { set, .. }) = program.instructions[at] else {
                        continue;
                    };
                    if let Some(pos) = self.behind_one(pos, |next| program.sets[set].contains(next))
                    {
                        if left > 1 {
                            let left = left - 1;
                            self.keep(Place::More { at, pos, left })?;
                        }
                        return Ok(Some((at + 1, pos)));
                    }
                }
                Place::Mark { mark, was } => self.marks[mark] = was,
            }
        }
        Ok(None)
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
