//! Learning while it answers: what is learned, who sees it when, and what a commit holds.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use kato::index::BuildOptions;
use kato::learner::TextDocument;
use kato::prelude::*;
use kato::store::KnowledgeBase;
use kato::{GenerationOptions, IndexPolicy, OpenOptions};
use tempfile::TempDir;

use super::{corpus, knowledge, training};

fn rules(chunk_sizes: &[usize]) -> HierarchicalConceptLearner {
    HierarchicalConceptLearner::builder(kato::tokenizer::gpt2())
        .with_chunk_sizes(chunk_sizes.iter().copied())
        .build()
        .unwrap()
}

/// Texts of the documents of [`corpus`].
fn texts(place: &TempDir) -> Vec<String> {
    let lines = std::fs::read_to_string(corpus(place)).unwrap();
    let text = |line: &str| {
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        line["text"].as_str().unwrap().to_owned()
    };
    lines.lines().map(text).collect()
}

/// All nodes as they are exported.
fn export(kb: &Path) -> Vec<Vec<u8>> {
    let store = EmbeddedStore::open_read_only(kb).unwrap();
    let node = |name: &String| {
        let mut lines = Vec::new();
        let node = KnowledgeBase::new(&store, name).unwrap();
        node.export(&mut lines).unwrap();
        lines
    };
    store.nodes().iter().map(node).collect()
}

#[test]
fn learning_documents_is_training_on_them_byte_for_byte() {
    let place = tempfile::tempdir().unwrap();
    let (trained, learned) = (place.path().join("trained"), place.path().join("learned"));
    let report = training(&trained, &corpus(&place)).run().unwrap();
    let hierarchy = OpenOptions::new()
        .create(&learned, &rules(&[3, 2]))
        .unwrap();
    let n_tokens = AtomicU64::new(0);
    let texts = texts(&place);
    thread::scope(|scope| {
        // From three threads, the last document first, with commits between.
        for share in 0..3 {
            let (hierarchy, texts, n_tokens) = (&hierarchy, &texts, &n_tokens);
            scope.spawn(move || {
                for text in texts.iter().rev().skip(share).step_by(3) {
                    let done = hierarchy.learn(text.as_str()).unwrap();
                    n_tokens.fetch_add(done.n_tokens as u64, Ordering::Relaxed);
                }
                hierarchy.commit().unwrap();
            });
        }
    });
    drop(hierarchy);
    assert_eq!(n_tokens.into_inner(), report.tokens);
    assert!(export(&trained).iter().all(|node| !node.is_empty()));
    assert_eq!(export(&learned), export(&trained));
}

#[test]
fn metadata_is_learned_as_training_learns_it() {
    let place = tempfile::tempdir().unwrap();
    let recording = Recording {
        metadata: true,
        ..Recording::default()
    };
    let rules = HierarchicalConceptLearner::builder(kato::tokenizer::gpt2())
        .with_chunk_sizes([3, 2])
        .with_recording(recording)
        .build()
        .unwrap();
    let document = TextDocument {
        document_idx: 0,
        id: "tale",
        text: "the cat sat on the mat and slept",
        metadata: &[("source", "tale")],
    };
    let [one, other] = ["one", "other"].map(|name| place.path().join(name));
    let hierarchy = OpenOptions::new().create(&one, &rules).unwrap();
    hierarchy.learn(document).unwrap();
    hierarchy.commit().unwrap();

    let store = OpenOptions::new().create(&other, &rules).unwrap();
    let store = store.engine().store().unwrap();
    let (mut batch, mut scratch) = (rules.new_batch(), rules.new_scratch());
    rules.learn(document, &mut batch, &mut scratch).unwrap();
    let staged = store.stage(batch.seal()).unwrap();
    store.commit(vec![staged], serde_json::Value::Null).unwrap();
    assert_eq!(export(&one), export(&other));
    assert!(String::from_utf8_lossy(&export(&one)[0]).contains("tale"));
}

#[test]
fn every_handle_sees_what_is_learned_before_it_is_committed() {
    let place = tempfile::tempdir().unwrap();
    let kb = place.path().join("kb");
    let learning = OpenOptions::new().create(&kb, &rules(&[3, 2])).unwrap();
    let asking = learning.clone();
    let learned = learning.learn("the cat sleeps on the mat").unwrap();
    assert_eq!(learned.levels.len(), 2);
    assert_eq!(
        (learned.levels[0].n_new(), learned.levels[1].n_new()),
        (2, 1)
    );
    let generation = asking.generate("the cat", &GenerationOptions::default());
    assert_eq!(generation.unwrap().text, " sleeps on the mat");
    // Not yet in the directory.
    let n_stored = || kato::open(&kb).unwrap().nodes()[0].totals().learns;
    assert_eq!(n_stored(), 0);
    asking.commit().unwrap();
    assert_eq!(n_stored(), 2);
    // What is known already counts once more, and is not new.
    let again = learning.learn("the cat sleeps on the mat").unwrap();
    assert_eq!((again.levels[0].n_new(), again.levels[1].n_new()), (0, 0));
    let names = |learned: &kato::Learned| learned.levels[0].names().collect::<Vec<_>>();
    assert_eq!(names(&again), names(&learned));
}

