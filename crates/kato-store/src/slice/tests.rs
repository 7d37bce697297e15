//! Slices against the store that learns the same batches: equal exports, whatever the cuts.

use std::fs;
use std::path::PathBuf;

use kato_model::batch::BatchSymbol;
use kato_model::{AttributeLimits, Attributes, FirstSeen, LearnBatch, PatternName, SealedBatch};
use proptest::prelude::*;
use serde_json::json;

use super::*;

/// Returns a place in a file as one in memory.
fn at_byte(offset: u64) -> usize {
    usize::try_from(offset).unwrap()
}

use crate::{EmbeddedStore, KnowledgeBase, PatternStore};

const NODES: [&str; 3] = ["node0", "node1", "node2"];

/// Learns chunks of letters, chunks of two of their names, and a name from two levels below.
fn batch(words: &[Vec<u8>], first_sample: u64) -> SealedBatch {
    batch_of(words, first_sample, true)
}

/// Learns the same, with a name that the level below need not hold or a text in its place.
fn batch_of(words: &[Vec<u8>], first_sample: u64, with_unknown: bool) -> SealedBatch {
    let mut batch = LearnBatch::new(3);
    let mut below = Vec::new();
    for (word, document_idx) in words.iter().zip(first_sample..) {
        let texts: Vec<String> = word.iter().map(|letter| format!("t{letter}")).collect();
        let events: Vec<[&str; 1]> = texts.iter().map(|text| [text.as_str()]).collect();
        let symbols: Vec<BatchSymbol> = texts
            .iter()
            .map(|text| BatchSymbol::Literal(batch.literal(text)))
            .collect();
        let name = PatternName::of_events(&events);
        let occurrence = batch.learn(0, name, symbols);
        let token_idx = u64::from(word[0]);
        let seen = FirstSeen {
            document_idx,
            token_idx,
        };
        batch.record_first_seen(0, occurrence, seen);
        if word[0] % 3 == 0 {
            let mut attributes = Attributes::default();
            let title = format!("d{document_idx}");
            attributes.metadata.insert_text("title", title, None);
            batch.attach(0, occurrence, attributes);
        }
        batch.record_document(document_idx, &format!("d{document_idx}"));
        below.push((name, occurrence));
    }
    for (number, pair) in below.chunks_exact(2).enumerate() {
        let names = [pair[0].0, pair[1].0].map(|name| name.prefixed().to_string());
        let events: Vec<[&str; 1]> = names.iter().map(|name| [name.as_str()]).collect();
        let children = [BatchSymbol::Child(pair[0].1), BatchSymbol::Child(pair[1].1)];
        let above = batch.learn(1, PatternName::of_events(&events), children);
        if number % 2 == 0 {
            // A name of the lowest level, which the level between need not hold.
            let name = PatternName::of_events(&events).prefixed().to_string();
            let other = match with_unknown {
                true => names[0].as_str(),
                false => "again",
            };
            let events = [[name.as_str()], [other], [""]];
            let symbols = [
                BatchSymbol::Child(above),
                BatchSymbol::Literal(batch.literal(other)),
                BatchSymbol::Literal(batch.literal("")),
            ];
            batch.learn(2, PatternName::of_events(&events), symbols);
        }
    }
    batch.seal()
}

