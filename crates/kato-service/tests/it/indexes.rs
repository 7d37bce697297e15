//! Nodes over indexes on the disk answer as nodes in memory do, whatever becomes of the indexes.

use std::fs::{self, File};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use kato_engine::node::Lesson;
use kato_engine::{EngineError, Observation, Sequence};
use kato_model::{Event, PatternName};
use kato_service::clock::ManualClock;
use kato_service::indexes::IndexReport;
use kato_service::{Durability, Service, ServiceError, ServiceOptions};
use kato_store::{EmbeddedStore, PatternStore};
use serde_json::{Value, json};

use crate::support::{copy, create, known, object, timed, words};

const NODE: &str = "n";

/// A service over indexes, and one that never has any: both are taught the same.
struct Twins {
    dir: tempfile::TempDir,
    clock: Arc<ManualClock>,
    service: Service,
    id: String,
    twin: Service,
    twin_id: String,
    n_taught: usize,
}

/// Options with which an index is due after so many patterns.
fn options(after: u64) -> (ServiceOptions, Arc<ManualClock>) {
    let (options, clock) = timed();
    let options = options
        .with_durability(Durability::Os)
        .with_index_after_patterns(after)
        // So little that lists take several rounds.
        .with_index_sort_memory(4096);
    (options, clock)
}

impl Twins {
    fn new(after: u64) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let (options, clock) = options(after);
        let service = Service::open(dir.path(), options).unwrap();
        let twin = Service::in_memory(ServiceOptions::default());
        let (id, twin_id) = (create(&service, NODE), create(&twin, NODE));
        Self {
            dir,
            clock,
            service,
            id,
            twin,
            twin_id,
            n_taught: 0,
        }
    }

    /// Opens the service again, with other options.
    fn reopen_with(&mut self, options: ServiceOptions) {
        // One handle only: the directory can be opened again once it is gone.
        self.service = Service::in_memory(ServiceOptions::default());
        self.service = Service::open(self.dir.path(), options).unwrap();
    }

    /// Closes the service, and opens it again.
    fn reopen(&mut self, after: u64) {
        self.service.close().unwrap();
        self.abandon(after);
    }

    /// Opens the service again without closing it, as after a crash.
    fn abandon(&mut self, after: u64) {
        let (options, clock) = options(after);
        self.clock = clock;
        self.reopen_with(options);
    }

    /// Teaches both so many lessons, a third of which they know.
    fn teach(&mut self, n_lessons: usize) {
        let lessons: Vec<Lesson> = (self.n_taught..self.n_taught + n_lessons)
            .map(|n| random_lesson(if n % 3 == 2 { n / 2 } else { n }))
            .collect();
        self.n_taught += n_lessons;
        for (service, id) in [(&self.service, &self.id), (&self.twin, &self.twin_id)] {
            let learned = service.learn_batch(id, lessons.clone(), None);
            learned.unwrap().wait().unwrap();
        }
    }

    /// Moves what was learned into the store.
    fn fold(&self) {
        self.clock.advance(Duration::from_secs(61));
        self.service.maintain().unwrap();
    }

    fn write_indexes(&self) -> IndexReport {
        self.service.write_indexes()
    }

    /// Loads the node, folds, and writes the index, which must be due.
    fn index(&self) {
        self.memory();
        self.fold();
        let report = self.write_indexes();
        assert_eq!((report.written.len(), report.faults), (1, Vec::new()));
        assert!(report.written[0].is_in_use);
    }

    /// Compares all answers.
    fn check(&self) {
        assert_eq!(
            answers(&self.service, &self.id),
            answers(&self.twin, &self.twin_id)
        );
        assert_eq!(known(&self.service, NODE), known(&self.twin, NODE));
        for n in 0..self.n_taught.min(20) {
            let name = random_lesson(n).pattern_name().unwrap().to_string();
            let record = |service: &Service| service.pattern(NODE, &name).unwrap();
            assert_eq!(record(&self.service), record(&self.twin));
        }
    }

    fn kb(&self) -> PathBuf {
        self.dir.path().join("nodes").join("n_kato")
    }

    /// The directories of the indexes that there are.
    fn indexes(&self) -> Vec<PathBuf> {
        let Ok(entries) = fs::read_dir(self.kb().join("index")) else {
            return Vec::new();
        };
        let paths = entries.map(|entry| entry.unwrap().path());
        paths.filter(|path| path.is_dir()).collect()
    }

    /// The bytes of memory that the node takes once it is loaded.
    fn memory(&self) -> usize {
        self.service.stm(&self.id).unwrap();
        self.service.figures().knowledge_bytes
    }
}

