//! `docs/file-format.md`: knowledge bases of formats 1, 2, 4 and 5, and a reader written from that text
//! alone.

use std::collections::BTreeMap;
use std::fs;
use std::iter;
use std::path::{Path, PathBuf};

use kato_model::batch::BatchSymbol;
use kato_model::{
    AttributeLimits, Attributes, FirstSeen, LearnBatch, Metadata, PatternName, SealedBatch,
};
use kato_store::slice::{self, NameRanges, SliceSource};
use kato_store::{EmbeddedStore, KnowledgeBase, PatternStore};
use serde_json::{Value, json};

use crate::support::{commit, sealed, two_levels, without_vectors};

const NODES: [&str; 2] = ["node0", "node1"];

/// The knowledge base of the example in `docs/file-format.md`, as the first release wrote it.
fn stored() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/format-1")
}

/// The same content in two ranges of names, in version 2.
fn stored_ranges() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/format-2")
}

fn configuration() -> Value {
    json!({"chunk_sizes": [2, 2]})
}

/// The batch of the example: `the cat` twice, `the mat` once, and a pattern of both.
fn batch() -> SealedBatch {
    let mut batch = LearnBatch::new(2);
    let mut learn = |token_idx, texts: [&str; 2]| {
        let name = PatternName::of_events(&texts.map(|text| [text]));
        let symbols = texts.map(|text| BatchSymbol::Literal(batch.literal(text)));
        let occurrence = batch.learn(0, name, symbols);
        let document_idx = 300;
        batch.record_first_seen(
            0,
            occurrence,
            FirstSeen {
                document_idx,
                token_idx,
            },
        );
        (name, occurrence)
    };
    let cat = learn(0, ["the", "cat"]);
    learn(2, ["the", "cat"]);
    let mat = learn(4, ["the", "mat"]);
    let mut metadata = Metadata::default();
    metadata.insert_text("book", "1".to_owned(), None);
    batch.attach(
        0,
        mat.1,
        Attributes {
            metadata,
            ..Attributes::default()
        },
    );
    let parent = PatternName::of_events(&[cat, mat].map(|(name, _)| [name.prefixed().to_string()]));
    batch.learn(
        1,
        parent,
        [cat, mat].map(|(_, occurrence)| BatchSymbol::Child(occurrence)),
    );
    batch.record_document(300, "a.txt");
    batch.seal()
}

/// Learns the example.
fn example(dir: &Path) {
    let store = EmbeddedStore::create(dir, &NODES, configuration()).unwrap();
    let staged = store.stage(batch()).unwrap();
    store.commit(vec![staged], json!({"samples": 1})).unwrap();
}

/// Makes the example of two ranges of names.
fn example_ranges(dir: &Path) {
    let work = tempfile::tempdir().unwrap();
    let batch = batch();
    let limits = AttributeLimits::default();
    let segments = ["0", "1"].map(|range| work.path().join(range));
    for (range, segment) in segments.iter().enumerate() {
        let levels: Vec<Vec<SliceSource>> = (0..2)
            .map(|node_idx| {
                let whole = work.path().join(format!("whole.{range}.{node_idx}"));
                let ranges = NameRanges::new(2).unwrap();
                let summary =
                    slice::write_batch(&batch, node_idx, &limits, ranges, &whole).unwrap();
                let part = summary.ranges_of(range).unwrap();
                vec![SliceSource::from_ranges(whole, part)]
            })
            .collect();
        let documents = if range == 0 { batch.documents() } else { &[] };
        slice::seal(&levels, documents, &limits, work.path(), segment).unwrap();
    }
    let checkpoint = json!({"samples": 1});
    EmbeddedStore::create_from_segments(dir, &NODES, configuration(), &segments, checkpoint)
        .unwrap();
}

#[test]
fn the_example_is_written_as_the_first_release_wrote_it() {
    let dir = tempfile::tempdir().unwrap();
    example(dir.path());
    for name in ["MANIFEST", "segments/0000000000.seg"] {
        let (found, expected) = (
            fs::read(dir.path().join(name)),
            fs::read(stored().join(name)),
        );
        assert_eq!(found.unwrap(), expected.unwrap(), "{name}");
    }
}

#[test]
fn ranges_of_names_are_written_as_the_example_has_them() {
    let dir = tempfile::tempdir().unwrap();
    let kb = dir.path().join("kb");
    example_ranges(&kb);
    for name in [
        "MANIFEST",
        "segments/0000000000.seg",
        "segments/0000000001.seg",
    ] {
        let (found, expected) = (
            fs::read(kb.join(name)),
            fs::read(stored_ranges().join(name)),
        );
        assert_eq!(found.unwrap(), expected.unwrap(), "{name}");
    }
}

