//! A candidate with the tokens that it would add.

use kato_model::{Event, PatternName};

use super::candidate::Candidate;
use super::search::Search;
use super::span::{GenerationEnd, SpanPiece};
use crate::HierarchyError;
use crate::unravel::Leaf;

/// A continuation that a step can choose.
#[derive(Debug, Clone)]
pub(super) struct Choice {
    pub(super) candidate: Candidate,
    /// Never empty.
    pub(super) tokens: Vec<String>,
    /// The patterns of the tokens, without sources.
    pub(super) parts: Vec<SpanPiece>,
    /// The reason why nothing can follow.
    pub(super) end: Option<GenerationEnd>,
    pub(super) n_choices: usize,
    pub(super) is_bridge: bool,
}

impl Choice {
    /// Unravels up to `limit` tokens of what follows, up to the first unknown pattern. Without any
    /// token there is no choice, but the end that was met, if one was.
    pub(super) fn new(
        candidate: Candidate,
        search: &mut Search<'_>,
        limit: usize,
    ) -> Result<Result<Self, Option<GenerationEnd>>, HierarchyError> {
        let mut choice = Self {
            tokens: Vec::new(),
            parts: Vec::new(),
            end: None,
            n_choices: 0,
            is_bridge: false,
            candidate,
        };
        // Taken out rather than cloned; a choice is never asked for its pieces.
        let pieces = std::mem::take(&mut choice.candidate.pieces);
        let symbols = pieces.iter().flat_map(|piece| {
            let symbols = piece.events.iter().flat_map(Event::symbols);
            symbols.map(move |symbol| (piece, symbol))
        });
        let mut owner = None;
        for (piece, symbol) in symbols {
            if choice.end.is_some() || choice.tokens.len() >= limit {
                break;
            }
            // A symbol above level 0 may be a pattern's name, which then owns its tokens. A token
            // belongs to the pattern of its piece.
            let child = match PatternName::from_symbol(symbol).filter(|_| piece.level > 0) {
                Some(name) => {
                    let found = search.unraveller.resolve_below(piece.level, &name)?;
                    found.map(|found| (found.level, name))
                }
                None => None,
            };
            let (level, pattern) = child.unwrap_or((piece.level, piece.pattern));
            let event = Event::in_given_order(vec![symbol.clone()]);
            let mut leaves = Vec::new();
            let left = limit - choice.tokens.len();
            search
                .unraveller
                .leaves(piece.level, &[event], left, &mut leaves)?;
            // The tokens of one chunk are one part; a pattern that comes twice in a row is two.
            let is_new = child.is_some() || owner != Some(piece.pattern);
            owner = child.is_none().then_some(piece.pattern);
            choice.append(level, pattern, leaves, is_new);
        }
        // Without tokens the walk would stay where it is.
        Ok(match choice.tokens.is_empty() {
            true => Err(choice.end),
            false => Ok(choice),
        })
    }

    /// Keeps the first tokens only.
    pub(super) fn truncate(&mut self, n_tokens: usize) {
        self.tokens.truncate(n_tokens);
        self.parts.retain(|part| part.tokens.start < n_tokens);
        if let Some(last) = self.parts.last_mut() {
            last.tokens.end = last.tokens.end.min(n_tokens);
        }
    }

    /// Appends leaves as tokens of a pattern, up to the first unknown one.
    fn append(&mut self, level: usize, pattern: PatternName, leaves: Vec<Leaf>, is_new: bool) {
        let start = self.tokens.len();
        for leaf in leaves {
            match leaf {
                Leaf::Token(token) => self.tokens.push(token),
                Leaf::Unknown(name) => {
                    self.end = Some(GenerationEnd::UnknownPattern(name));
                    break;
                }
            }
        }
        let end = self.tokens.len();
        match self.parts.last_mut() {
            Some(last) if !is_new => {
                last.tokens.end = end;
            }
            // A pattern that adds no token is no part.
            _ if start == end => {}
            _ => self.parts.push(SpanPiece {
                level,
                pattern,
                tokens: start..end,
                text: String::new(),
                source: None,
            }),
        }
    }
}
