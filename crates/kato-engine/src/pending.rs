//! The learns of a node since the last commit, in a compact form.

use std::collections::HashMap;

use kato_model::{AttributeLimits, Attributes, Event, Metadata, PatternName, VectorName};

/// Learns that the store does not have yet. The content of patterns is in the node's index, and here
/// as well where it would be lost with an index on the disk.
#[derive(Debug, Default)]
pub(crate) struct Pending {
    learned: HashMap<PatternName, Learned, foldhash::fast::RandomState>,
    vectors: Vec<(VectorName, Vec<f64>)>,
    /// Learn calls, all patterns together.
    calls: u64,
    /// Bytes of the contents that are kept here.
    content_bytes: usize,
}

/// The pending learns of one pattern.
#[derive(Debug, Default)]
pub(crate) struct Learned {
    /// Learn calls.
    pub(crate) count: u64,
    /// Metadata, emotives and affinity, where there are any.
    pub(crate) attributes: Option<Box<Attributes>>,
    /// The content of a pattern that is new above an index on the disk: its symbols have their texts
    /// there.
    pub(crate) content: Option<Box<Content>>,
}

/// The events of a pattern, in little memory.
#[derive(Debug)]
pub(crate) struct Content {
    /// All symbols, one behind the other.
    text: Box<str>,
    /// Bytes of each symbol.
    lengths: Box<[u32]>,
    /// Symbols of each event; `None` where each has one.
    events: Option<Box<[u32]>>,
}

impl Content {
    /// Copies events; `None` where they have more bytes than 32 bits count.
    pub(crate) fn of(events: &[Event]) -> Option<Self> {
        let symbols = || events.iter().flat_map(Event::symbols);
        let lengths = symbols().map(|symbol| u32::try_from(symbol.len()));
        let is_plain = events.iter().all(|event| event.len() == 1);
        let of_events = events.iter().map(|event| u32::try_from(event.len()));
        Some(Self {
            text: symbols().map(String::as_str).collect(),
            lengths: lengths.collect::<Result<_, _>>().ok()?,
            events: match is_plain {
                true => None,
                false => Some(of_events.collect::<Result<_, _>>().ok()?),
            },
        })
    }

    /// Returns the events.
    pub(crate) fn events(&self) -> Vec<Event> {
        let mut rest = &*self.text;
        let mut symbols = self.lengths.iter().map(|&length| {
            let (symbol, after) = rest.split_at(length as usize);
            rest = after;
            symbol.to_owned()
        });
        let mut event =
            |length: usize| Event::in_given_order(symbols.by_ref().take(length).collect());
        match &self.events {
            None => self.lengths.iter().map(|_| event(1)).collect(),
            Some(lengths) => lengths
                .iter()
                .map(|&length| event(length as usize))
                .collect(),
        }
    }

    fn heap_bytes(&self) -> usize {
        let of_events = self.events.as_deref().map_or(0, size_of_val);
        size_of::<Self>() + self.text.len() + size_of_val(&*self.lengths) + of_events
    }
}

impl Pending {
    /// Adds a learn of a pattern.
    pub(crate) fn count(&mut self, name: PatternName) {
        self.learned.entry(name).or_default().count += 1;
        self.calls += 1;
    }

    /// Keeps the content of a pattern that was learned.
    pub(crate) fn keep_content(&mut self, name: PatternName, events: &[Event]) {
        let Some(content) = Content::of(events) else {
            return;
        };
        self.content_bytes += content.heap_bytes();
        let learned = self.learned.entry(name).or_default();
        learned.content.get_or_insert(Box::new(content));
    }

    /// Keeps what a learn attached to a pattern.
    pub(crate) fn attach(
        &mut self,
        name: PatternName,
        attributes: Attributes,
        limits: &AttributeLimits,
    ) {
        let learned = self.learned.entry(name).or_default();
        learned.attach(attributes, limits);
    }

    /// Keeps a vector that the store does not have yet.
    pub(crate) fn record_vector(&mut self, name: VectorName, elements: &[f64]) {
        self.vectors.push((name, elements.to_vec()));
    }

    /// Adds other pending learns; used to take back what could not be committed.
    pub(crate) fn merge(&mut self, other: Self, limits: &AttributeLimits) {
        // The order of merging does not matter: counts and affinities are sums, metadata are
        // unions, and emotives carry their positions.
        for (name, learned) in other.learned {
            let held = self.learned.entry(name).or_default();
            held.count += learned.count;
            if let Some(attributes) = learned.attributes {
                held.attach(*attributes, limits);
            }
            held.content = held.content.take().or(learned.content);
        }
        self.content_bytes += other.content_bytes;
        self.vectors.extend(other.vectors);
        self.calls += other.calls;
    }

    /// Returns the metadata that is pending for a pattern.
    pub(crate) fn metadata(&self, name: &PatternName) -> Option<&Metadata> {
        let attributes = self.learned.get(name)?.attributes.as_ref()?;
        Some(&attributes.metadata)
    }

    pub(crate) fn learned(&self) -> impl Iterator<Item = (&PatternName, &Learned)> {
        self.learned.iter()
    }

    pub(crate) fn vectors(&self) -> &[(VectorName, Vec<f64>)] {
        &self.vectors
    }

    /// Returns the bytes of memory that the learns take, metadata, emotives and vectors not counted.
    pub(crate) fn heap_bytes(&self) -> usize {
        // The table has a byte of the hash for each entry.
        self.learned.capacity() * (size_of::<(PatternName, Learned)>() + 1) + self.content_bytes
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.learned.is_empty() && self.vectors.is_empty()
    }

    /// Returns the number of learn calls, all patterns together.
    pub(crate) const fn calls(&self) -> u64 {
        self.calls
    }
}

impl Learned {
    /// Merges what another learn attached.
    fn attach(&mut self, attributes: Attributes, limits: &AttributeLimits) {
        let held = self.attributes.get_or_insert_default();
        held.merge(attributes, limits);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_content_is_that_of_the_events() {
        for events in [
            vec![Event::new(["a"]), Event::new(["Ġcat"]), Event::new(["a"])],
            vec![
                Event::in_given_order(vec!["b".to_owned(), "a".to_owned()]),
                Event::new(["", "ü"]),
            ],
            vec![Event::in_given_order(Vec::new()), Event::new(["c"])],
        ] {
            assert_eq!(Content::of(&events).unwrap().events(), events);
        }
    }
}