#[test]
fn what_is_merged_of_version_2_is_as_the_first_release_wrote_it() {
    let dir = tempfile::tempdir().unwrap();
    let kb = dir.path().join("kb");
    example_ranges(&kb);
    EmbeddedStore::open(&kb).unwrap().compact().unwrap();
    let found = fs::read(kb.join("segments/0000000002.seg")).unwrap();
    let expected = fs::read(stored().join("segments/0000000000.seg")).unwrap();
    assert_eq!(found, expected);
}

#[test]
fn the_first_release_s_knowledge_base_is_read() {
    is_the_example(&stored());
}

#[test]
fn the_knowledge_base_of_two_ranges_is_read() {
    is_the_example(&stored_ranges());
}

fn is_the_example(kb: &Path) {
    let store = EmbeddedStore::open_read_only(kb).unwrap();
    assert_eq!(store.checkpoint(), json!({"samples": 1}));
    assert_eq!(store.document(300).unwrap().as_deref(), Some("a.txt"));
    let mut lines = Vec::new();
    for node in KnowledgeBase::all(&store) {
        node.export(&mut lines).unwrap();
    }
    let names = [["the", "cat"], ["the", "mat"]]
        .map(|texts| PatternName::of_events(&texts.map(|text| [text])));
    let parent = PatternName::of_events(&names.map(|name| [name.prefixed().to_string()]));
    let [cat, mat] = names;
    let expected = format!(
        r#"{{"name":"{cat}","pattern_data":[["the"],["cat"]],"length":2,"frequency":2,"emotives":[],"metadata":{{}}}}
{{"name":"{mat}","pattern_data":[["the"],["mat"]],"length":2,"frequency":1,"emotives":[],"metadata":{{"book":["1"]}}}}
{{"name":"{parent}","pattern_data":[["PTRN|{cat}"],["PTRN|{mat}"]],"length":2,"frequency":1,"emotives":[],"metadata":{{}}}}
"#
    );
    assert_eq!(String::from_utf8(lines).unwrap(), expected);
}

/// Takes `n` bytes off the front.
fn take<'a>(bytes: &mut &'a [u8], n: usize) -> &'a [u8] {
    let (taken, rest) = bytes.split_at(n);
    *bytes = rest;
    taken
}

fn little_endian(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .rev()
        .fold(0, |number, &byte| number << 8 | u64::from(byte))
}

fn varint(bytes: &mut &[u8]) -> u64 {
    let mut number = 0;
    for shift in (0..).step_by(7) {
        let byte = take(bytes, 1)[0];
        number |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            break;
        }
    }
    number
}

/// Name, symbols, frequency, and the extras' flags and rest.
type Record = (String, Vec<String>, u64, Option<(u8, String)>);

/// Name and elements of a vector.
type Vector = (String, Vec<f64>);

/// Reads the vectors of a node.
fn read_vectors(mut bytes: &[u8]) -> Vec<Vector> {
    let mut vectors = Vec::new();
    while !bytes.is_empty() {
        let head = take(&mut bytes, 28);
        let crc32 = little_endian(take(&mut bytes, 4));
        let elements = take(&mut bytes, 8 * little_endian(&head[20..]) as usize);
        assert_eq!(
            u64::from(crc32fast::hash(&[head, elements].concat())),
            crc32
        );
        let name = head[..20].iter().map(|byte| format!("{byte:02x}"));
        let elements = elements.chunks(8).map(little_endian).map(f64::from_bits);
        vectors.push((
            format!("VCTR|{}", name.collect::<String>()),
            elements.collect(),
        ));
    }
    vectors
}

