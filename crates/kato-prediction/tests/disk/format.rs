//! A reader made from docs/file-format.md alone finds what the knowledge base holds.

use std::collections::BTreeMap;
use std::path::Path;

use kato_column_reader::{ColumnReader, numbers};
use kato_engine::SessionConfig;
use kato_model::{Event, PatternName};
use kato_store::{EmbeddedStore, KnowledgeBase};
use serde_json::Value;

use crate::support::{build, engines, events, teach, teach_indexed};

/// The columns in the order of the document.
const COLUMNS: [&str; 27] = [
    "names",
    "symbol_starts",
    "symbols",
    "frequencies",
    "large_ranks",
    "large_frequencies",
    "event_ranks",
    "event_starts",
    "event_lengths",
    "text_starts",
    "texts",
    "text_counts",
    "learned_ranks",
    "learned_frequencies",
    "lower_texts",
    "lower_text_counts",
    "held_keys",
    "held_starts",
    "held_lists",
    "first_keys",
    "first_starts",
    "first_lists",
    "pair_keys",
    "pair_key_starts",
    "pair_followers",
    "pair_starts",
    "pair_lists",
];

/// The columns of one node.
struct Node {
    layout: Value,
    columns: BTreeMap<&'static str, Vec<u8>>,
}

/// A pattern: name, symbols, numbers of symbols of its events, frequency.
type Pattern = (String, Vec<String>, Vec<usize>, u64);

#[test]
fn the_document_describes_every_byte() {
    let dir = tempfile::tempdir().unwrap();
    let kb = dir.path().join("kb");
    // Enough of some pairs that they are listed, blocks of ranks, and one of everything unusual.
    let mut lessons: Vec<(Vec<Event>, usize)> = (0..300)
        .map(|n| (events(&format!("the cat {n} sat on")), 1))
        .collect();
    lessons.push((events("on and on and on"), 300));
    lessons.push((events("cat cat"), 255));
    lessons.push((vec![Event::new(["b", "a"]), Event::new(["c"])], 254));
    lessons.push(((0..70).map(|n| Event::new([format!("s{n}")])).collect(), 1));
    teach(&kb, &[lessons]);
    let index = build(&kb);
    let nodes = read(index.dir());
    let columns = nodes.iter().flat_map(|node| node.columns.values());
    let bytes: usize = columns.map(Vec::len).sum();
    assert_eq!(index.bytes(), bytes as u64);
    let store = EmbeddedStore::open_read_only(&kb).unwrap();
    for (node_idx, node) in nodes.iter().enumerate() {
        let below = node_idx.checked_sub(1).map(|below| &nodes[below]);
        let expected: Vec<Pattern> = KnowledgeBase::at(&store, node_idx)
            .unwrap()
            .scan()
            .unwrap()
            .map(|pattern| {
                let pattern = pattern.unwrap();
                let events = pattern.events();
                let symbols = events.iter().flat_map(|event| event.symbols().to_vec());
                (
                    pattern.name.to_string(),
                    symbols.collect(),
                    events.iter().map(Event::len).collect(),
                    pattern.frequency,
                )
            })
            .collect();
        assert_eq!(node.patterns(below), expected);
        node.check_lists();
    }
    assert!(!nodes[0].columns["pair_keys"].is_empty());
}

#[test]
fn the_document_describes_a_list_of_ranks_without_gaps_and_it_is_read() {
    let dir = tempfile::tempdir().unwrap();
    let kb = dir.path().join("kb");
    // All hold one symbol: its list has signatures, and before them fewer bytes than four ranks.
    let lessons = (0..200).map(|n| (events(&format!("the {n}")), 1));
    teach(&kb, &[lessons.collect()]);
    let index = build(&kb);
    read(index.dir()).iter().for_each(Node::check_lists);
    let [memory, disk] = engines(&kb).map(|engine| engine.nodes().next().unwrap());
    let config = SessionConfig::default();
    let [expected, found] =
        [&memory, &disk].map(|node| node.predict(&events("the 150"), &config).unwrap());
    assert_eq!(found, expected);
    assert!(!disk.is_damaged());
}

