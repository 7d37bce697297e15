//! What a session observed before its short-term memory, compactly: sessions are many.

use std::collections::VecDeque;
use std::fmt;

use serde::de::{SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Most events that are kept: the latest. A write of a session writes down all of it.
pub(crate) const MAX_PAST: usize = 1024;

/// Most bytes of their symbols.
const MAX_BYTES: usize = 32 << 10;

/// Stands for an event that has not one symbol, or too long a one.
const NONE: u16 = u16::MAX;

/// The latest events that have left the short-term memory other than by clearing it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Past {
    /// The symbols, one after the other; those before `start` are gone.
    texts: String,
    start: usize,
    /// Bytes of the symbol of each event, the oldest first.
    lengths: VecDeque<u16>,
}

impl Past {
    pub(crate) fn is_empty(&self) -> bool {
        self.lengths.is_empty()
    }

    /// Adds an event, by its only symbol if it has one alone.
    pub(crate) fn push(&mut self, symbol: Option<&str>) {
        let symbol = symbol.filter(|symbol| symbol.len() <= MAX_BYTES);
        let bytes = symbol.map_or(0, str::len);
        while self.lengths.len() >= MAX_PAST || self.n_bytes() + bytes > MAX_BYTES {
            self.pop();
        }
        // No longer than `MAX_BYTES`, which is less.
        let length = symbol.and_then(|symbol| u16::try_from(symbol.len()).ok());
        self.lengths.push_back(length.unwrap_or(NONE));
        self.texts.push_str(symbol.unwrap_or_default());
    }

    /// Drops the oldest event.
    fn pop(&mut self) {
        match self.lengths.pop_front() {
            None | Some(NONE) => {}
            Some(length) => self.start += usize::from(length),
        }
        // What is moved is less than what has gone since the last time.
        if self.start > self.n_bytes().max(256) {
            self.texts.drain(..self.start);
            self.start = 0;
        }
    }

    fn n_bytes(&self) -> usize {
        self.texts.len() - self.start
    }

    pub(crate) fn clear(&mut self) {
        *self = Self::default();
    }

    /// Returns the events, the oldest first.
    pub(crate) fn iter(&self) -> impl Iterator<Item = Option<&str>> {
        let mut at = self.start;
        self.lengths.iter().map(move |&length| match length {
            NONE => None,
            length => {
                let from = at;
                at += usize::from(length);
                self.texts.get(from..at)
            }
        })
    }

    /// Returns the bytes of memory that it takes.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.texts.capacity() + self.lengths.capacity() * size_of::<u16>()
    }
}

impl PartialEq for Past {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

impl Serialize for Past {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter())
    }
}

impl<'de> Deserialize<'de> for Past {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Events;

        impl<'de> Visitor<'de> for Events {
            type Value = Past;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of symbols or null")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut events: A) -> Result<Past, A::Error> {
                let mut past = Past::default();
                while let Some(symbol) = events.next_element::<Option<String>>()? {
                    past.push(symbol.as_deref());
                }
                Ok(past)
            }
        }

        deserializer.deserialize_seq(Events)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn symbols_of_any_length_stay_within_the_bound() {
        let mut past = Past::default();
        past.push(Some("early"));
        past.push(Some(&"x".repeat(MAX_BYTES)));
        assert_eq!(past.iter().count(), 1);
        past.push(Some(&"y".repeat(MAX_BYTES + 1)));
        past.push(Some(""));
        assert_eq!(past.iter().skip(1).collect::<Vec<_>>(), [None, Some("")]);
        for _ in 0..10_000 {
            past.push(Some(&"z".repeat(100)));
        }
        assert!(
            past.memory_bytes() < 5 * MAX_BYTES,
            "{}",
            past.memory_bytes()
        );
    }

    proptest! {
        #[test]
        fn the_latest_are_kept_and_survive_being_stored(
            symbols in prop::collection::vec(prop::option::of("[a-zä]{0,60}"), 0..2500),
        ) {
            let mut past = Past::default();
            let mut model: VecDeque<Option<String>> = VecDeque::new();
            for symbol in symbols {
                past.push(symbol.as_deref());
                model.push_back(symbol);
                let bytes = |model: &VecDeque<Option<String>>| -> usize {
                    model.iter().flatten().map(String::len).sum()
                };
                while model.len() > MAX_PAST || bytes(&model) > MAX_BYTES {
                    model.pop_front();
                }
            }
            let kept: Vec<Option<&str>> = model.iter().map(Option::as_deref).collect();
            prop_assert_eq!(past.iter().collect::<Vec<_>>(), kept);
            let stored = serde_json::to_string(&past).unwrap();
            prop_assert_eq!(serde_json::from_str::<Past>(&stored).unwrap(), past);
        }
    }
}
