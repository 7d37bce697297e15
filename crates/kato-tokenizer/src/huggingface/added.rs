//! Added tokens, which are cut out of a text before anything else is.

use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};
use foldhash::fast::RandomState;
use serde_json::Value;

use super::error::{DefinitionError, TextError};
use super::fields::Fields;
use super::limits::{MAX_ADDED, MAX_ADDED_BYTES, MAX_TOKEN_BYTES, Work};
use super::normalizer::{Normalizer, Piece};
use super::regex::Table;

/// The added tokens of a definition.
#[derive(Debug, Default)]
pub(super) struct Added {
    /// Those that are looked for in the text as it is written, and in the normalized text.
    written: Option<Matcher>,
    normalized: Option<Matcher>,
    /// The tokens by id: the string, and whether it is a control token.
    pub(super) tokens: HashMap<u32, (String, bool), RandomState>,
    /// Ids of tokens that the model does not have.
    new: HashSet<u32>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Token {
    content: String,
    single_word: bool,
    strip_left: bool,
    strip_right: bool,
    normalized: bool,
    special: bool,
}

impl Token {
    fn from_json(fields: Fields<'_>) -> Result<Self, DefinitionError> {
        let content = fields.get("content").and_then(Value::as_str);
        let content =
            content.ok_or_else(|| DefinitionError::field(fields.part, "content", "a text"))?;
        if content.len() > MAX_TOKEN_BYTES {
            return Err(DefinitionError::LongToken(content.len()));
        }
        let id = fields.number("id")?;
        u32::try_from(id)
            .map_err(|_| DefinitionError::BadId(content.chars().take(40).collect()))?;
        Ok(Self {
            content: content.to_owned(),
            single_word: fields.bool("single_word")?,
            strip_left: fields.bool("lstrip")?,
            strip_right: fields.bool("rstrip")?,
            normalized: fields.bool("normalized")?,
            special: fields.bool("special")?,
        })
    }
}

impl Added {
    /// Reads the list, for a model that has `n_tokens` tokens; `id_of` says which.
    ///
    /// The ids in the list count for nothing, as with Hugging Face: a token has that of the model or the next free one.
    pub(super) fn from_json(
        value: &Value,
        normalizer: &Normalizer,
        n_tokens: u32,
        id_of: impl Fn(&str) -> Option<u32>,
    ) -> Result<Self, DefinitionError> {
        let part = "added_tokens";
        let list = match value {
            Value::Null => return Ok(Self::default()),
            Value::Array(list) => list,
            _ => return Err(DefinitionError::field(part, "content", "a text")),
        };
        let mut listed = Listed::new(n_tokens);
        for value in list {
            let token = Token::from_json(Fields { part, value })?;
            listed.bytes += token.content.len();
            if list.len() > MAX_ADDED || listed.bytes > MAX_ADDED_BYTES {
                return Err(DefinitionError::TooManyAdded);
            }
            listed.take(token, normalizer, &id_of)?;
        }
        listed.into_added()
    }

    /// Returns whether an added token has an id of its own, and not one of the model.
    pub(super) fn is_new(&self, id: u32) -> bool {
        self.new.contains(&id)
    }

    /// Gives the tokens and what stands between them to `found`, for a text as it is written or once it is normalized.
    pub(super) fn split(
        &self,
        text: &str,
        of_normalized: bool,
        mut found: impl FnMut(Segment) -> Result<(), TextError>,
    ) -> Result<(), TextError> {
        let matcher = if of_normalized {
            &self.normalized
        } else {
            &self.written
        };
        match matcher {
            Some(matcher) => matcher.split(text, found),
            None if text.is_empty() => Ok(()),
            None => found(Segment::Text(0, text.len())),
        }
    }
}

/// The tokens of a list while it is read.
struct Listed {
    /// The next free id.
    next: u32,
    new: HashSet<u32>,
    ids: HashMap<String, u32, RandomState>,
    tokens: HashMap<u32, Token, RandomState>,
    /// What tokens become that are looked for in the normalized text, where that is something else.
    once_normalized: HashMap<u32, String, RandomState>,
    /// Bytes of all strings.
    bytes: usize,
}

impl Listed {
    fn new(n_tokens: u32) -> Self {
        Self {
            next: n_tokens,
            new: HashSet::new(),
            ids: HashMap::default(),
            tokens: HashMap::default(),
            once_normalized: HashMap::default(),
            bytes: 0,
        }
    }

    /// Takes the next token of the list; `id_of` says which tokens the model has.
    fn take(
        &mut self,
        token: Token,
        normalizer: &Normalizer,
        id_of: impl Fn(&str) -> Option<u32>,
    ) -> Result<(), DefinitionError> {
        let known = self.ids.get(&token.content).copied();
        if token.content.is_empty()
            || known.is_some_and(|known| self.tokens.get(&known) == Some(&token))
        {
            return Ok(());
        }
        let id = known.or_else(|| id_of(&token.content)).unwrap_or_else(|| {
            self.next += 1;
            self.new.insert(self.next - 1);
            self.next - 1
        });
        if token.normalized && !normalizer.is_empty() {
            let normalized = once(normalizer, &token.content)?;
            if normalized != token.content {
                self.bytes += normalized.len();
                self.once_normalized.insert(id, normalized);
            }
        }
        self.ids.insert(token.content.clone(), id);
        self.tokens.insert(id, token);
        Ok(())
    }