fn export(store: &EmbeddedStore) -> Vec<u8> {
    let mut bytes = Vec::new();
    for node in KnowledgeBase::all(store) {
        node.export(&mut bytes).unwrap();
        let scan = node
            .scan()
            .unwrap()
            .map(|pattern| pattern.unwrap().first_seen);
        bytes.extend(format!("{:?}", scan.collect::<Vec<_>>()).bytes());
        bytes.extend(format!("{:?}", node.totals().unwrap()).bytes());
        let counts: Vec<_> = node.symbol_counts().unwrap().map(Result::unwrap).collect();
        bytes.extend(format!("{counts:?}").bytes());
    }
    bytes
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn slices_hold_what_a_store_would(
        words in prop::collection::vec(prop::collection::vec(0_u8..6, 2..4), 1..120),
        n_tasks in 1_usize..6,
        n_ranges in 1_u32..6,
        with_unknown in any::<bool>(),
    ) {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: String| dir.path().join(name);
        let limits = AttributeLimits::default();
        let ranges = NameRanges::new(n_ranges).unwrap();
        let store = EmbeddedStore::create(at("whole".into()), &NODES, json!(null)).unwrap();
        let mut documents = Vec::new();
        let mut tasks: Vec<Vec<PathBuf>> = vec![Vec::new(); 3];
        let mut summaries: Vec<Vec<SliceSummary>> = vec![Vec::new(); 3];
        for (task, words) in words.chunks(words.len().div_ceil(n_tasks)).enumerate() {
            let sealed = batch_of(words, task as u64 * 1000, with_unknown);
            documents.extend_from_slice(sealed.documents());
            for node in 0..3 {
                let path = at(format!("task{task}.{node}"));
                summaries[node].push(write_batch(&sealed, node, &limits, ranges, &path).unwrap());
                tasks[node].push(path);
            }
            let staged = store.stage(sealed).unwrap();
            store.commit(vec![staged], json!(task)).unwrap();
        }
        let expected = export(&store);
        // Every range of every level is merged from what a ranged read of it gives, and every range
        // of all levels becomes a segment.
        let scratch = at("scratch".into());
        fs::create_dir(&scratch).unwrap();
        let mut segments = Vec::new();
        for range in 0..n_ranges as usize {
            let mut levels = Vec::new();
            for node in 0..3 {
                let mut inputs = Vec::new();
                for (task, (path, summary)) in tasks[node].iter().zip(&summaries[node]).enumerate() {
                    let bytes = fs::read(path).unwrap();
                    prop_assert_eq!(bytes.len() as u64, summary.bytes());
                    let part = summary.parts[range];
                    let mut fetched = bytes[..at_byte(summary.head_bytes)].to_vec();
                    let end = at_byte(part.offset + part.bytes);
                    fetched.extend_from_slice(&bytes[at_byte(part.offset)..end]);
                    let input = at(format!("in{node}.{range}.{task}"));
                    fs::write(&input, fetched).unwrap();
                    // Fetched by a half, and read in place by the other.
                    inputs.push(match task % 2 {
                        0 => SliceSource::from_file(input),
                        _ => SliceSource::from_ranges(path, summary.ranges_of(range).unwrap()),
                    });
                }
                let shard = at(format!("shard{node}.{range}"));
                let merged = merge(&inputs, &limits, NameRanges::whole(), &shard).unwrap();
                prop_assert_eq!(merged.parts.len(), 1);
                levels.push(vec![shard.into()]);
            }
            let segment = at(format!("segment{range}"));
            let documents = if range == 0 { documents.as_slice() } else { &[] };
            seal(&levels, documents, &limits, &scratch, &segment).unwrap();
            prop_assert_eq!(fs::read_dir(&scratch).unwrap().count(), 0);
            segments.push(segment);
        }
        let made = EmbeddedStore::create_from_segments(
            at("made".into()), &NODES, json!(null), &segments, json!("done"),
        ).unwrap();
        prop_assert_eq!(made.n_segments(), segments.len());
        prop_assert_eq!(export(&made), expected.clone());
        prop_assert_eq!(made.checkpoint(), json!("done"));
        prop_assert_eq!(made.document(0).unwrap(), Some("d0".to_owned()));
        // Compacting brings all children home.
        store.compact().unwrap();
        made.compact().unwrap();
        prop_assert_eq!(export(&made), expected);
        if !with_unknown {
            let segment = |kb: &str| {
                let entry = fs::read_dir(at(kb.into()).join("segments")).unwrap().next().unwrap();
                fs::read(entry.unwrap().path()).unwrap()
            };
            prop_assert!(segment("whole") == segment("made"));
        }
    }

    #[test]
    fn any_damage_is_found(words in prop::collection::vec(prop::collection::vec(0_u8..6, 2..4), 1..20), at in any::<usize>(), flip in 1_u8..) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("slice");
        let limits = AttributeLimits::default();
        write_batch(&batch(&words, 0), 1, &limits, NameRanges::new(3).unwrap(), &path).unwrap();
        let mut bytes = fs::read(&path).unwrap();
        let at = at % bytes.len();
        bytes[at] ^= flip;
        fs::write(&path, &bytes).unwrap();
        let out = dir.path().join("out");
        prop_assert!(merge(&[path.into()], &limits, NameRanges::whole(), &out).is_err());
    }
}