/// Reads all patterns and vectors of a segment with nothing but the text.
fn read_segment(file: &[u8]) -> Vec<(Vec<Record>, Vec<Vector>)> {
    assert_eq!(file[..8], file[file.len() - 8..]);
    let is_second = file[..8] == *b"KATOSEG2";
    assert!(is_second || file[..8] == *b"KATOSEG1");
    let tail = file.len() - 16;
    let length = little_endian(&file[tail..tail + 4]) as usize;
    let footer_bytes = &file[tail - length..tail];
    assert_eq!(
        u64::from(crc32fast::hash(footer_bytes)),
        little_endian(&file[tail + 4..tail + 8])
    );
    let footer: Value = serde_json::from_slice(footer_bytes).unwrap();
    let number = |value: &Value| value.as_u64().unwrap() as usize;
    let part = |part: &Value| {
        let bytes = &file[number(&part["offset"])..][..number(&part["bytes"])];
        assert_eq!(
            u64::from(crc32fast::hash(bytes)),
            part["crc32"].as_u64().unwrap()
        );
        bytes
    };
    let mut nodes: Vec<(Vec<Record>, Vec<Vector>)> = Vec::new();
    for node in footer["nodes"].as_array().unwrap() {
        let n_literals = number(&node["n_literals"]);
        let (mut lengths, mut text) = part(&node["dictionary"]).split_at(4 * n_literals);
        let below: Vec<String> = nodes
            .last()
            .iter()
            .flat_map(|(below, _)| below.iter().map(|record| format!("PTRN|{}", record.0)))
            .collect();
        let mut symbols = below;
        if let Some(foreign) = node.get("foreign").filter(|_| is_second) {
            let mut bytes = &file[number(&foreign["offset"])..];
            let mut left = number(&foreign["names"]);
            while left > 0 {
                let block = take(&mut bytes, 20 * left.min(256));
                assert_eq!(
                    u64::from(crc32fast::hash(block)),
                    little_endian(take(&mut bytes, 4))
                );
                for name in block.chunks(20) {
                    let name = name.iter().map(|byte| format!("{byte:02x}"));
                    symbols.push(format!("PTRN|{}", name.collect::<String>()));
                    left -= 1;
                }
            }
            assert!(symbols[symbols.len() - number(&foreign["names"])..].is_sorted());
        }
        for _ in 0..n_literals {
            let literal = take(&mut text, little_endian(take(&mut lengths, 4)) as usize);
            symbols.push(String::from_utf8(literal.to_vec()).unwrap());
        }
        let width = (1..4)
            .find(|&width| symbols.len() <= 1 << (8 * width))
            .unwrap_or(4);
        let index: Vec<&[u8]> = part(&node["index"]).chunks(20).collect();
        let n_patterns = number(&node["totals"]["patterns"]);
        let mut records = Vec::new();
        for (block_idx, entry) in index.iter().enumerate() {
            let start = little_endian(&entry[..8]) as usize;
            let next = index
                .get(block_idx + 1)
                .map(|next| little_endian(&next[..8]) as usize);
            let block = &file[start..next.unwrap_or(number(&node["blocks_end"]))];
            assert_eq!(
                u64::from(crc32fast::hash(block)),
                little_endian(&entry[16..])
            );
            assert_eq!(
                entry[8..16].iter().rev().copied().collect::<Vec<_>>(),
                block[..8],
                "the first name"
            );
            let n = 256.min(n_patterns - 256 * block_idx);
            let (names, mut rest) = block.split_at(20 * n);
            for name in names.chunks(20) {
                let header = varint(&mut rest);
                let frequency = if header & 1 == 1 {
                    varint(&mut rest)
                } else {
                    1
                };
                let numbers = take(&mut rest, (header >> 2) as usize * width).chunks(width);
                let symbols = numbers
                    .map(|number| symbols[little_endian(number) as usize].clone())
                    .collect();
                let extras = (header & 2 == 2).then(|| {
                    let length = varint(&mut rest) as usize;
                    let mut extras = take(&mut rest, length);
                    let flags = take(&mut extras, 1)[0];
                    let seen = if flags & 1 == 1 {
                        format!("{} {} ", varint(&mut extras), varint(&mut extras))
                    } else {
                        String::new()
                    };
                    (flags, seen + str::from_utf8(extras).unwrap())
                });
                let name = name.iter().map(|byte| format!("{byte:02x}")).collect();
                records.push((name, symbols, frequency, extras));
            }
            assert!(rest.is_empty());
        }
        assert_eq!(records.len(), n_patterns);
        let vectors = node.get("vectors").map_or(&file[..0], |vectors| {
            &file[number(&vectors["offset"])..][..number(&vectors["bytes"])]
        });
        nodes.push((records, read_vectors(vectors)));
    }
    nodes
}