    /// Returns the tokens by id, ready to be looked for.
    fn into_added(self) -> Result<Added, DefinitionError> {
        let mut all: Vec<(u32, Token)> = self.tokens.into_iter().collect();
        all.sort_unstable_by_key(|(id, _)| *id);
        let string = |id: u32, token: &Token| match self.once_normalized.get(&id) {
            Some(normalized) => normalized.clone(),
            None => token.content.clone(),
        };
        let matcher = |of_normalized: bool| {
            let tokens = all
                .iter()
                .filter(|(_, token)| token.normalized == of_normalized);
            Matcher::new(tokens.map(|(id, token)| {
                let pattern = match of_normalized {
                    true => string(*id, token),
                    false => token.content.clone(),
                };
                (*id, pattern, token)
            }))
        };
        Ok(Added {
            written: matcher(false)?,
            normalized: matcher(true)?,
            tokens: all
                .iter()
                .map(|(id, token)| (*id, (string(*id, token), token.special)))
                .collect(),
            new: self.new,
        })
    }
}

/// Returns what an added token becomes.
fn once(normalizer: &Normalizer, content: &str) -> Result<String, DefinitionError> {
    let piece = Piece {
        text: content,
        first: 0,
    };
    normalizer
        .normalize(piece, &mut Work::of(content.len()), |piece, _| {
            Ok(piece.text.to_owned())
        })
        .map_err(|source| DefinitionError::AddedNotNormalized {
            token: content.chars().take(40).collect(),
            source,
        })
}

/// A part of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Segment {
    /// An added token.
    Token(u32),
    /// Text from here to there.
    Text(usize, usize),
}

/// Tokens that are looked for together: the leftmost, and of those that begin there the longest.
#[derive(Debug)]
struct Matcher {
    automaton: AhoCorasick,
    /// By the number of the pattern.
    tokens: Vec<(u32, Token)>,
    word: Table,
}

impl Matcher {
    fn new<'t>(
        patterns: impl Iterator<Item = (u32, String, &'t Token)>,
    ) -> Result<Option<Self>, DefinitionError> {
        let (mut strings, mut tokens) = (Vec::new(), Vec::new());
        let mut known = HashSet::new();
        for (id, pattern, token) in patterns {
            if pattern.is_empty() || !known.insert(pattern.clone()) {
                let token = token.content.chars().take(40).collect();
                return Err(DefinitionError::AddedOnceNormalized(token));
            }
            strings.push(pattern);
            tokens.push((id, token.clone()));
        }
        if strings.is_empty() {
            return Ok(None);
        }
        let automaton = AhoCorasick::builder()
            .match_kind(MatchKind::LeftmostLongest)
            // The other kinds may take hundreds of bytes for each of the tokens' own.
            .kind(Some(AhoCorasickKind::ContiguousNFA))
            .build(&strings)
            .map_err(|_| DefinitionError::TooManyAdded)?;
        Ok(Some(Self {
            automaton,
            tokens,
            word: Table::word(),
        }))
    }

    fn split(
        &self,
        text: &str,
        mut found: impl FnMut(Segment) -> Result<(), TextError>,
    ) -> Result<(), TextError> {
        let mut done = 0;
        // The white space that was looked through last, so that none is looked through for each of many tokens.
        let mut blanks = 0..0;
        for one in self.automaton.find_iter(text) {
            let (id, token) = &self.tokens[one.pattern().as_usize()];
            let (mut start, mut end) = (one.start(), one.end());
            if token.single_word {
                let is_word = |character: Option<char>| {
                    character.is_some_and(|character| self.word.contains(character))
                };
                if is_word(text[..start].chars().next_back()) || is_word(text[end..].chars().next())
                {
                    continue;
                }
            }
            if token.strip_left {
                // What has been given out is not looked through again.
                let from = done.min(start);
                let kept = text[from..start].trim_end();
                start = (from + kept.len()).max(done);
            }
            if token.strip_right {
                if !blanks.contains(&end) {
                    let rest = &text[end..];
                    blanks = end..end + (rest.len() - rest.trim_start().len());
                }
                end = blanks.end.max(end);
            }
            if done < start {
                found(Segment::Text(done, start))?;
            }
            // A token of blanks that another token has taken is not there.
            match start.cmp(&end) {
                Ordering::Less => found(Segment::Token(*id))?,
                Ordering::Equal => {}
                Ordering::Greater => return Err(TextError::Overlap),
            }
            done = end;
        }
        if done != text.len() {
            found(Segment::Text(done, text.len()))?;
        }
        Ok(())
    }
}
