//! The tokens below a pattern, and where the learn calls of each level begin among them: by both together a
//! learn call is known.

use std::ops::Range;

use kato_model::{PatternName, Symbol};
use kato_store::trace::{Trace, TraceChild};

/// What a learn call was made of.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct LessonShape {
    /// Its tokens.
    pub tokens: Vec<u32>,
    /// For each level below it, from the lowest up, where that level's learn calls begin among the tokens.
    pub borders: Vec<Vec<u32>>,
}

impl LessonShape {
    /// Returns the shape of a traced pattern; `None` where it is not made of single tokens alone.
    ///
    /// `nodes` are the names of the store's nodes, and `token` knows the token of a text.
    pub fn of(
        trace: &Trace,
        nodes: &[String],
        token: impl Fn(&str) -> Option<u32> + Copy,
    ) -> Option<Self> {
        let level = nodes.iter().position(|node| node == trace.node())?;
        let mut shape = Self {
            tokens: Vec::new(),
            borders: vec![Vec::new(); level],
        };
        shape.push(trace, nodes, token)?;
        Some(shape)
    }

    /// Returns the level of the learn call, the lowest being 0.
    #[must_use]
    pub const fn level(&self) -> usize {
        self.borders.len()
    }

    fn push(
        &mut self,
        trace: &Trace,
        nodes: &[String],
        token: impl Fn(&str) -> Option<u32> + Copy,
    ) -> Option<()> {
        let level = nodes.iter().position(|node| node == trace.node())?;
        let pattern = trace.pattern();
        if pattern.symbols_by_event().any(|event| event.len() != 1) {
            return None;
        }
        for child in trace.children() {
            let start = self.tokens.len() as u32;
            match child {
                TraceChild::Text(text) if level == 0 => self.tokens.push(token(text)?),
                TraceChild::Pattern(child) => {
                    let of_child = nodes.iter().position(|node| node == child.node())?;
                    // A name that went up unchanged begins at the levels between as well.
                    for borders in &mut self.borders[of_child..level] {
                        borders.push(start);
                    }
                    self.push(child, nodes, token)?;
                }
                TraceChild::Text(_) | TraceChild::Unknown(_) => return None,
            }
        }
        Some(())
    }

    /// Returns the name of the pattern that was learned, whose tokens `text` knows.
    #[must_use]
    pub fn name<'a>(&self, text: impl Fn(u32) -> &'a str + Copy) -> PatternName {
        self.name_at(self.level(), 0, self.tokens.len() as u32, text)
    }

    fn name_at<'a>(
        &self,
        level: usize,
        start: u32,
        end: u32,
        text: impl Fn(u32) -> &'a str + Copy,
    ) -> PatternName {
        let Some(below) = level.checked_sub(1) else {
            let tokens = &self.tokens[start as usize..end as usize];
            let events: Vec<[&str; 1]> = tokens.iter().map(|&token| [text(token)]).collect();
            return PatternName::of_events(&events);
        };
        let children = children(&self.borders, below, start, end);
        let ends = children[1..].iter().copied().chain([end]);
        let mut names = children.iter().zip(ends).map(|(&start, end)| {
            // The original passes an empty symbol up for a chunk of one token.
            match below == 0 && end - start < 2 {
                true => Symbol::from(""),
                false => Symbol::Name(self.name_at(below, start, end, text)),
            }
        });
        if let [_] = children
            && let Some(Symbol::Name(name)) = names.next()
        {
            return name;
        }
        let events: Vec<[String; 1]> = names.map(|symbol| [symbol.to_string()]).collect();
        PatternName::of_events(&events)
    }
}

/// Returns whether tokens with these borders are a learn call, and not what a level left over at a document's end.
pub(crate) fn is_call(borders: &[Vec<u32>], n_tokens: u32, promotes: bool) -> bool {
    is_call_at(borders, borders.len(), 0..n_tokens, promotes)
}

fn is_call_at(borders: &[Vec<u32>], level: usize, tokens: Range<u32>, promotes: bool) -> bool {
    let Some(below) = level.checked_sub(1) else {
        return tokens.len() >= 2;
    };
    let children = children(borders, below, tokens.start, tokens.end);
    // Only the last one can be left over, and goes up if at all.
    let last = children.last().copied();
    children.len() >= 2
        && last
            .is_some_and(|last| promotes || is_call_at(borders, below, last..tokens.end, promotes))
}

/// Returns where the learn calls of a level begin between two places.
fn children(borders: &[Vec<u32>], level: usize, start: u32, end: u32) -> &[u32] {
    let borders = &borders[level];
    let first = borders.partition_point(|&border| border < start);
    let last = borders.partition_point(|&border| border < end);
    &borders[first..last]
}
