//! Unravels patterns and futures to tokens and text.

use std::collections::HashMap;
use std::sync::Arc;

use kato_model::{Event, PatternName};

use crate::{Hierarchy, HierarchyError};

/// Most patterns that an [`Unraveller`] keeps in memory.
const MEMO_PATTERNS: usize = 1 << 16;
/// Leaves after which unravelling ends by default: hundreds of pages.
const DEFAULT_MAX_LEAVES: usize = 1 << 18;

/// The symbols of an event that are unravelled, if it holds several. Events learned from text hold
/// one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum EventReading {
    /// All, in the event's order: nothing is left out.
    #[default]
    All,
    /// The first, as the original does.
    First,
}

/// An end point of unravelling.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Leaf {
    /// A token; above level 0 any symbol that is no pattern's name.
    Token(String),
    /// The name of a pattern that no level below holds, as after a partial import or a pruning.
    Unknown(PatternName),
}

/// A pattern or future as tokens and text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Unravelled {
    /// Tokens in order, and unknown patterns at their place.
    pub leaves: Vec<Leaf>,
    /// The tokens decoded; `<1f2e3d4c?>` stands for an unknown pattern, by the beginning of its
    /// name.
    pub text: String,
    /// Whether there are more leaves than were allowed.
    pub is_truncated: bool,
}

impl Unravelled {
    /// Returns the tokens, without what is unknown.
    pub fn tokens(&self) -> impl Iterator<Item = &str> {
        self.leaves.iter().filter_map(|leaf| match leaf {
            Leaf::Token(token) => Some(token.as_str()),
            Leaf::Unknown(_) => None,
        })
    }

    /// Returns the unknown patterns, in order, repeats included.
    pub fn unknown(&self) -> impl Iterator<Item = PatternName> {
        self.leaves.iter().filter_map(|leaf| match leaf {
            Leaf::Token(_) => None,
            Leaf::Unknown(name) => Some(*name),
        })
    }
}

/// A pattern with the level that holds it.
#[derive(Debug)]
pub(crate) struct ResolvedPattern {
    pub(crate) level: usize,
    pub(crate) events: Vec<Event>,
}

/// A reader that unravels patterns of a hierarchy and keeps what it looked up: at most 65,536
/// patterns.
///
/// A child is searched on the levels below its parent, the nearest first, so the level falls with
/// every step: depth is bounded by the number of levels, and no content leads into a cycle. A child
/// that is learned after it was looked up is seen by the next unraveller at the latest.
///
/// ```
/// use kato_engine::{Engine, Observation, Sequence, SessionConfig};
/// use kato_hierarchy::Hierarchy;
/// use kato_learner::{HierarchicalNode, LearnerConfig};
/// use kato_tokenizer::gpt2;
///
/// let engine = Engine::in_memory(&["node0"]);
/// let mut session = engine.node("node0")?.session(SessionConfig::default());
/// session.observe_sequence(Sequence::new(["The", "Ġcat"].map(|token| Observation::strings([token]))))?;
/// let name = session.learn()?.name().expect("it has two symbols");
///
/// let settings = LearnerConfig::new(vec![HierarchicalNode::new("node0", 2)]);
/// let hierarchy = Hierarchy::new(engine, gpt2(), settings)?;
/// assert_eq!(hierarchy.unravel(0, &name)?.text, "The cat");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Unraveller<'h> {
    hierarchy: &'h Hierarchy,
    reading: EventReading,
    max_leaves: usize,
    /// By the level below which the name was searched.
    memo: HashMap<(usize, PatternName), Option<Arc<ResolvedPattern>>>,
}

impl Hierarchy {
    /// Creates an unraveller for many patterns.
    #[must_use]
    pub fn unraveller(&self) -> Unraveller<'_> {
        Unraveller {
            hierarchy: self,
            reading: EventReading::default(),
            max_leaves: DEFAULT_MAX_LEAVES,
            memo: HashMap::new(),
        }
    }

    /// Returns a pattern of a level as tokens and text, the first 262,144 leaves at most; see
    /// [`Unraveller`].
    ///
    /// # Errors
    ///
    /// [`HierarchyError::UnknownLevel`], [`HierarchyError::UnknownPattern`] when that level does
    /// not have it, and [`HierarchyError::Engine`] when a node cannot be read. Unknown patterns below
    /// it are part of the answer.
    pub fn unravel(&self, level: usize, name: &PatternName) -> Result<Unravelled, HierarchyError> {
        self.unraveller().pattern(level, name)
    }

    /// Returns a future, or any other events, of a level as [`unravel`](Self::unravel) returns a
    /// pattern.
    ///
    /// # Errors
    ///
    /// [`HierarchyError::UnknownLevel`], and [`HierarchyError::Engine`] when a node cannot be read.
    pub fn unravel_events(
        &self,
        level: usize,
        events: &[Event],
    ) -> Result<Unravelled, HierarchyError> {
        self.unraveller().events(level, events)
    }
}