#[test]
fn a_reader_written_from_the_text_finds_the_patterns() {
    let nodes = read_segment(&fs::read(stored().join("segments/0000000000.seg")).unwrap());
    let mut node0 = nodes[0].0.clone();
    node0.sort_by_key(|record| record.1.clone());
    let texts = |record: &Record| record.1.join(" ");
    assert_eq!((texts(&node0[0]), node0[0].2), ("the cat".to_owned(), 2));
    assert_eq!(node0[0].3, Some((1, "300 0 ".to_owned())));
    assert_eq!((texts(&node0[1]), node0[1].2), ("the mat".to_owned(), 1));
    assert_eq!(
        node0[1].3,
        Some((3, r#"300 4 {"m":{"book":["1"]}}"#.to_owned()))
    );
    assert_eq!(
        texts(&nodes[1].0[0]),
        format!("PTRN|{} PTRN|{}", node0[0].0, node0[1].0)
    );
}

#[test]
fn a_reader_written_from_the_text_finds_foreign_names() {
    let segments = ["0000000000.seg", "0000000001.seg"]
        .map(|name| fs::read(stored_ranges().join("segments").join(name)).unwrap());
    assert_eq!(
        segments.each_ref().map(|file| &file[..8]),
        [b"KATOSEG1", b"KATOSEG2"]
    );
    let [first, second] = segments.map(|file| read_segment(&file));
    let texts = |record: &Record| record.1.join(" ");
    assert_eq!(texts(&first[0].0[0]), "the cat");
    assert_eq!(texts(&second[0].0[0]), "the mat");
    assert_eq!(
        texts(&second[1].0[0]),
        format!("PTRN|{} PTRN|{}", first[0].0[0].0, second[0].0[0].0)
    );
}

#[test]
fn a_reader_written_from_the_text_agrees_on_many_foreign_names() {
    let dir = tempfile::tempdir().unwrap();
    let kb = dir.path().join("kb");
    let lessons = without_vectors(2500);
    let all: Vec<usize> = (0..lessons.len()).collect();
    let store = sealed(&kb, &lessons, &[all], 3);
    let mut segments = [0, 1, 2].map(|number| {
        let file = fs::read(kb.join(format!("segments/000000000{number}.seg"))).unwrap();
        assert_eq!(file[..8], *b"KATOSEG2");
        read_segment(&file)
    });
    for node_idx in 0..2 {
        let mut found: Vec<Record> = Vec::new();
        for segment in &mut segments {
            found.append(&mut segment[node_idx].0);
        }
        let expected: Vec<Record> = store
            .scan(node_idx)
            .unwrap()
            .map(|pattern| pattern.unwrap())
            .map(|pattern| {
                let symbols = pattern.symbols.iter().map(ToString::to_string).collect();
                (pattern.name.to_string(), symbols, pattern.frequency, None)
            })
            .collect();
        // Ranges follow each other, so the segments in order are in name order.
        assert_eq!(found, expected);
        let mut counts: BTreeMap<String, u64> = BTreeMap::new();
        for (_, symbols, frequency, _) in found {
            for symbol in symbols {
                *counts.entry(symbol).or_default() += frequency;
            }
        }
        let counted = store.symbol_counts(node_idx).unwrap().map(|counted| {
            let (symbol, counts) = counted.unwrap();
            (symbol.to_string(), counts.frequency)
        });
        assert_eq!(counted.collect::<BTreeMap<_, _>>(), counts);
    }
}

#[test]
fn a_reader_written_from_the_text_agrees_on_many_blocks_and_vectors() {
    let dir = tempfile::tempdir().unwrap();
    let kb = dir.path().join("kb");
    let store = EmbeddedStore::create(&kb, &["node0", "node1"], Value::Null).unwrap();
    let lessons = two_levels(700);
    commit(
        &store,
        &lessons,
        &(0..lessons.len()).collect::<Vec<_>>(),
        Value::Null,
    );
    let nodes = read_segment(&fs::read(kb.join("segments/0000000000.seg")).unwrap());
    for (node_idx, (records, vectors)) in nodes.iter().enumerate() {
        let expected: Vec<Vector> = store
            .vectors(node_idx)
            .unwrap()
            .map(|vector| vector.unwrap())
            .map(|(name, elements)| (name.to_string(), elements))
            .collect();
        assert!(!expected.is_empty());
        assert_eq!(vectors, &expected);
        let expected: Vec<(String, Vec<String>)> = store
            .scan(node_idx)
            .unwrap()
            .map(|pattern| pattern.unwrap())
            .map(|pattern| {
                (
                    pattern.name.to_string(),
                    pattern.symbols.iter().map(ToString::to_string).collect(),
                )
            })
            .collect();
        let found: Vec<_> = records
            .iter()
            .map(|record| (record.0.clone(), record.1.clone()))
            .collect();
        assert_eq!(found, expected);
    }
}

/// Adds the rows that are deleted of each segment, by node.
fn read_deletions(file: &[u8], n_nodes: usize, all: &mut BTreeMap<String, Vec<Vec<usize>>>) {
    let mut bytes = file.strip_prefix(b"KATODEL1").unwrap();
    while !bytes.is_empty() {
        let length = varint(&mut bytes) as usize;
        let name = str::from_utf8(take(&mut bytes, length)).unwrap().to_owned();
        let rows = all.entry(name).or_insert(vec![Vec::new(); n_nodes]);
        for _ in 0..varint(&mut bytes) {
            for rows in &mut *rows {
                let mut row = 0;
                for _ in 0..varint(&mut bytes) {
                    row += varint(&mut bytes) as usize;
                    rows.push(row);
                }
            }
        }
    }
}

#[test]
fn a_reader_written_from_the_text_finds_what_is_deleted() {
    let dir = tempfile::tempdir().unwrap();
    let kb = dir.path().join("kb");
    let lessons = two_levels(700);
    let all: Vec<usize> = (0..lessons.len()).collect();
    let store = EmbeddedStore::create(&kb, &NODES, Value::Null).unwrap();
    commit(&store, &lessons, &all, Value::Null);
    commit(&store, &lessons, &all[..200], Value::Null);
    // The first ones take more than twice the room of the last, and stay where they are.
    let many: Vec<usize> = iter::once(3).chain(300..360).collect();
    for doomed in [[many.as_slice(), &[701]], [&[4], &[]]] {
        let names = doomed.map(|picked| picked.iter().map(|&idx| lessons.name(idx)).collect());
        store.forget(&names, Value::Null).unwrap();
    }
    let manifest = fs::read_to_string(kb.join("MANIFEST")).unwrap();
    let body = manifest.rsplit_once("\ncrc32 ").unwrap().0;
    let manifest: Value = serde_json::from_str(body).unwrap();
    assert_eq!(manifest["format_version"], 5);
    let entries = manifest["deletions"].as_array().unwrap();
    assert_eq!(entries.len(), 2);
    let mut deleted = BTreeMap::new();
    for entry in entries {
        let file = fs::read(kb.join("segments").join(entry["file"].as_str().unwrap())).unwrap();
        assert_eq!(entry["bytes"], file.len());
        assert_eq!(entry["crc32"], crc32fast::hash(&file));
        read_deletions(&file, NODES.len(), &mut deleted);
    }
    let mut found: [BTreeMap<String, u64>; 2] = Default::default();
    for segment in manifest["segments"].as_array().unwrap() {
        let name = segment["file"].as_str().unwrap();
        let nodes = read_segment(&fs::read(kb.join("segments").join(name)).unwrap());
        for (node_idx, (records, _)) in nodes.iter().enumerate() {
            let gone = &deleted[name][node_idx];
            assert_eq!(segment["deleted"][node_idx]["patterns"], gone.len());
            let rows = records.iter().enumerate();
            for (_, record) in rows.filter(|(row, _)| !gone.contains(row)) {
                *found[node_idx].entry(record.0.clone()).or_default() += record.2;
            }
        }
    }
    for (node_idx, found) in found.into_iter().enumerate() {
        let held = store
            .scan_frequencies(node_idx)
            .unwrap()
            .map(Result::unwrap);
        let expected = held.map(|(name, frequency)| (name.to_string(), frequency));
        assert_eq!(found, expected.collect());
    }
}

#[test]
fn a_file_of_deletions_that_is_alone_as_in_format_4_is_read() {
    let dir = tempfile::tempdir().unwrap();
    let kb = dir.path().join("kb");
    let lessons = two_levels(300);
    let all: Vec<usize> = (0..lessons.len()).collect();
    let store = EmbeddedStore::create(&kb, &NODES, Value::Null).unwrap();
    commit(&store, &lessons, &all, Value::Null);
    let doomed = [vec![lessons.name(3)], Vec::new()];
    store.forget(&doomed, Value::Null).unwrap();
    let held = store.count_patterns(0).unwrap();
    drop(store);
    let manifest = fs::read_to_string(kb.join("MANIFEST")).unwrap();
    let body = manifest.rsplit_once("\ncrc32 ").unwrap().0;
    let mut manifest: Value = serde_json::from_str(body).unwrap();
    manifest["format_version"] = 4.into();
    manifest["deletions"] = manifest["deletions"][0].take();
    let body = manifest.to_string();
    let manifest = format!("{body}\ncrc32 {:08x}\n", crc32fast::hash(body.as_bytes()));
    for file in ["MANIFEST", "MANIFEST.twin"] {
        fs::write(kb.join(file), &manifest).unwrap();
    }
    let store = EmbeddedStore::open(&kb).unwrap();
    assert_eq!(store.count_patterns(0).unwrap(), held);
    assert_eq!(store.pattern(0, &lessons.name(3)).unwrap(), None);
}
