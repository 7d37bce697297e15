//! A corpus of few words, with what a scan over its documents says.

use std::fs;
use std::path::{Path, PathBuf};

use kato_learner::config::TextMode;
use kato_learner::{
    ChunkRule, HierarchicalConceptLearner, HierarchicalNode, LearnerConfig, TailPolicy,
    TextDocument,
};
use kato_occurrences::{Documents, Occurrences, Position, Writer, Written};
use kato_store::{MemoryStore, PatternStore};
use kato_tokenizer::gpt2;
use proptest::prelude::*;
use serde_json::{Value, json};

/// How a corpus is learned.
#[derive(Debug, Clone)]
pub(crate) struct Rules {
    pub(crate) sizes: Vec<usize>,
    pub(crate) tail: TailPolicy,
    pub(crate) rule: ChunkRule,
}

pub(crate) fn rules() -> impl Strategy<Value = Rules> {
    let tail = prop_oneof![Just(TailPolicy::Drop), Just(TailPolicy::Promote)];
    let rule = prop_oneof![Just(ChunkRule::default()), Just(ChunkRule::original())];
    (prop::collection::vec(2usize..5, 1..5), tail, rule).prop_map(|(sizes, tail, rule)| Rules {
        sizes,
        tail,
        rule,
    })
}

/// Texts of few words, so that they repeat; a blank line begins a paragraph.
pub(crate) fn texts(most: usize) -> impl Strategy<Value = Vec<String>> {
    let word = prop_oneof![
        4 => Just(" a"), 3 => Just(" b"), 2 => Just(" c"), 1 => Just(" d"), 1 => Just(".\n\na"),
    ];
    let text = prop::collection::vec(word, 1..40).prop_map(|words| words.concat());
    prop::collection::vec(text, 1..most)
}

pub(crate) struct Corpus {
    pub(crate) learner: HierarchicalConceptLearner,
    pub(crate) texts: Vec<String>,
    promotes: bool,
    _dir: tempfile::TempDir,
    pub(crate) kb: PathBuf,
}

impl Corpus {
    pub(crate) fn new(rules: &Rules, texts: Vec<String>) -> Self {
        let nodes = rules.sizes.iter().enumerate();
        let nodes = nodes.map(|(level, &size)| HierarchicalNode::new(format!("node{level}"), size));
        let mut config = LearnerConfig::new(nodes.collect());
        config.tail_policy = rules.tail;
        config.text_mode = TextMode::Chunks { rule: rules.rule };
        let learner = HierarchicalConceptLearner::builder(gpt2());
        let dir = tempfile::tempdir().unwrap();
        Self {
            learner: learner.with_config(config).build().unwrap(),
            texts,
            promotes: rules.tail == TailPolicy::Promote,
            kb: dir.path().to_owned(),
            _dir: dir,
        }
    }

    pub(crate) fn id(number: usize) -> String {
        format!("plays{}.txt#{}", number / 5, number + 1)
    }

    pub(crate) fn describe(&self, end: usize, unit_places: usize) -> Documents {
        let tokens = self.tokens();
        let places: usize = tokens[..end].iter().map(|tokens| tokens.len() + 1).sum();
        Documents::new("a corpus", self.learner.nodes().len(), end as u64)
            .with_promotes(self.promotes)
            .with_places(places as u64)
            .with_unit_places(unit_places)
    }

    /// Writes the occurrences of the first `end` documents.
    pub(crate) fn write(&self, end: usize, unit_places: usize) -> Written {
        self.write_to(&self.kb, end, unit_places)
    }

    pub(crate) fn write_to(&self, kb: &Path, end: usize, unit_places: usize) -> Written {
        self.write_described(kb, end, self.describe(end, unit_places))
    }

    pub(crate) fn write_described(&self, kb: &Path, end: usize, documents: Documents) -> Written {
        let mut writer = Writer::new(kb, documents).unwrap();
        self.push(&mut writer, end);
        writer.finish(position(end)).unwrap()
    }

    /// Returns the directories of the units, in the order of their documents.
    pub(crate) fn units(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.kb.join("occurrences")).unwrap();
        let paths = entries.map(|entry| entry.unwrap().path());
        let mut units: Vec<PathBuf> = paths.filter(|path| path.is_dir()).collect();
        units.sort();
        units
    }

    /// Appends the documents from the writer's position to `end`.
    pub(crate) fn push(&self, writer: &mut Writer, end: usize) {
        let first = usize::try_from(writer.position().documents).unwrap();
        assert_eq!(*writer.position(), position(first));
        let mut scratch = self.learner.new_scratch();
        for number in first..end {
            let document = TextDocument::from(&*self.texts[number]);
            let plan = self.learner.plan(&document, &mut scratch).unwrap();
            let before = || position(number);
            writer
                .push(number as u64, &Self::id(number), plan, before)
                .unwrap();
        }
    }

    pub(crate) fn open(&self) -> Occurrences {
        Occurrences::open(&self.kb).unwrap().unwrap()
    }

    /// Returns the learned tokens of each document.
    pub(crate) fn tokens(&self) -> Vec<Vec<u32>> {
        let mut scratch = self.learner.new_scratch();
        let texts = self.texts.iter();
        let tokens = texts.map(|text| {
            let plan = self
                .learner
                .plan(&TextDocument::from(&**text), &mut scratch);
            plan.unwrap().tokens().to_vec()
        });
        tokens.collect()
    }

    /// Returns what the documents teach.
    pub(crate) fn store(&self) -> MemoryStore {
        let store = MemoryStore::new(&self.learner.node_names(), Value::Null);
        let mut batch = self.learner.new_batch();
        let mut scratch = self.learner.new_scratch();
        for text in &self.texts {
            self.learner
                .learn(&**text, &mut batch, &mut scratch)
                .unwrap();
        }
        let part = store.stage(batch.seal()).unwrap();
        store.commit(vec![part], Value::Null).unwrap();
        store
    }
}

/// The position in front of a document; of the first, that of nothing read.
pub(crate) fn position(number: usize) -> Position {
    match number {
        0 => Position::default(),
        number => Position::new(number as u64, json!({ "line": number })),
    }
}
