//! Real text, where `KATO_CORPUS_DIR` names a folder with some: the figures lie where such figures
//! lie.

use std::env;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use kato_engine::Engine;
use kato_evaluation::{Corpora, EvaluationOptions, evaluate};
use kato_learner::HierarchicalConceptLearner;
use kato_loader::{Split, StreamingDatasetLoader, TextUnit};
use kato_scheduler::{RunConfiguration, TrainingOptions, train_parallel};
use kato_store::MemoryStore;

fn corpus() -> Option<PathBuf> {
    let path = Path::new(&env::var_os("KATO_CORPUS_DIR")?).join("wikitext-2/valid.txt");
    path.exists().then_some(path)
}

#[test]
fn models_are_ordered_as_they_must_be() {
    let Some(path) = corpus() else {
        println!("skipped: set KATO_CORPUS_DIR to a folder with wikitext-2/valid.txt");
        return;
    };
    let split = Split::training(0.05, 0);
    let side = |split| {
        StreamingDatasetLoader::builder()
            .with_input(&path)
            .with_text_unit(TextUnit::Line)
            .with_split(split)
            .build()
    };
    let learner = HierarchicalConceptLearner::builder(kato_tokenizer::gpt2())
        .with_chunk_sizes([5, 7])
        .build()
        .unwrap();
    let run = RunConfiguration::from_learner(&learner).with_split(Some(split));
    let store = MemoryStore::new(&learner.node_names(), run.to_json());
    train_parallel(
        &mut side(split).unwrap(),
        &learner,
        &store,
        &TrainingOptions::default(),
        |_| {},
    )
    .unwrap();
    let engine = Engine::open(Arc::new(store)).unwrap();
    let corpora = Corpora::new(|| side(split), || side(split.complement()));
    let mut options = EvaluationOptions::default();
    options.max_questions = 2_000;
    let report = evaluate(&engine, &learner, &corpora, &options, |_| {
        ControlFlow::Continue(())
    })
    .unwrap();

    let code = &report.code_length;
    let bits = |model: &kato_evaluation::report::ModelBits| model.bits_per_token.unwrap();
    // A quarter of a million training tokens: a 5-gram model pays 7 to 9 bits, frequencies 10, and
    // the vocabulary has 50,257 tokens.
    assert!((6.0..9.5).contains(&bits(&code.ngram)), "{code:?}");
    assert!(bits(&code.ngram) < bits(&code.ngram_in_chunk), "{code:?}");
    assert!(bits(&code.ngram_in_chunk) < bits(&code.unigram), "{code:?}");
    assert!(bits(&code.kato) < bits(&code.unigram), "{code:?}");
    assert!((8.5..11.5).contains(&bits(&code.unigram)), "{code:?}");
    assert!(
        (bits(&code.uniform) - 50_257f64.log2()).abs() < 1e-9,
        "{code:?}"
    );
    let interval = code.ngram.interval.unwrap();
    assert!(interval.low < bits(&code.ngram) && bits(&code.ngram) < interval.high);
    assert!(report.levels[0].next.top_1.ratio().unwrap() > 0.05);
}