impl Unraveller<'_> {
    /// Sets which symbols of an event are read.
    #[must_use]
    pub const fn with_reading(mut self, reading: EventReading) -> Self {
        self.reading = reading;
        self
    }

    /// Sets the number of leaves after which unravelling ends, marked as truncated. Default
    /// 262,144.
    #[must_use]
    pub const fn with_max_leaves(mut self, leaves: usize) -> Self {
        self.max_leaves = leaves;
        self
    }

    /// Returns a pattern as tokens and text.
    ///
    /// # Errors
    ///
    /// As [`Hierarchy::unravel`].
    pub fn pattern(
        &mut self,
        level: usize,
        name: &PatternName,
    ) -> Result<Unravelled, HierarchyError> {
        self.hierarchy.check_level(level)?;
        match self.hierarchy.nodes()[level].events(name)? {
            Some(events) => self.events(level, &events),
            None => Err(HierarchyError::UnknownPattern {
                node: self.hierarchy.nodes()[level].name().to_owned(),
                name: *name,
            }),
        }
    }

    /// Returns events of a level as tokens and text.
    ///
    /// # Errors
    ///
    /// As [`Hierarchy::unravel_events`].
    pub fn events(&mut self, level: usize, events: &[Event]) -> Result<Unravelled, HierarchyError> {
        self.hierarchy.check_level(level)?;
        let mut leaves = Vec::new();
        let is_truncated = !self.leaves(level, events, self.max_leaves, &mut leaves)?;
        Ok(Unravelled {
            text: self.text(&leaves),
            leaves,
            is_truncated,
        })
    }

    /// Appends the leaves of events until there are `limit`, and returns whether that was all.
    pub(crate) fn leaves(
        &mut self,
        level: usize,
        events: &[Event],
        limit: usize,
        leaves: &mut Vec<Leaf>,
    ) -> Result<bool, HierarchyError> {
        let first = Arc::new(ResolvedPattern {
            level,
            events: events.to_vec(),
        });
        // Depth first, so leaves come in the order of the text. The path is never longer than there
        // are levels, as each child is on a lower level than its parent.
        let mut path = vec![Cursor::start(first)];
        while let Some(cursor) = path.last_mut() {
            // A second handle: the symbol borrows from the pattern while its cursor and the path
            // change.
            let pattern = Arc::clone(&cursor.pattern);
            let Some(symbol) = cursor.next(self.reading, &pattern) else {
                path.pop();
                continue;
            };
            // At level 0 a symbol is a token, also one that looks like a pattern's name.
            let child = match PatternName::from_symbol(symbol) {
                Some(name) if pattern.level > 0 => {
                    match self.resolve_below(pattern.level, &name)? {
                        Some(child) => {
                            path.push(Cursor::start(child));
                            continue;
                        }
                        None => Leaf::Unknown(name),
                    }
                }
                _ => Leaf::Token(symbol.to_owned()),
            };
            // Checked before the leaf is added: exactly `limit` leaves are not truncated.
            if leaves.len() >= limit {
                return Ok(false);
            }
            leaves.push(child);
        }
        Ok(true)
    }

    /// Returns the pattern of this name on the nearest level below.
    pub(crate) fn resolve_below(
        &mut self,
        level: usize,
        name: &PatternName,
    ) -> Result<Option<Arc<ResolvedPattern>>, HierarchyError> {
        if let Some(known) = self.memo.get(&(level, *name)) {
            return Ok(known.clone());
        }
        // A name that went up unchanged under `TailPolicy::Promote` is more than one level down.
        let nodes = &self.hierarchy.nodes()[..level];
        let mut found = None;
        for (level, node) in nodes.iter().enumerate().rev() {
            if let Some(events) = node.events(name)? {
                found = Some(Arc::new(ResolvedPattern { level, events }));
                break;
            }
        }
        // All at once: bounded memory without an order of use to keep. The next look-ups fill it
        // again.
        if self.memo.len() >= MEMO_PATTERNS {
            self.memo.clear();
        }
        // Names that no level holds are kept too, or they would be searched on all levels each
        // time.
        self.memo.insert((level, *name), found.clone());
        Ok(found)
    }

    /// Decodes leaves, with a mark for each unknown pattern.
    fn text(&self, leaves: &[Leaf]) -> String {
        let mut text = String::new();
        let is_unknown = |leaf: &Leaf| matches!(leaf, Leaf::Unknown(_));
        // Neighbouring tokens are decoded together: one byte-level token may hold a part of a
        // character.
        for run in leaves.chunk_by(|one, next| !is_unknown(one) && !is_unknown(next)) {
            match run {
                [Leaf::Unknown(name)] => text += &format!("<{name:.8}?>"),
                tokens => {
                    let tokens: Vec<&str> = tokens
                        .iter()
                        .filter_map(|leaf| match leaf {
                            Leaf::Token(token) => Some(token.as_str()),
                            Leaf::Unknown(_) => None,
                        })
                        .collect();
                    text += &self.hierarchy.decode(&tokens);
                }
            }
        }
        text
    }
}

/// A position in a pattern that is being unravelled.
struct Cursor {
    pattern: Arc<ResolvedPattern>,
    event_idx: usize,
    symbol_idx: usize,
}

impl Cursor {
    /// Returns the beginning of a pattern.
    const fn start(pattern: Arc<ResolvedPattern>) -> Self {
        Self {
            pattern,
            event_idx: 0,
            symbol_idx: 0,
        }
    }

    /// Returns the symbol at the position and moves past it; `None` at the end of the pattern.
    fn next<'a>(&mut self, reading: EventReading, pattern: &'a ResolvedPattern) -> Option<&'a str> {
        loop {
            let event = pattern.events.get(self.event_idx)?;
            let n_symbols = match reading {
                EventReading::All => event.len(),
                EventReading::First => event.len().min(1),
            };
            if self.symbol_idx < n_symbols {
                self.symbol_idx += 1;
                return Some(&event.symbols()[self.symbol_idx - 1]);
            }
            self.event_idx += 1;
            self.symbol_idx = 0;
        }
    }
}