/// A lesson that a number decides: up to six words of a vocabulary in which some are frequent.
fn random_lesson(number: usize) -> Lesson {
    let mut state = number as u64 + 1;
    let mut draw = |n: u64| {
        // SplitMix64.
        state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = state;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (z ^ (z >> 31)) % n
    };
    let length = 2 + draw(5);
    let word = |draw: &mut dyn FnMut(u64) -> u64| format!("w{}", draw(12).min(draw(12)));
    let events = (0..length).map(|_| match draw(10) {
        0 => Event::new([word(&mut draw), word(&mut draw)]),
        _ => Event::new([word(&mut draw)]),
    });
    Lesson::new(events.collect::<Vec<_>>())
}

/// What a session is answered in some states, whole.
fn answers(service: &Service, id: &str) -> Vec<Value> {
    let states: [&[&str]; 6] = [
        &["w0"],
        &["w0", "w1"],
        &["w3", "w0", "w1", "w0"],
        &["w7", "unheard", "w2"],
        &["w1", "w1", "w4", "w0", "w2", "w5", "w0"],
        &["unheard"],
    ];
    let ask = |state: &&[&str]| {
        service.clear_stm(id, None).unwrap().wait().unwrap();
        for word in *state {
            let observed = service.observe(id, Observation::strings([*word]), None);
            observed.unwrap().wait().unwrap();
        }
        serde_json::to_value(service.predictions(id).unwrap().predictions).unwrap()
    };
    let answers = states.iter().map(ask).collect();
    service.clear_stm(id, None).unwrap().wait().unwrap();
    answers
}

/// Replaces a file by another one, which leaves maps of the old one as they are.
fn replace(path: &Path, bytes: &[u8]) {
    let new = path.with_extension("new");
    fs::write(&new, bytes).unwrap();
    fs::rename(new, path).unwrap();
}

#[test]
fn answers_stay_the_same_while_a_node_learns_is_indexed_and_opened_again() {
    let mut twins = Twins::new(50);
    let mut n_written = 0;
    for round in 0..14 {
        twins.teach(25);
        twins.check();
        // Some lessons are in the journal alone, some folded, some indexed.
        if round % 2 == 0 {
            twins.fold();
        }
        let report = twins.write_indexes();
        assert_eq!(report.faults, []);
        n_written += report.written.len();
        twins.check();
        match round % 5 {
            1 => twins.reopen(50),
            3 => twins.abandon(50),
            _ => continue,
        }
        twins.check();
    }
    assert!((3..7).contains(&n_written), "{n_written}");
    // The last one adds to another, and those before are gone.
    assert_eq!(twins.indexes().len(), 2);
}

#[test]
fn a_node_that_is_indexed_takes_the_memory_of_what_is_new() {
    let mut twins = Twins::new(1000);
    twins.teach(1500);
    // What is not folded takes memory as well.
    twins.fold();
    let before = twins.memory();
    twins.index();
    let over_index = twins.memory();
    assert!(over_index * 5 < before, "{over_index} of {before}");
    twins.check();
    twins.teach(5);
    let with_news = twins.memory();
    assert!(with_news > over_index && with_news * 4 < before);
    twins.check();
    twins.reopen(1000);
    assert!(twins.memory() * 4 < before);
    twins.check();
    // Without indexes it is loaded, and answers the same.
    twins.service.close().unwrap();
    let (options, _) = options(1000);
    twins.reopen_with(options.with_indexes(false));
    assert!(twins.memory() * 5 > before * 4);
    assert_eq!(twins.write_indexes(), IndexReport::default());
    twins.check();
}

