//! Forgetting a few patterns of many costs what these cost, and leaves what is derived from the others.

use std::collections::BTreeMap;
use std::fs;
use std::ops::{ControlFlow, Range};
use std::path::{Path, PathBuf};
use std::slice;

use kato_model::batch::BatchSymbol;
use kato_model::{Attributes, FirstSeen, LearnBatch, PatternName};
use kato_store::embedded::EmbeddedOptions;
use kato_store::visit::{SourceSymbols, VisitedPattern};
use kato_store::{EmbeddedStore, MemoryStore, PatternStore, PatternVisitor, StoreError};
use serde_json::{Value, json};

/// Patterns of a segment: more than a look-up reads.
const N: usize = 20_000;

fn words(stem: &str, n: usize) -> [String; 2] {
    [format!("{stem}{n}"), "end".to_owned()]
}

fn name(stem: &str, n: usize) -> PatternName {
    PatternName::of_events(&words(stem, n).map(|word| [word]))
}

/// Commits patterns as a segment of their own.
fn teach(store: &dyn PatternStore, stem: &str, numbers: impl Iterator<Item = usize>) {
    let mut batch = LearnBatch::new(1);
    for n in numbers {
        let symbols = words(stem, n).map(|word| BatchSymbol::Literal(batch.literal(&word)));
        batch.learn(0, name(stem, n), symbols);
    }
    let staged = store.stage(batch.seal()).unwrap();
    store.commit(vec![staged], json!(stem)).unwrap();
}

fn frequencies(store: &EmbeddedStore) -> BTreeMap<PatternName, u64> {
    store
        .scan_frequencies(0)
        .unwrap()
        .map(Result::unwrap)
        .collect()
}

/// The segment files of the newest commit.
fn segment_files(kb: &Path) -> Vec<PathBuf> {
    let mut files = EmbeddedStore::files_of(kb).unwrap().unwrap();
    files.retain(|file| file.extension().is_some_and(|it| it == "seg"));
    files
}

/// Damages every block of a segment of one node but those that hold one of the names, and the last, which
/// tells where names end. Returns how many are left whole.
fn damage_other_blocks(path: &Path, names: &[PatternName]) -> usize {
    let mut bytes = fs::read(path).unwrap();
    let number = |bytes: &[u8]| {
        let number = bytes.iter().rev();
        number.fold(0_usize, |number, &byte| number << 8 | usize::from(byte))
    };
    let tail = bytes.len() - 16;
    let length = number(&bytes[tail..tail + 4]);
    let footer: Value = serde_json::from_slice(&bytes[tail - length..tail]).unwrap();
    let node = &footer["nodes"][0];
    let at = |value: &Value| usize::try_from(value.as_u64().unwrap()).unwrap();
    let index = &bytes[at(&node["index"]["offset"])..][..at(&node["index"]["bytes"])];
    let mut starts: Vec<usize> = index.chunks(20).map(|entry| number(&entry[..8])).collect();
    starts.push(at(&node["blocks_end"]));
    let mut n_left = 0;
    for (nth, block) in starts.windows(2).enumerate() {
        let names_of_block = bytes[block[0]..].chunks(20).take(256);
        let is_asked = |held: &[u8]| names.iter().any(|name| name.as_bytes() == held);
        if nth + 2 == starts.len() || names_of_block.into_iter().any(is_asked) {
            n_left += 1;
        } else {
            bytes[block[1] - 1] ^= 1;
        }
    }
    fs::write(path, bytes).unwrap();
    n_left
}

#[test]
fn only_the_blocks_of_what_is_forgotten_are_read_and_no_segment_is_written() {
    let dir = tempfile::tempdir().unwrap();
    let kb = dir.path().join("kb");
    let store = EmbeddedStore::create(&kb, &["node0"], json!(null)).unwrap();
    teach(&store, "one", 0..N);
    let bytes = store.disk_bytes().unwrap();
    let before = segment_files(&kb);
    drop(store);
    let gone: Vec<PatternName> = (0..10).map(|n| name("one", n * 777)).collect();
    let n_left = damage_other_blocks(&kb.join(&before[0]), &gone);
    assert!(n_left <= gone.len() + 1, "{n_left} of {}", N / 256);

    let store = EmbeddedStore::open(&kb).unwrap();
    assert!(
        store.scan(0).unwrap().any(|pattern| pattern.is_err()),
        "the rest is damaged"
    );
    store
        .forget(slice::from_ref(&gone), json!("forgotten"))
        .unwrap();
    assert_eq!(segment_files(&kb), before);
    let written = store.disk_bytes().unwrap() - bytes;
    assert!(written < 100, "{written} bytes for {} patterns", gone.len());
    assert_eq!(store.totals(0).unwrap().learns, (N - gone.len()) as u64);
    assert_eq!(store.count_patterns(0).unwrap(), (N - gone.len()) as u64);
    assert_eq!(store.pattern(0, &gone[3]).unwrap(), None);
}