#[test]
fn the_document_describes_what_one_unit_adds_to_another() {
    let dir = tempfile::tempdir().unwrap();
    let kb = dir.path().join("kb");
    let lessons = |texts: &[&str], times| texts.iter().map(|text| (events(text), times)).collect();
    teach_indexed(
        &kb,
        &[
            lessons(&["the cat sat", "a dog ran", "on the mat"], 1),
            lessons(
                &["the cat sat", "a cat ran", "on the mat", "the hat sat"],
                300,
            ),
        ],
    );
    let store = EmbeddedStore::open_read_only(&kb).unwrap();
    let index = kato_prediction::disk::open(&store).unwrap().unwrap();
    let dirs = index
        .units()
        .map(|(unit, _)| kb.join("index").join(unit.to_string()));
    let units: Vec<Vec<Node>> = dirs.map(|dir| read(&dir)).collect();
    let [first, second] = [&units[0][0], &units[1][0]];
    // What the first has, the second counts beside its rank.
    let again = ["the cat sat", "on the mat"].map(|text| {
        let name = PatternName::of_events(&events(text)).to_string();
        first.names().iter().position(|held| *held == name).unwrap() as u64
    });
    assert_eq!(second.numbers("learned_ranks", 4), sorted(again));
    assert_eq!(second.numbers("learned_frequencies", 8), [300, 300]);
    let new =
        ["a cat ran", "the hat sat"].map(|text| PatternName::of_events(&events(text)).to_string());
    assert_eq!(second.names(), sorted(new));
    // Texts are numbered through, so the only new one is the last.
    let known = ["a", "cat", "dog", "mat", "on", "ran", "sat", "the"];
    assert_eq!(first.columns["texts"], known.concat().as_bytes());
    assert_eq!(second.columns["texts"], b"hat");
    assert_eq!([first, second].map(|node| node.number("n_texts")), [8, 9]);
    let text = |number: u64| known.get(number as usize).copied().unwrap_or("hat");
    let patterns = second.symbols().into_iter();
    let texts = patterns.map(|symbols| symbols.into_iter().map(text).collect::<Vec<_>>().join(" "));
    assert_eq!(
        sorted(texts.collect::<Vec<_>>()),
        ["a cat ran", "the hat sat"]
    );
    // Of the known ones: in how many new patterns they are, and how often they were learned.
    let counts = second.columns["lower_text_counts"].chunks(12);
    let counts = counts.map(|counts| (numbers(&counts[..4], 4)[0], numbers(&counts[4..], 8)[0]));
    let lower_texts = second.numbers("lower_texts", 4).into_iter().map(text);
    assert_eq!(
        lower_texts.zip(counts).collect::<Vec<_>>(),
        [
            ("a", (1, 300)),
            ("cat", (1, 600)),
            ("mat", (0, 300)),
            ("on", (0, 300)),
            ("ran", (1, 300)),
            ("sat", (1, 600)),
            ("the", (1, 900)),
        ]
    );
    let own = &second.columns["text_counts"];
    assert_eq!(
        (numbers(&own[..4], 4), numbers(&own[4..], 8)),
        (vec![1], vec![300])
    );
    assert_eq!(second.number("n_symbols"), 9);
    // The node above has the patterns of both as numbers below.
    assert_eq!(units[1][1].number("n_below"), 5);
}

fn sorted<T: Ord>(things: impl IntoIterator<Item = T>) -> Vec<T> {
    let mut things: Vec<T> = things.into_iter().collect();
    things.sort();
    things
}

/// Reads an index and compares all checksums.
fn read(dir: &Path) -> Vec<Node> {
    let mut reader = ColumnReader::open(dir, "INDEX", 6);
    let header = reader.header.clone();
    let mut nodes = Vec::new();
    for (node_idx, node) in header["nodes"].as_array().unwrap().iter().enumerate() {
        let mut columns = BTreeMap::new();
        for (name, bytes) in COLUMNS.iter().zip(node["column_bytes"].as_array().unwrap()) {
            let column = reader.column(&format!("{node_idx}.{name}"), bytes);
            columns.insert(*name, column);
        }
        nodes.push(Node {
            layout: node["layout"].clone(),
            columns,
        });
    }
    reader.end();
    nodes
}

impl Node {
    fn number(&self, key: &str) -> usize {
        self.layout[key].as_u64().unwrap() as usize
    }

    /// Returns a column of numbers of so many bytes each.
    fn numbers(&self, column: &str, bytes: usize) -> Vec<u64> {
        numbers(&self.columns[column], bytes)
    }

    /// Returns the numbers of a packed column.
    fn packed(&self, column: &str, n_numbers: usize) -> Vec<u64> {
        let bytes = &self.columns[column];
        let (distances, heads) = bytes.split_at(bytes.len() - n_numbers.div_ceil(128) * 16);
        let number = |nth: usize| {
            let head = &heads[nth / 128 * 16..][..16];
            let field = |part: std::ops::Range<usize>| numbers(&head[part.clone()], part.len())[0];
            let (base, slope, at) = (field(0..6), field(6..10), field(10..15) as usize);
            let (width, nth) = (usize::from(head[15]), nth % 128);
            let distance = bits(&distances[at * 16..], nth * width, width);
            (base + slope * nth as u64 + distance) % (1 << 48)
        };
        (0..n_numbers).map(number).collect()
    }