#[test]
fn an_index_is_written_after_so_many_new_patterns_and_a_share_of_those_before() {
    let mut twins = Twins::new(100);
    let n_written = |twins: &Twins| {
        twins.fold();
        twins.write_indexes().written.len()
    };
    let is_due = |twins: &mut Twins, n_lessons| {
        twins.teach(n_lessons);
        n_written(twins) > 0
    };
    assert!(!is_due(&mut twins, 20));
    assert!(is_due(&mut twins, 2_000));
    let n_patterns = |twins: &Twins| {
        let store = EmbeddedStore::open_read_only(twins.kb()).unwrap();
        store.count_patterns(0).unwrap()
    };
    // A tenth of more than a thousand patterns is more than a hundred.
    assert!(n_patterns(&twins) > 1_060);
    assert!(!is_due(&mut twins, 105));
    assert!(is_due(&mut twins, 150));
    // Nothing new, nothing to do.
    assert_eq!(n_written(&twins), 0);
    let figures = twins.service.figures();
    assert_eq!((figures.indexes_written, figures.index_faults), (2, 0));
    twins.check();
}

#[test]
fn a_purge_leaves_the_index_and_the_memory_that_there_are() {
    let mut twins = Twins::new(1000);
    twins.teach(1500);
    twins.fold();
    let loaded = twins.memory();
    twins.index();
    let indexes = twins.indexes();
    let names = |numbers: Range<usize>| -> Vec<PatternName> {
        numbers
            .map(|n| random_lesson(n).pattern_name().unwrap())
            .collect()
    };
    // One by one, and several at once; some of these, learned since, are not in the index.
    twins.teach(5);
    for gone in [names(0..1), names(1..2), names(2..12), names(1500..1502)] {
        for (service, id) in [(&twins.service, &twins.id), (&twins.twin, &twins.twin_id)] {
            service.retire(id, &gone, None).unwrap().wait().unwrap();
            service
                .purge(id, Some(&gone), gone.len(), None)
                .unwrap()
                .wait()
                .unwrap();
        }
        twins.check();
        assert_eq!(twins.indexes(), indexes);
        assert!(twins.memory() * 4 < loaded);
    }
    twins.abandon(1000);
    twins.check();
    assert!(twins.memory() * 4 < loaded);
    // What was purged is learned again.
    for (service, id) in [(&twins.service, &twins.id), (&twins.twin, &twins.twin_id)] {
        service
            .unretire(id, &names(0..4), None)
            .unwrap()
            .wait()
            .unwrap();
        let again = (0..4).map(random_lesson).collect();
        service
            .learn_batch(id, again, None)
            .unwrap()
            .wait()
            .unwrap();
    }
    twins.check();
    twins.reopen(1);
    twins.check();
    assert_eq!(twins.indexes(), indexes);
    // The next index has it, whatever was deleted below.
    twins.teach(700);
    twins.index();
    twins.check();
}

#[test]
fn indexes_that_a_crash_cut_off_are_none() {
    let mut twins = Twins::new(1000);
    twins.teach(300);
    twins.service.close().unwrap();
    twins.abandon(1);
    twins.index();
    let [index] = &twins.indexes()[..] else {
        panic!("there is one index")
    };
    let files = || {
        let mut files: Vec<_> = fs::read_dir(index)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .collect();
        files.sort();
        files
    };
    let whole = tempfile::tempdir().unwrap();
    copy(index, whole.path());
    let n_files = files().len();
    twins.service.close().unwrap();
    // Some of the files, some of them cut off: what a kill leaves at any moment of the writing.
    for n_left in [0, 1, n_files / 2, n_files] {
        let building = twins.kb().join("index").join("building");
        copy(whole.path(), &building);
        for (n, file) in files().iter().enumerate() {
            let file = building.join(file.file_name().unwrap());
            match n {
                n if n >= n_left => fs::remove_file(file).unwrap(),
                n if n + 1 == n_left => {
                    let half = fs::read(&file).unwrap();
                    fs::write(&file, &half[..half.len() / 2]).unwrap();
                }
                _ => {}
            }
        }
        fs::remove_dir_all(index).unwrap();
        twins.abandon(1);
        twins.check();
        // It is no fault that an index was not finished, and none of it is left.
        assert!(twins.indexes().is_empty(), "{n_left}");
        let report = twins.write_indexes();
        assert_eq!((report.written.len(), report.faults), (1, Vec::new()));
        twins.check();
        twins.service.close().unwrap();
        assert_eq!(&twins.indexes(), std::slice::from_ref(index));
    }
}