#[test]
fn what_is_deleted_goes_with_the_next_merge_and_where_it_is_much_at_once() {
    let dir = tempfile::tempdir().unwrap();
    let kb = dir.path().join("kb");
    let store = EmbeddedStore::create(&kb, &["node0"], json!(null)).unwrap();
    teach(&store, "one", 0..1000);
    teach(&store, "two", 0..1000);
    let holds = |name: PatternName| {
        let files = segment_files(&kb).into_iter();
        let mut bytes = files.map(|file| fs::read(kb.join(file)).unwrap());
        bytes.any(|bytes| bytes.windows(20).any(|held| held == name.as_bytes()))
    };
    let deletions = || {
        let files = EmbeddedStore::files_of(&kb).unwrap().unwrap();
        files
            .iter()
            .filter(|file| file.extension().is_some_and(|it| it == "del"))
            .count()
    };
    let few = [name("one", 7), name("two", 500), name("none", 0)];
    store.forget(&[few.to_vec()], json!(1)).unwrap();
    assert!(holds(few[0]) && holds(few[1]) && deletions() == 1);
    let many: Vec<PatternName> = (0..300).map(|n| name("one", n)).collect();
    store.forget(slice::from_ref(&many), json!(2)).unwrap();
    assert!(!holds(few[0]) && holds(few[1]) && deletions() == 1);
    assert!(store.drop_deleted().unwrap());
    assert!(!holds(few[1]) && deletions() == 0);
    assert!(!store.drop_deleted().unwrap(), "nothing is left to do");
    let expected = (300..1000).map(|n| name("one", n));
    let expected = expected.chain((0..1000).filter(|&n| n != 500).map(|n| name("two", n)));
    assert_eq!(
        frequencies(&store),
        expected.map(|name| (name, 1)).collect()
    );
}

/// Adds up the frequencies that a visit shows, and takes back what is deleted, if it is one that does.
#[derive(Default)]
struct Derived {
    frequencies: BTreeMap<PatternName, u64>,
    takes_back: bool,
}

impl PatternVisitor for Derived {
    fn deleted(&mut self, name: PatternName) -> bool {
        self.takes_back && self.frequencies.remove(&name).is_some()
    }

    fn pattern(&mut self, _: &SourceSymbols<'_>, pattern: &VisitedPattern<'_>) -> ControlFlow<()> {
        *self.frequencies.entry(pattern.name).or_default() += pattern.frequency;
        ControlFlow::Continue(())
    }
}

#[test]
fn what_was_derived_from_sources_is_told_what_was_deleted_of_them_since() {
    let dir = tempfile::tempdir().unwrap();
    let kb = dir.path().join("kb");
    let store = EmbeddedStore::create(&kb, &["node0"], json!(null)).unwrap();
    teach(&store, "one", 0..1000);
    teach(&store, "one", 0..500);
    store.forget(&[vec![name("one", 3)]], json!(1)).unwrap();
    let mut derived = Derived::default();
    store.visit(0, &mut derived).unwrap();
    let known = store.content().sources;
    let whole = frequencies(&store);
    assert_eq!(derived.frequencies, whole);

    store
        .forget(&[vec![name("one", 4), name("one", 700)]], json!(2))
        .unwrap();
    teach(&store, "one", [3, 4, 5].into_iter());
    assert_eq!(store.n_sources_beyond(&known), Some(1));
    assert!(
        !store.visit_beyond(0, &known, &mut derived).unwrap(),
        "it cannot take them back"
    );
    assert_eq!(derived.frequencies, whole, "nothing was shown");
    derived.takes_back = true;
    assert!(store.visit_beyond(0, &known, &mut derived).unwrap());
    assert_eq!(derived.frequencies, frequencies(&store));
    let mut expected = [name("one", 4), name("one", 700)];
    expected.sort_unstable();
    let gone = |store: &EmbeddedStore| store.deleted_beyond(0, &known).unwrap().unwrap();
    // From blocks that this store has read.
    assert_eq!(gone(&store), expected);
    drop(store);
    // The same as what was written tells, from blocks that nobody has read.
    let store = EmbeddedStore::open(&kb).unwrap();
    assert_eq!(gone(&store), expected);
    store.compact().unwrap();
    assert_eq!(store.deleted_beyond(0, &known).unwrap(), None);
}

#[test]
fn a_frequency_that_has_stopped_at_the_largest_number_is_taken_back_exactly() {
    let dir = tempfile::tempdir().unwrap();
    let mut options = EmbeddedOptions::default();
    options.max_deleted_percent = 100;
    let kb = dir.path().join("kb");
    let store = EmbeddedStore::create_with(&kb, &["node0"], json!(null), options).unwrap();
    let mut batch = LearnBatch::new(1);
    for (n, times) in [(0, u64::MAX), (1, 7)] {
        let symbols = words("one", n).map(|word| BatchSymbol::Literal(batch.literal(&word)));
        let occurrence = batch.learn(0, name("one", n), symbols);
        let attributes = Attributes {
            extra_frequency: times - 1,
            ..Attributes::default()
        };
        batch.attach(0, occurrence, attributes);
    }
    let staged = store.stage(batch.seal()).unwrap();
    store.commit(vec![staged], json!(1)).unwrap();
    store.forget(&[vec![name("one", 0)]], json!(2)).unwrap();
    let totals = store.totals(0).unwrap();
    assert_eq!((totals.learns, totals.learned_symbols), (7, 14));
}