    /// Returns where so many things begin, and where the last one ends.
    fn offsets(&self, starts: &str, n_things: usize) -> Vec<usize> {
        let offsets = self.packed(starts, n_things + 1).into_iter();
        offsets.map(|offset| offset as usize).collect()
    }

    /// Returns the number of keys of a kind: the last class's end there.
    fn n_keys(&self, kind: &str) -> usize {
        let classes = self.layout["classes"].as_array().unwrap();
        classes.last().map_or(0, |class| part(&class[kind]).end)
    }

    /// Returns the numbers of the symbols of every pattern.
    fn symbols(&self) -> Vec<Vec<u64>> {
        let symbols = self.numbers("symbols", self.number("symbol_bytes"));
        let offsets = self.offsets("symbol_starts", self.number("n_patterns"));
        offsets
            .windows(2)
            .map(|ends| symbols[ends[0]..ends[1]].to_vec())
            .collect()
    }

    fn names(&self) -> Vec<String> {
        let hex = |name: &[u8]| name.iter().map(|byte| format!("{byte:02x}")).collect();
        self.columns["names"].chunks(20).map(hex).collect()
    }

    fn patterns(&self, below: Option<&Self>) -> Vec<Pattern> {
        let names_below = below.map_or(Vec::new(), Self::names);
        assert_eq!(self.number("n_below"), names_below.len());
        let texts = self.offsets("text_starts", self.number("n_texts"));
        let text = |number: u64| match names_below.get(number as usize) {
            Some(name) => format!("PTRN|{name}"),
            None => {
                let at = number as usize - names_below.len();
                let text = &self.columns["texts"][texts[at]..texts[at + 1]];
                String::from_utf8(text.to_vec()).unwrap()
            }
        };
        let large = self.numbers("large_ranks", 4);
        let large_frequencies = self.numbers("large_frequencies", 8);
        let event_ranks = self.numbers("event_ranks", 4);
        let event_offsets = self.offsets("event_starts", event_ranks.len());
        let event_lengths = self.numbers("event_lengths", 4);
        let names = self.names();
        assert_eq!(names.len(), self.number("n_patterns"));
        let patterns = names.into_iter().zip(self.symbols()).enumerate();
        patterns
            .map(|(rank, (name, symbols))| {
                let frequency = match self.columns["frequencies"][rank] {
                    255 => {
                        let at = large.binary_search(&(rank as u64)).unwrap();
                        large_frequencies[at]
                    }
                    small => u64::from(small),
                };
                let lengths = match event_ranks.binary_search(&(rank as u64)) {
                    Ok(at) => event_lengths[event_offsets[at]..event_offsets[at + 1]]
                        .iter()
                        .map(|&length| length as usize)
                        .collect(),
                    Err(_) => vec![1; symbols.len()],
                };
                (
                    name,
                    symbols.into_iter().map(text).collect(),
                    lengths,
                    frequency,
                )
            })
            .collect()
    }

