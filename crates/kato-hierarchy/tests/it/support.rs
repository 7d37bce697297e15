//! Small trained hierarchies.

use std::sync::Arc;

use kato_engine::Engine;
use kato_hierarchy::Hierarchy;
use kato_learner::config::{Recording, TextMode};
use kato_learner::{ChunkRule, HierarchicalConceptLearner, LearnerBuilder, TextDocument};
use kato_store::{MemoryStore, PatternStore};
use kato_tokenizer::{Tokenizer, Whitespace};
use serde_json::Value;

/// A hierarchy of plain chunks of words that learned these documents, named `d0`, `d1`, …
pub(crate) fn trained(chunk_sizes: &[usize], documents: &[&str]) -> Hierarchy {
    let learner = |tokenizer| {
        let plain = TextMode::Chunks {
            rule: ChunkRule::Plain,
        };
        HierarchicalConceptLearner::builder(tokenizer)
            .with_chunk_sizes(chunk_sizes.iter().copied())
            .with_text_mode(plain)
            .with_min_paragraph_chars(0)
    };
    // Words that were never learned can be asked for.
    let words = documents.iter().copied().chain(["never heard of"]);
    learned(learner(Whitespace::from_texts(words)), documents)
}

/// What a learner makes of documents.
pub(crate) fn learned(builder: LearnerBuilder, documents: &[&str]) -> Hierarchy {
    let learner = builder
        .with_recording(Recording {
            provenance: true,
            metadata: false,
        })
        .build()
        .unwrap();
    let store = MemoryStore::new(&learner.node_names(), Value::Null);
    let (mut batch, mut scratch) = (learner.new_batch(), learner.new_scratch());
    for (idx, text) in documents.iter().enumerate() {
        let document = TextDocument {
            document_idx: idx as u64,
            id: &format!("d{idx}"),
            text,
            metadata: &[],
        };
        learner.learn(document, &mut batch, &mut scratch).unwrap();
    }
    let staged = store.stage(batch.seal()).unwrap();
    store.commit(vec![staged], Value::Null).unwrap();
    let words = documents.iter().copied().chain(["never heard of"]);
    let tokenizer: Arc<dyn Tokenizer> = match learner.tokenizer().name() {
        "gpt2" => Arc::new(kato_tokenizer::gpt2()),
        _ => Arc::new(Whitespace::from_texts(words)),
    };
    let engine = Engine::open(Arc::new(store)).unwrap();
    Hierarchy::new(engine, tokenizer, learner.config().clone()).unwrap()
}

/// Three documents of 24 words: three levels of 3, 2 and 4. They share words, chunks and
/// beginnings.
pub(crate) const DOCUMENTS: [&str; 3] = [
    "a b c d e f g h i j k l m n o p q r s t u v w x",
    "a b c d e f g h i J K L m n o P Q R s t u V W X",
    "s t u a b c one two three four five six seven eight nine ten eleven twelve d e f g h i",
];

pub(crate) fn letters() -> Hierarchy {
    trained(&[3, 2, 4], &DOCUMENTS)
}
