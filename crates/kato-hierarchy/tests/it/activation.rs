//! Text up through the levels.

use kato_engine::{Engine, Node};
use kato_hierarchy::activation::ActivationMode;
use kato_hierarchy::{ActivationOptions, Hierarchy, HierarchyError, Prompt};
use kato_learner::plan::PlannedSymbols;
use kato_learner::{HierarchicalConceptLearner, HierarchicalNode, LearnerConfig};
use kato_model::PatternName;
use kato_tokenizer::gpt2;

use crate::support::{DOCUMENTS, learned, letters};

fn words(text: &str) -> Vec<String> {
    text.split(' ').map(str::to_owned).collect()
}

#[test]
fn a_complete_chunk_goes_up_as_its_own_name_and_levels_keep_the_pace_of_training() {
    let hierarchy = letters();
    let activation = hierarchy
        .activate("a b c d e f g h", &ActivationOptions::default())
        .unwrap();
    assert_eq!(
        activation.chunks,
        [words("a b c"), words("d e f"), words("g h")]
    );
    let [tokens, chunks, pairs] = &activation.levels[..] else {
        panic!("three levels")
    };
    assert_eq!(tokens.state.len(), 2);
    assert_eq!((tokens.chunk_idx, tokens.is_complete), (Some(2), false));
    // Both chunks of level 1 went up together, and the state that did is what it answers for.
    let name = PatternName::of_events(&[["a"], ["b"], ["c"]]);
    assert_eq!(chunks.state[0].symbols(), [name.prefixed().to_string()]);
    assert_eq!((chunks.state.len(), chunks.is_complete), (2, true));
    assert_eq!((pairs.state.len(), pairs.is_complete), (1, false));
    assert_eq!((chunks.chunk_idx, pairs.chunk_idx), (Some(1), Some(1)));
    assert!(activation.is_current(tokens) && !activation.is_current(pairs));
    assert!(pairs.best().is_some());
}

#[test]
fn tokens_are_taken_as_text_is() {
    let hierarchy = letters();
    let options = ActivationOptions::default();
    let tokens = words(DOCUMENTS[2]);
    assert_eq!(
        hierarchy
            .activate(Prompt::Tokens(&tokens), &options)
            .unwrap(),
        hierarchy.activate(DOCUMENTS[2], &options).unwrap()
    );
}

#[test]
fn an_unknown_chunk_is_stood_for_by_the_most_alike_or_by_its_own_name() {
    let hierarchy = letters();
    let state = |text: &str, substitutes| {
        let options = ActivationOptions::default().with_substitutes(substitutes);
        let activation = hierarchy.activate(text, &options).unwrap();
        activation.levels[1].state[0].clone()
    };
    let name = |text: &str| {
        let events: Vec<_> = words(text).into_iter().map(|word| [word]).collect();
        PatternName::of_events(&events).prefixed().to_string()
    };
    assert_eq!(state("one two never", 1).symbols(), [name("one two three")]);
    assert_eq!(state("one two never", 0).symbols(), [name("one two never")]);
    assert_eq!(
        state("heard of never", 1).symbols(),
        [name("heard of never")]
    );
    assert!(state("a b one", 2).len() == 2);
}

#[test]
fn ensembles_go_up_as_one_event_and_stale_levels_say_so() {
    let hierarchy = letters();
    let options = ActivationOptions::default().with_mode(ActivationMode::Ensembles);
    let activation = hierarchy.activate("a b c d e f", &options).unwrap();
    let levels = &activation.levels;
    assert_eq!(levels[1].state.len(), 2);
    assert_eq!(levels[2].state.len(), 2);
    assert!(levels.iter().all(|level| activation.is_current(level)));

    // The last chunk predicts nothing, so levels above answer for the one before.
    let activation = hierarchy
        .activate("a b c never heard of", &options)
        .unwrap();
    assert!(activation.levels[0].ranked().is_empty());
    assert_eq!(activation.levels[0].chunk_idx, Some(1));
    assert_eq!(activation.levels[1].chunk_idx, Some(0));
    assert!(!activation.is_current(&activation.levels[1]));
}

#[test]
fn nothing_is_learned() {
    let hierarchy = letters();
    let totals = || {
        hierarchy
            .nodes()
            .iter()
            .map(Node::totals)
            .collect::<Vec<_>>()
    };
    let before = totals();
    for mode in [ActivationMode::Names, ActivationMode::Ensembles] {
        let options = ActivationOptions::default().with_mode(mode);
        hierarchy
            .activate("never heard of a b c", &options)
            .unwrap();
    }
    assert_eq!(totals(), before);
}

#[test]
fn text_is_cut_as_training_cuts_it_but_for_its_open_end() {
    let text = "It was a bright cold day in April, and the clocks were striking thirteen. Winston Smith went home.\n\n\
                short\n\n\
                The hallway smelt of boiled cabbage and old rag mats. At one end of it a coloured poster hung.";
    let builder = || HierarchicalConceptLearner::builder(gpt2()).with_chunk_sizes([5, 3]);
    let learner = builder().build().unwrap();
    let mut scratch = learner.new_scratch();
    let plan = learner.plan(&text.into(), &mut scratch).unwrap();
    let vocabulary = learner.tokenizer().vocabulary();
    let planned: Vec<Vec<&str>> = plan
        .calls(0)
        .map(|call| match call.symbols {
            PlannedSymbols::Tokens(ids) => {
                ids.iter().filter_map(|&id| vocabulary.get(id)).collect()
            }
            _ => Vec::new(),
        })
        .collect();
    let hierarchy = learned(builder(), &[text]);
    let activation = hierarchy
        .activate(text, &ActivationOptions::default())
        .unwrap();
    assert_eq!(activation.chunks, planned);
    assert!(planned.iter().any(|chunk| chunk.len() > 5));
    // A short end is kept, as the beginning of something.
    let activation = hierarchy.activate("It was", &ActivationOptions::default());
    assert_eq!(activation.unwrap().chunks, [["It", "Ġwas"]]);
}

#[test]
fn engine_and_settings_must_belong_together() {
    let settings = LearnerConfig::new(vec![HierarchicalNode::new("node0", 3)]);
    let error = Hierarchy::new(Engine::in_memory(&["a", "b"]), gpt2(), settings).unwrap_err();
    assert!(matches!(error, HierarchyError::Nodes { .. }));
    assert!(
        error
            .to_string()
            .contains("nodes a, b and settings for nodes node0")
    );
}