    /// Compares all lists with what the symbols of the patterns say.
    fn check_lists(&self) {
        let symbols = self.symbols();
        let event_ranks = self.numbers("event_ranks", 4);
        let mut n_used = 0;
        let n_numbers = self.number("n_below") + self.number("n_texts");
        let mut held_by = vec![0_u64; n_numbers];
        for class in self.layout["classes"].as_array().unwrap() {
            let shortest = class["class"]["shortest"].as_u64().unwrap() as usize;
            let is_plain = class["class"]["is_plain"].as_bool().unwrap();
            let is_member = |rank: usize| {
                let pattern = &symbols[rank];
                let has_events = event_ranks.binary_search(&(rank as u64)).is_ok();
                let repeats = pattern.windows(2).any(|pair| pair[0] == pair[1]);
                shortest_of(pattern.len()) == shortest && is_plain != (has_events || repeats)
            };
            let members: Vec<usize> = (0..symbols.len()).filter(|&rank| is_member(rank)).collect();
            assert!(!members.is_empty());
            let (mut held, mut first) = (BTreeMap::new(), BTreeMap::new());
            let mut pairs: BTreeMap<u64, BTreeMap<u64, Vec<u64>>> = BTreeMap::new();
            let add = |list: &mut Vec<u64>, rank: usize| {
                if list.last() != Some(&(rank as u64)) {
                    list.push(rank as u64);
                }
            };
            for &rank in &members {
                for &symbol in &symbols[rank] {
                    add(held.entry(symbol).or_default(), rank);
                }
                add(first.entry(symbols[rank][0]).or_default(), rank);
                for pair in symbols[rank].windows(2) {
                    let followers = pairs.entry(pair[0]).or_default();
                    add(followers.entry(pair[1]).or_default(), rank);
                }
            }
            for (&symbol, list) in &held {
                held_by[symbol as usize] += list.len() as u64;
            }
            let least = class["least_pair_list"].as_u64().unwrap() as usize;
            pairs.retain(|first, followers| {
                followers.retain(|second, _| {
                    [first, second]
                        .iter()
                        .all(|symbol| held[symbol].len() >= least)
                });
                !followers.is_empty()
            });
            assert_eq!(ranks(self.lists(class, "held")), held);
            first.retain(|symbol, _| held[symbol].len() > 128);
            assert_eq!(ranks(self.lists(class, "first")), first);
            let found = self.pairs(class).into_iter();
            assert!(
                found
                    .map(|(symbol, lists)| (symbol, ranks(lists)))
                    .eq(pairs)
            );
            self.check_signatures(class, shortest, &symbols);
        }
        let n_below = self.number("n_below");
        for (at, counts) in self.columns["text_counts"].chunks(12).enumerate() {
            assert_eq!(numbers(&counts[..4], 4), [held_by[n_below + at]]);
        }
        for &n_patterns in &held_by {
            n_used += usize::from(n_patterns > 0);
        }
        assert_eq!(self.number("n_symbols"), n_used);
    }

    /// Compares the signatures of a class with the symbols of its patterns.
    fn check_signatures(&self, class: &Value, length: usize, symbols: &[Vec<u64>]) {
        for (kind, n_known) in [("held", 1), ("pair", 2)] {
            if !self.is_signed(class, kind) {
                continue;
            }
            let lists: Vec<(Vec<u64>, List)> = match kind {
                "held" => self
                    .lists(class, kind)
                    .into_iter()
                    .map(|(a, list)| (vec![a], list))
                    .collect(),
                _ => {
                    let pairs = self.pairs(class).into_iter();
                    let lists = pairs.flat_map(|(a, by_second)| {
                        by_second
                            .into_iter()
                            .map(move |(b, list)| (vec![a, b], list))
                    });
                    lists.collect()
                }
            };
            for (known, (ranks, signatures)) in lists {
                let is_long = ranks.len() > 128;
                assert_eq!(signatures.len(), if is_long { ranks.len() } else { 0 });
                for (rank, signature) in ranks.into_iter().zip(signatures) {
                    let pattern = &symbols[rank as usize];
                    let place_bits = u64::BITS - ((length - n_known) as u64).leading_zeros();
                    let place = (signature & ((1 << place_bits) - 1)) as usize;
                    assert_eq!(pattern[place..place + n_known], known);
                    let n_others = (length - n_known) as u32;
                    let bits =
                        ((32 - place_bits).checked_div(n_others)).map_or(0, |bits| bits.min(10));
                    let others = pattern[..place].iter().chain(&pattern[place + n_known..]);
                    for (n, &other) in others.enumerate() {
                        let hash = ((other * 0x9E37_79B1) & 0xFFFF_FFFF) >> (32 - bits);
                        let found = signature >> (place_bits + n as u32 * bits) & ((1 << bits) - 1);
                        assert_eq!(found, hash);
                    }
                }
            }
        }
    }

    /// Returns whether the lists of a class have signatures.
    fn is_signed(&self, class: &Value, kind: &str) -> bool {
        let shortest = class["class"]["shortest"].as_u64().unwrap();
        match kind {
            "held" => shortest <= 9 && self.number("n_below") == 0,
            "first" => false,
            _ => (2..=9).contains(&shortest),
        }
    }

    /// Returns a class's lists of one kind by symbol.
    fn lists(&self, class: &Value, kind: &str) -> BTreeMap<u64, List> {
        let n_keys = self.n_keys(kind);
        let keys = self.packed(&format!("{kind}_keys"), n_keys);
        let lists = self.unpacked(
            kind,
            n_keys,
            self.is_signed(class, kind),
            part(&class[kind]),
        );
        let part = &keys[part(&class[kind])];
        assert!(part.is_sorted());
        part.iter().copied().zip(lists).collect()
    }