#[test]
fn many_slices_are_merged_in_groups() {
    let dir = tempfile::tempdir().unwrap();
    let limits = AttributeLimits::default();
    let words: Vec<Vec<u8>> = (0..131).map(|n| vec![n % 7, n]).collect();
    assert!(words.len() > 2 * MAX_INPUTS);
    let mut inputs = Vec::new();
    for (task, word) in words.iter().enumerate() {
        let path = dir.path().join(format!("task{task}"));
        let sealed = batch(std::slice::from_ref(word), task as u64);
        write_batch(&sealed, 0, &limits, NameRanges::whole(), &path).unwrap();
        inputs.push(path.into());
    }
    let (one, all) = (dir.path().join("one"), dir.path().join("all"));
    let sealed = batch(&words, 0);
    let expected = write_batch(&sealed, 0, &limits, NameRanges::new(4).unwrap(), &one).unwrap();
    let merged = merge(&inputs, &limits, NameRanges::new(4).unwrap(), &all).unwrap();
    assert_eq!(merged, expected);
    assert_eq!(fs::read(one).unwrap(), fs::read(all).unwrap());
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), inputs.len() + 2);
}

#[test]
fn more_slices_than_two_rounds_of_groups_take_are_merged() {
    let dir = tempfile::tempdir().unwrap();
    let limits = AttributeLimits::default();
    let one = dir.path().join("one");
    let sealed = batch(&[vec![1, 1]], 0);
    let written = write_batch(&sealed, 0, &limits, NameRanges::whole(), &one).unwrap();
    let inputs = vec![SliceSource::from_file(&one); MAX_INPUTS * MAX_INPUTS + 1];
    let all = dir.path().join("all");
    let merged = merge(&inputs, &limits, NameRanges::whole(), &all).unwrap();
    assert_eq!(merged.patterns(), written.patterns());
    assert_eq!(merged.learns(), inputs.len() as u64 * written.learns());
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 2);
}

#[test]
fn a_file_that_lacks_a_part_is_not_taken_for_one_without_patterns() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("slice");
    let limits = AttributeLimits::default();
    let sealed = batch(&[vec![1, 1], vec![2, 1], vec![4, 1]], 0);
    let summary = write_batch(&sealed, 0, &limits, NameRanges::whole(), &path).unwrap();
    let part = summary.parts[0];
    // Apart, as where another part lies between them.
    let ranges = [0..part.offset, part.offset..part.offset + part.bytes];
    let source = SliceSource::from_ranges(&path, ranges);
    let merged = |name: &str| {
        let out = dir.path().join(name);
        merge(
            std::slice::from_ref(&source),
            &limits,
            NameRanges::whole(),
            &out,
        )
    };
    assert_eq!(merged("whole").unwrap(), summary);
    // Cut where a block begins, which is where a slice might end.
    let file = fs::File::options().write(true).open(&path).unwrap();
    file.set_len(part.offset).unwrap();
    let error = merged("cut").unwrap_err().to_string();
    assert!(error.contains("slice"), "{error}");
}

#[test]
fn two_sides_are_compared_name_by_name() {
    let dir = tempfile::tempdir().unwrap();
    let limits = AttributeLimits::default();
    let slice = |name: &str, words: &[Vec<u8>]| {
        let path = dir.path().join(name);
        let sealed = batch(words, 0);
        write_batch(&sealed, 0, &limits, NameRanges::whole(), &path).unwrap();
        path
    };
    let a = slice("a", &[vec![1, 1], vec![2, 1], vec![2, 1], vec![4, 1]]);
    let b = slice("b", &[vec![1, 1], vec![2, 1], vec![5, 1]]);
    let sides = [vec![a.into()], vec![b.into()]];
    let difference = compare(&sides[0], &sides[1], &limits).unwrap();
    let expected = SliceDifference {
        only_left: 1,
        only_right: 1,
        changed: 1,
        equal: 1,
        left_learns: 4,
        right_learns: 3,
    };
    assert_eq!(difference, expected);
    let same = compare(&sides[0], &sides[0], &limits).unwrap();
    assert_eq!((same.equal, same.changed), (3, 0));
    assert_eq!((same.only_left, same.only_right), (0, 0));
    let nothing = compare(&sides[0], &[], &limits).unwrap();
    assert_eq!((nothing.only_left, nothing.right_learns), (3, 0));
}
