//! The learns of a node since the last commit, in a compact form.

use hashbrown::HashMap;
use kato_model::{
    AttributeLimits, Attributes, EmotiveMap, Event, Metadata, PatternName, VectorName,
};

/// Learns that the store does not have yet. The content of patterns is in the node's index, and here
/// as well where it would be lost with an index on the disk.
#[derive(Debug, Default)]
pub(crate) struct Pending {
    learned: HashMap<PatternName, Learned, foldhash::fast::RandomState>,
    vectors: Vec<(VectorName, Vec<f64>)>,
    /// Learn calls, all patterns together.
    calls: u64,
    contents: Contents,
}

/// The pending learns of one pattern.
#[derive(Debug, Default)]
pub(crate) struct Learned {
    /// Learn calls.
    pub(crate) count: u64,
    /// Metadata, emotives and affinity, where there are any.
    pub(crate) attributes: Option<Box<Attributes>>,
}

/// The contents of patterns that are new above an index on the disk, where their symbols have their
/// texts: one behind the other, as every learn adds to it and hardly anything reads it.
///
/// Each is the name, then the number of events, and for each event the number of symbols and for each
/// of these its bytes and their number in front.
#[derive(Debug, Default)]
struct Contents(Vec<u8>);

impl Contents {
    fn push(&mut self, name: PatternName, events: &[Event]) {
        self.0.extend_from_slice(name.as_bytes());
        self.number(events.len());
        for event in events {
            self.number(event.len());
            for symbol in event.symbols() {
                self.number(symbol.len());
                self.0.extend_from_slice(symbol.as_bytes());
            }
        }
    }

    /// Writes a number, seven bits a byte.
    fn number(&mut self, mut number: usize) {
        loop {
            let [low, ..] = number.to_le_bytes();
            number >>= 7;
            if number == 0 {
                self.0.push(low);
                return;
            }
            self.0.push(low | 0x80);
        }
    }

    /// Reads all of them.
    fn read(&self) -> impl Iterator<Item = (PatternName, Vec<Event>)> {
        let mut rest = &*self.0;
        std::iter::from_fn(move || {
            let name: [u8; PatternName::BYTES] = take(&mut rest, PatternName::BYTES)?
                .try_into()
                .expect("so many bytes were taken");
            let mut events = Vec::new();
            for _ in 0..number(&mut rest)? {
                let mut symbols = Vec::new();
                for _ in 0..number(&mut rest)? {
                    let length = number(&mut rest)?;
                    let bytes = take(&mut rest, length)?;
                    symbols.push(String::from_utf8_lossy(bytes).into_owned());
                }
                events.push(Event::in_given_order(symbols));
            }
            Some((PatternName::from_bytes(name), events))
        })
    }
}

/// Takes bytes from the front; `None` where there are fewer.
fn take<'a>(rest: &mut &'a [u8], n: usize) -> Option<&'a [u8]> {
    let (taken, after) = rest.split_at_checked(n)?;
    *rest = after;
    Some(taken)
}

/// Reads a number from the front.
fn number(rest: &mut &[u8]) -> Option<usize> {
    let mut number = 0;
    for shift in (0..usize::BITS).step_by(7) {
        let byte = take(rest, 1)?[0];
        number |= usize::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Some(number);
        }
    }
    None
}

impl Pending {
    /// Adds a learn of a pattern.
    pub(crate) fn count(&mut self, name: PatternName) {
        self.learned.entry(name).or_default().count += 1;
        self.calls += 1;
    }

    /// Makes room for so many more patterns.
    pub(crate) fn reserve(&mut self, additional: usize) {
        self.learned.reserve(additional);
    }

    /// Keeps the content of a pattern that was learned and whose content is not kept yet.
    pub(crate) fn keep_content(&mut self, name: PatternName, events: &[Event]) {
        self.contents.push(name, events);
    }

    /// Returns the contents that are kept.
    pub(crate) fn contents(&self) -> impl Iterator<Item = (PatternName, Vec<Event>)> {
        self.contents.read()
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
        }
        self.contents.0.extend(other.contents.0);
        self.vectors.extend(other.vectors);
        self.calls += other.calls;
    }

    /// Returns the metadata that is pending for a pattern.
    pub(crate) fn metadata(&self, name: &PatternName) -> Option<&Metadata> {
        let attributes = self.learned.get(name)?.attributes.as_ref()?;
        Some(&attributes.metadata)
    }

    /// Returns what is pending for the affinities of a pattern's symbols.
    pub(crate) fn affinity(&self, name: &PatternName) -> Option<&EmotiveMap> {
        let attributes = self.learned.get(name)?.attributes.as_ref()?;
        Some(&attributes.affinity)
    }

    /// Removes the learns of a pattern, and returns how many there were.
    pub(crate) fn remove(&mut self, name: &PatternName) -> u64 {
        let count = self.learned.remove(name).map_or(0, |learned| learned.count);
        self.calls -= count;
        count
    }

    pub(crate) fn learned(&self) -> impl Iterator<Item = (&PatternName, &Learned)> {
        self.learned.iter()
    }

    pub(crate) fn vectors(&self) -> &[(VectorName, Vec<f64>)] {
        &self.vectors
    }

    /// Returns the bytes of memory that the learns take, metadata, emotives and vectors not counted.
    pub(crate) fn heap_bytes(&self) -> usize {
        self.learned.allocation_size() + self.contents.0.capacity()
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
    fn places_that_stay_empty_are_counted() {
        let mut pending = Pending::default();
        assert_eq!(pending.heap_bytes(), 0);
        for number in 0..100_u32 {
            pending.count(PatternName::of_events(&[[number.to_string()]]));
        }
        // A table of 128 places takes 112 entries.
        assert_eq!(pending.learned.capacity(), 112);
        let entries = 128 * (size_of::<(PatternName, Learned)>() + 1);
        // Behind the last place is a group of bytes that are looked at together.
        assert!((entries..entries + 64).contains(&pending.heap_bytes()));
    }

    #[test]
    fn contents_are_those_of_the_events() {
        let long = "x".repeat(300);
        let patterns = [
            vec![Event::new(["a"]), Event::new(["Ġcat"]), Event::new(["a"])],
            vec![
                Event::in_given_order(vec!["b".to_owned(), "a".to_owned()]),
                Event::new(["", "ü"]),
            ],
            vec![
                Event::in_given_order(Vec::new()),
                Event::new([long.as_str()]),
            ],
            vec![Event::new(["c"]); 200],
        ];
        let named = |events: &Vec<Event>| (PatternName::of_events(events), events.clone());
        let mut pending = [Pending::default(), Pending::default()];
        for (number, events) in patterns.iter().enumerate() {
            let (name, events) = named(events);
            pending[number / 2].keep_content(name, &events);
        }
        let [mut first, second] = pending;
        first.merge(second, &AttributeLimits::default());
        let expected: Vec<_> = patterns.iter().map(named).collect();
        assert_eq!(first.contents().collect::<Vec<_>>(), expected);
    }
}