    /// Returns a class's lists by symbol and follower.
    fn pairs(&self, class: &Value) -> BTreeMap<u64, BTreeMap<u64, List>> {
        let (n_keys, n_followers) = (self.n_keys("pairs"), self.number("n_followers"));
        let keys = self.packed("pair_keys", n_keys);
        let key_offsets = self.offsets("pair_key_starts", n_keys);
        let followers = self.packed("pair_followers", n_followers);
        let of_key = |key: usize| {
            let part = key_offsets[key]..key_offsets[key + 1];
            let is_signed = self.is_signed(class, "pair");
            let lists = self.unpacked("pair", n_followers, is_signed, part.clone());
            (
                keys[key],
                followers[part].iter().copied().zip(lists).collect(),
            )
        };
        part(&class["pairs"]).map(of_key).collect()
    }

    /// Unpacks some of the lists of a kind, of which there are so many.
    fn unpacked(
        &self,
        kind: &str,
        n_lists: usize,
        is_signed: bool,
        part: std::ops::Range<usize>,
    ) -> Vec<List> {
        let offsets = self.offsets(&format!("{kind}_starts"), n_lists);
        let bytes = &self.columns[&*format!("{kind}_lists")];
        let rank_bytes = match self.number("n_patterns") {
            0..=65_536 => 2,
            65_537..=16_777_216 => 3,
            _ => 4,
        };
        part.map(|at| unpack(&bytes[offsets[at]..offsets[at + 1]], rank_bytes, is_signed))
            .collect()
    }
}

/// Ranks, and the signatures beside them, if there are some.
type List = (Vec<u64>, Vec<u64>);

/// Unpacks a list.
fn unpack(bytes: &[u8], rank_bytes: usize, is_signed: bool) -> List {
    if bytes.len() <= 4 * rank_bytes {
        assert!(!bytes.is_empty());
        return (numbers(bytes, rank_bytes), Vec::new());
    }
    let n_length = bytes.iter().position(|&byte| byte < 0x80).unwrap() + 1;
    let length = bytes[..n_length].iter().rev();
    let n_ranks = length.fold(0, |n, &byte| n << 7 | usize::from(byte & 0x7F));
    let width = usize::from(bytes[n_length]);
    let (firsts, rest) = bytes[n_length + 1..].split_at(n_ranks.div_ceil(128) * rank_bytes);
    let n_gap_bits = (n_ranks - n_ranks.div_ceil(128)) * width;
    let (gaps, signatures) = rest.split_at(n_gap_bits.div_ceil(8));
    let firsts = numbers(firsts, rank_bytes);
    let (mut ranks, mut n_gaps) = (Vec::new(), 0);
    for nth in 0..n_ranks {
        if nth % 128 == 0 {
            ranks.push(firsts[nth / 128]);
        } else {
            ranks.push(ranks[nth - 1] + bits(gaps, n_gaps * width, width) + 1);
            n_gaps += 1;
        }
    }
    assert!(n_ranks > 4);
    let signature_bytes = if is_signed && n_ranks > 128 { 4 } else { 0 };
    let (signatures, filling) = signatures.split_at(n_ranks * signature_bytes);
    let n_other = bytes.len() - filling.len();
    assert_eq!(bytes.len(), n_other.max(4 * rank_bytes + 1));
    assert!(filling.iter().all(|&byte| byte == 0));
    (ranks, numbers(signatures, 4))
}

/// Returns so many bits from a place on, the first as the lowest.
fn bits(bytes: &[u8], at: usize, n_bits: usize) -> u64 {
    let bit = |at: usize| u64::from(bytes[at / 8] >> (at % 8) & 1);
    (0..n_bits).fold(0, |bits, nth| bits | bit(at + nth) << nth)
}

/// Returns the ranks of lists.
fn ranks(lists: BTreeMap<u64, List>) -> BTreeMap<u64, Vec<u64>> {
    let lists = lists.into_iter();
    lists.map(|(symbol, (ranks, _))| (symbol, ranks)).collect()
}

/// Returns the shortest length of the class of a length.
fn shortest_of(length: usize) -> usize {
    if length <= 32 {
        return length;
    }
    let octave = length.ilog2();
    let step = 1 << (octave - 2);
    // The length at the bottom of the first doubling has a class of its own.
    (length / step * step).max(33)
}

fn part(ends: &Value) -> std::ops::Range<usize> {
    let end = |idx: usize| ends[idx].as_u64().unwrap() as usize;
    end(0)..end(1)
}