/// What is done to the bytes of a file.
type Damage = fn(&mut Vec<u8>);

#[test]
fn damage_is_reported_and_the_index_written_again() {
    let mut twins = Twins::new(1000);
    twins.teach(300);
    twins.service.close().unwrap();
    twins.abandon(1);
    twins.index();
    let damage: [(&str, Damage); 6] = [
        ("INDEX", |bytes| bytes[10] ^= 1),
        ("INDEX", |bytes| bytes.truncate(100)),
        ("CHECKSUMS", |bytes| bytes[0] ^= 1),
        ("0.names", |bytes| bytes.truncate(100)),
        // These are found when they are read.
        ("0.names", |bytes| bytes.fill(0)),
        ("0.held_lists", |bytes| bytes.fill(0xFF)),
    ];
    for (n, (file, damage)) in damage.into_iter().enumerate() {
        twins.service.close().unwrap();
        let [index] = &twins.indexes()[..] else {
            panic!("there is one index")
        };
        let path = index.join(file);
        let mut bytes = fs::read(&path).unwrap();
        damage(&mut bytes);
        replace(&path, &bytes);
        // So many that only what was damaged is written again.
        twins.abandon(1_000_000);
        twins.check();
        // Between the damage and the next index.
        twins.teach(4);
        twins.check();
        twins.fold();
        let report = twins.write_indexes();
        assert_eq!(report.faults.len(), 1, "{n} {file}: {report:?}");
        assert_eq!(report.faults[0].node_id, NODE);
        assert_eq!(report.faults[0].path, twins.kb());
        assert_eq!(report.written.len(), 1, "{n} {file}");
        assert!(report.written[0].is_in_use);
        twins.check();
        twins.reopen(1_000_000);
        twins.check();
        assert_eq!(twins.write_indexes(), IndexReport::default(), "{n} {file}");
    }
}

#[test]
fn folds_merge_no_segment_that_is_indexed() {
    let mut twins = Twins::new(100);
    twins.teach(300);
    twins.index();
    let indexes = twins.indexes();
    for _ in 0..12 {
        twins.teach(3);
        twins.fold();
    }
    assert_eq!(twins.write_indexes(), IndexReport::default());
    let store = EmbeddedStore::open_read_only(twins.kb()).unwrap();
    assert!((2..=9).contains(&store.n_segments()), "merged, in part");
    assert!(kato_prediction::disk::open(&store).unwrap().is_some());
    twins.reopen(100);
    assert_eq!(twins.indexes(), indexes);
    twins.check();
    // The next index is of one segment more, however many there were.
    twins.teach(200);
    twins.index();
    let store = EmbeddedStore::open_read_only(twins.kb()).unwrap();
    assert_eq!(store.n_segments(), 2);
    twins.check();
}

#[test]
fn an_index_is_of_use_until_the_next_is_written() {
    let mut twins = Twins::new(50);
    let n_indexed = |twins: &Twins| {
        let store = EmbeddedStore::open_read_only(twins.kb()).unwrap();
        let index = kato_prediction::disk::open(&store).unwrap();
        (
            index.map_or(0, |index| index.n_patterns()),
            store.n_segments(),
        )
    };
    for _ in 0..20 {
        for _ in 0..3 {
            twins.teach(50);
            twins.fold();
        }
        let before = n_indexed(&twins);
        // The writing fails after segments were merged, and the service is killed.
        let dir = twins.kb().join("index");
        fs::create_dir_all(&dir).unwrap();
        let lock = File::create(dir.join("LOCK")).unwrap();
        lock.lock().unwrap();
        twins.memory();
        assert_eq!(twins.write_indexes().faults.len(), 1);
        drop(lock);
        let after = n_indexed(&twins);
        assert!(after.1 < before.1, "{before:?} {after:?}");
        // But for the merge of all, which is seldom.
        let merged_all = after.1 <= 4 && before.1 > 16;
        assert!(merged_all || after.0 == before.0, "{before:?} {after:?}");
        let (options, clock) = options(50);
        twins.clock = clock;
        twins.reopen_with(options.with_index_after_percent(0));
        twins.index();
        assert!(n_indexed(&twins).1 <= 16 + 1);
    }
    twins.check();
}