#[test]
fn lessons_that_were_not_learned_are_not_taken_back() {
    let dir = tempfile::tempdir().unwrap();
    let kb = dir.path().join("kb");
    let store = EmbeddedStore::create(&kb, &["node0"], json!(null)).unwrap();
    teach(&store, "one", 0..300);
    let mut batch = LearnBatch::new(1);
    let symbols = words("seen", 0).map(|word| BatchSymbol::Literal(batch.literal(&word)));
    let occurrence = batch.learn(0, name("seen", 0), symbols);
    batch.record_first_seen(
        0,
        occurrence,
        FirstSeen {
            document_idx: 3,
            token_idx: 0,
        },
    );
    let staged = store.stage(batch.seal()).unwrap();
    store.commit(vec![staged], json!("learned")).unwrap();
    let before = (frequencies(&store), EmbeddedStore::files_of(&kb).unwrap());
    let refused = |stem: &str, numbers: Range<usize>, what: &str| {
        let lessons = MemoryStore::new(&["node0"], json!(null));
        teach(&lessons, stem, numbers);
        let error = store.unlearn(&lessons, json!("taken back")).unwrap_err();
        assert!(matches!(error, StoreError::NotLearned { .. }), "{error:?}");
        assert!(error.to_string().contains(what), "{error}");
    };
    refused("one", 299..301, "not learned as often");
    refused("two", 0..1, "not learned as often");
    refused("seen", 0..1, "first sighting");
    let other = MemoryStore::new(&["node0", "node1"], json!(null));
    let error = store.unlearn(&other, json!("taken back")).unwrap_err();
    assert!(matches!(error, StoreError::NodeCount { .. }), "{error:?}");
    assert_eq!(
        (frequencies(&store), EmbeddedStore::files_of(&kb).unwrap()),
        before
    );
    assert_eq!(store.checkpoint(), json!("learned"));
}

#[test]
fn a_segment_that_is_to_be_left_alone_stays_while_little_of_all_of_them_goes() {
    let dir = tempfile::tempdir().unwrap();
    let kb = dir.path().join("kb");
    let store = EmbeddedStore::create(&kb, &["node0"], json!(null)).unwrap();
    teach(&store, "large", 0..1000);
    teach(&store, "small", 0..100);
    let known = store.content().sources;
    store.keep_segments(&known);
    let before = segment_files(&kb);
    let forget = |stem: &str, numbers: Range<usize>| {
        let names = numbers.map(|n| name(stem, n)).collect();
        store.forget(&[names], json!(stem)).unwrap();
    };
    forget("small", 0..100);
    assert_eq!(segment_files(&kb), before);
    assert_eq!(store.n_deleted_beyond(0, &known), 100);
    assert!(store.holds_any(0, &[name("large", 40)]).unwrap());
    assert!(!store.holds_any(0, &[name("small", 40)]).unwrap());
    // More than 12 % of both: what is much of one segment goes from its file.
    forget("large", 0..100);
    assert_eq!(segment_files(&kb)[..1], before[..1]);
    forget("large", 100..200);
    assert_ne!(segment_files(&kb)[..1], before[..1]);
    let expected = (200..1000).map(|n| (name("large", n), 1));
    assert_eq!(frequencies(&store), expected.collect());
}

#[test]
fn single_patterns_that_are_forgotten_one_by_one_are_known_as_what_was_written() {
    let dir = tempfile::tempdir().unwrap();
    let kb = dir.path().join("kb");
    let store = EmbeddedStore::create(&kb, &["node0"], json!(null)).unwrap();
    teach(&store, "one", 0..2000);
    let mut known = vec![store.content()];
    let mut written = 0;
    for n in (0..200).rev() {
        store.forget(&[vec![name("one", n)]], json!(n)).unwrap();
        known.push(store.content());
        let files = EmbeddedStore::files_of(&kb).unwrap().unwrap();
        let is_deletions = |file: &&PathBuf| file.extension().is_some_and(|it| it == "del");
        let sizes = files.iter().filter(is_deletions);
        let sizes: Vec<u64> = sizes
            .map(|file| fs::metadata(kb.join(file)).unwrap().len())
            .collect();
        assert!(sizes.is_sorted_by(|a, b| *a > 2 * b), "{sizes:?}");
        written += sizes.last().unwrap();
    }
    // All of it each time would be 45,000, and a hundred times as much for ten times as many.
    assert!(written < 15_000, "{written} bytes");
    drop(store);
    let store = EmbeddedStore::open(&kb).unwrap();
    assert_eq!(store.content(), *known.last().unwrap());
    for (n_before, known) in known.iter().enumerate() {
        let gone = store.deleted_beyond(0, &known.sources).unwrap().unwrap();
        let mut expected: Vec<PatternName> = (0..200 - n_before).map(|n| name("one", n)).collect();
        expected.sort_unstable();
        assert_eq!(gone, expected);
        assert_eq!(store.n_deleted_beyond(0, &known.sources), gone.len() as u64);
    }
}