#[test]
fn no_commit_falls_between_the_levels_of_a_document() {
    const COMMITS: usize = 40;
    let place = tempfile::tempdir().unwrap();
    let kb = place.path().join("kb");
    let hierarchy = OpenOptions::new().create(&kb, &rules(&[3, 2, 2])).unwrap();
    // 480 tokens: a document makes 160, 80 and 40 learn calls, so most of the time is spent in them.
    let text = ["a b c d e f g h i j k l"; 40].join(" ");
    let is_done = AtomicBool::new(false);
    let n_documents = AtomicU64::new(1);
    // The first makes the learner, which takes longer than many commits.
    hierarchy.learn(text.as_str()).unwrap();
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                while !is_done.load(Ordering::Relaxed) {
                    hierarchy.learn(text.as_str()).unwrap();
                    n_documents.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        let learns: Vec<[u64; 3]> = (0..COMMITS)
            .map(|_| {
                hierarchy.commit().unwrap();
                let store = hierarchy.engine().store().unwrap();
                [0, 1, 2].map(|level| store.totals(level).unwrap().learns)
            })
            .collect();
        // Before anything is asserted, or the learners would never end.
        is_done.store(true, Ordering::Relaxed);
        for learns in learns {
            assert_eq!(learns[0] % 160, 0, "{learns:?}");
            assert_eq!(learns, [4 * learns[2], 2 * learns[2], learns[2]]);
        }
    });
    hierarchy.commit().unwrap();
    let store = EmbeddedStore::open_read_only(&kb).unwrap();
    let learned = 40 * n_documents.into_inner();
    assert!(learned > 40, "something is learned between the commits");
    assert_eq!(store.totals(2).unwrap().learns, learned);
}

#[test]
fn what_is_learned_behind_an_index_leaves_it_of_use() {
    let place = tempfile::tempdir().unwrap();
    let (kb, source) = (place.path().join("kb"), corpus(&place));
    training(&kb, &source).run().unwrap();
    let build = BuildOptions::default();
    let keep = |store: &EmbeddedStore| kato::index::keep(store, IndexPolicy::Require, &build);
    keep(&EmbeddedStore::open(&kb).unwrap()).unwrap();
    let hierarchy = OpenOptions::new().for_writing().open(&kb).unwrap();
    // More commits than segments may lie side by side: they are merged, and with them what is not spared.
    for number in 0..200 {
        hierarchy
            .learn(format!("{number} birds sat on a wall").as_str())
            .unwrap();
        hierarchy.commit().unwrap();
    }
    drop(hierarchy);
    let store = EmbeddedStore::open_read_only(&kb).unwrap();
    assert!(kato::index::find(&store).index.is_some());
}

#[test]
fn what_is_forgotten_is_trained_anew() {
    let place = tempfile::tempdir().unwrap();
    let (kb, source) = (place.path().join("kb"), corpus(&place));
    training(&kb, &source).run().unwrap();
    let before = knowledge(&kb);
    let hierarchy = OpenOptions::new().for_writing().open(&kb).unwrap();
    hierarchy.forget().unwrap();
    let generation = hierarchy.generate("the 1 cat", &GenerationOptions::default());
    assert_eq!(generation.unwrap().text, "");
    drop(hierarchy);
    assert!(knowledge(&kb).iter().all(Vec::is_empty));
    let report = training(&kb, &source).run().unwrap();
    assert_eq!(report.session_documents, 60);
    assert_eq!(knowledge(&kb), before);
}

#[test]
fn what_is_forgotten_is_gone_with_its_occurrences() {
    let place = tempfile::tempdir().unwrap();
    let (kb, source) = (place.path().join("kb"), corpus(&place));
    training(&kb, &source).run().unwrap();
    std::fs::create_dir(kb.join("occurrences")).unwrap();
    let forgotten = kato::forget(&kb, [&source]).unwrap();
    assert_eq!((forgotten.documents, forgotten.had_occurrences), (60, true));
    assert!(!kb.join("occurrences").exists());
    assert!(knowledge(&kb).iter().all(Vec::is_empty));
}