#[test]
fn an_index_whose_segment_was_merged_is_passed_over_and_written_again() {
    let mut twins = Twins::new(50);
    twins.teach(200);
    twins.index();
    twins.teach(30);
    twins.service.close().unwrap();
    // Somebody else compacts the knowledge base, as a release before would.
    twins.service = Service::in_memory(ServiceOptions::default());
    EmbeddedStore::open(twins.kb()).unwrap().compact().unwrap();
    twins.abandon(50);
    twins.check();
    assert!(twins.indexes().is_empty(), "it is of no use any more");
    let report = twins.write_indexes();
    assert_eq!((report.written.len(), report.faults), (1, Vec::new()));
    twins.check();
    twins.reopen(50);
    twins.check();
    assert_eq!(twins.write_indexes(), IndexReport::default());
}

#[test]
fn a_cleared_node_begins_anew() {
    let mut twins = Twins::new(50);
    for _ in 0..2 {
        twins.teach(150);
        twins.index();
        for (service, id) in [(&twins.service, &twins.id), (&twins.twin, &twins.twin_id)] {
            service.clear_all(id, None).unwrap().wait().unwrap();
        }
        assert!(twins.indexes().is_empty());
        twins.check();
        assert_eq!(twins.write_indexes(), IndexReport::default());
        // The same patterns and others.
        twins.n_taught -= 75;
        twins.teach(150);
        twins.check();
        twins.index();
        twins.check();
        twins.reopen(50);
        twins.check();
    }
}

#[test]
fn learning_asking_and_clearing_go_on_while_indexes_are_written() {
    let mut twins = Twins::new(1);
    twins.teach(100);
    twins.fold();
    for round in 0..3 {
        let is_done = AtomicBool::new(false);
        let service = twins.service.clone();
        let n_written = thread::scope(|scope| {
            let writing = scope.spawn(|| {
                let mut n_written = 0;
                loop {
                    // Once more when all is learned, as everything may be learned before the first
                    // is begun.
                    let is_last = is_done.load(Ordering::Relaxed);
                    let report = service.write_indexes();
                    assert_eq!(report.faults, []);
                    n_written += report.written.len();
                    if is_last {
                        break n_written;
                    }
                }
            });
            for step in 0..6 {
                twins.teach(20);
                twins.check();
                twins.fold();
                if (round, step) == (1, 3) {
                    for (service, id) in
                        [(&twins.service, &twins.id), (&twins.twin, &twins.twin_id)]
                    {
                        service.clear_all(id, None).unwrap().wait().unwrap();
                    }
                }
                twins.check();
            }
            is_done.store(true, Ordering::Relaxed);
            writing.join().unwrap()
        });
        drop(service);
        assert!(n_written > 0);
        twins.check();
        twins.reopen(1);
        twins.check();
    }
}

#[test]
fn nothing_is_written_once_it_was_stopped() {
    let mut twins = Twins::new(1);
    twins.teach(50);
    twins.fold();
    twins.service.stop_writing_indexes();
    assert_eq!(twins.write_indexes(), IndexReport::default());
    assert!(twins.indexes().is_empty());
    twins.check();
    twins.reopen(1);
    twins.check();
    assert_eq!(twins.write_indexes().written.len(), 1);
}

#[test]
fn a_node_that_does_not_fit_into_memory_is_asked_over_its_index() {
    let mut twins = Twins::new(1_000_000);
    twins.teach(1500);
    let of_all = twins.memory();
    twins.service.close().unwrap();
    let limit = of_all / 4;
    let (options, clock) = options(1_000_000);
    twins.clock = clock;
    twins.reopen_with(options.with_max_knowledge_memory(limit));
    assert!(twins.memory() <= limit, "it was indexed before it was used");
    assert_eq!(twins.indexes().len(), 1);
    assert_eq!(twins.service.figures().indexes_written, 1);
    twins.check();
    // It learns on, until that takes too much, and goes on when the next index is there.
    let (mut n_full, mut n_written) = (0, 0);
    for _ in 0..30 {
        let more: Vec<Lesson> = (0..40)
            .map(|n| {
                let words = [format!("a{}", twins.n_taught), format!("b{n}")];
                Lesson::new(words.map(|word| Event::new([word])))
            })
            .collect();
        twins.n_taught += 40;
        let teach = |service: &Service, id: &str| {
            let receipt = service.learn_batch(id, more.clone(), None)?;
            receipt.wait()
        };
        if let Err(error) = teach(&twins.service, &twins.id) {
            assert!(
                matches!(error, ServiceError::KnowledgeMemoryFull { .. }),
                "{error}"
            );
            n_full += 1;
            twins.fold();
            n_written += twins.write_indexes().written.len();
            teach(&twins.service, &twins.id).unwrap();
        }
        teach(&twins.twin, &twins.twin_id).unwrap();
    }
    assert!(n_full > 0 && n_written > 0, "{n_full} {n_written}");
    let n_in_all = twins.service.figures().indexes_written;
    assert_eq!(n_in_all, 1 + n_written as u64);
    twins.n_taught = 1500;
    twins.check();
    twins.service.close().unwrap();
    let (options, _) = self::options(1_000_000);
    twins.reopen_with(options.with_max_knowledge_memory(limit));
    twins.check();
    assert!(twins.memory() <= limit);
}

#[test]
fn a_damaged_index_of_what_does_not_fit_into_memory_is_an_error_until_it_is_written_again() {
    let mut twins = Twins::new(1_000_000);
    twins.teach(1500);
    let limit = twins.memory() / 4;
    let limited = || {
        let (options, clock) = options(1_000_000);
        (options.with_max_knowledge_memory(limit), clock)
    };
    twins.service.close().unwrap();
    twins.reopen_with(limited().0);
    twins.check();
    twins.service.close().unwrap();
    let names = twins.indexes()[0].join("0.symbols");
    let mut bytes = fs::read(&names).unwrap();
    bytes.fill(0xFF);
    replace(&names, &bytes);
    let (options, clock) = limited();
    twins.clock = clock;
    twins.reopen_with(options);
    for word in ["w0", "w1"] {
        let observed = twins
            .service
            .observe(&twins.id, Observation::strings([word]), None);
        observed.unwrap().wait().unwrap();
    }
    let unread = twins.service.predictions(&twins.id).unwrap_err();
    let ServiceError::Node { node_id, source } = &unread else {
        panic!("{unread}");
    };
    assert_eq!(node_id, NODE);
    assert!(matches!(source, EngineError::Unreadable { .. }), "{source}");
    let report = twins.write_indexes();
    assert_eq!((report.written.len(), report.faults.len()), (1, 1));
    twins.check();
    assert!(twins.memory() <= limit);
}

#[test]
fn what_an_index_does_not_hold_stays_in_memory() {
    let mut twins = Twins::new(1);
    twins.teach(60);
    twins.index();
    // Finalized training lasts as long as the node is in memory, and the index is for the next opening.
    for (service, id) in [(&twins.service, &twins.id), (&twins.twin, &twins.twin_id)] {
        service.finalize_training(id).unwrap();
    }
    twins.teach(60);
    twins.check();
    twins.fold();
    let report = twins.write_indexes();
    assert_eq!(report.written.len(), 1);
    assert!(!report.written[0].is_in_use);
    twins.check();
    // Emotives are in no index: the one before goes on to serve.
    let joy = object(json!({"joy": 0.25}));
    let emotives = joy.into_iter().map(|(k, v)| (k, v.as_f64().unwrap()));
    let mut observations = words(["w0", "w1", "w2"]);
    observations[0].emotives = emotives.collect();
    for (service, id) in [(&twins.service, &twins.id), (&twins.twin, &twins.twin_id)] {
        let sequence = Sequence::new(observations.clone()).learn_at_end();
        let learned = service.observe_sequence(id, sequence, None);
        learned.unwrap().wait().unwrap();
        service.clear_stm(id, None).unwrap().wait().unwrap();
    }
    twins.check();
    twins.fold();
    assert_eq!(twins.write_indexes(), IndexReport::default());
    assert_eq!(twins.indexes().len(), 1);
    twins.check();
}
