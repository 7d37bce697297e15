//! Prompts that nobody should send.

use kato_engine::Engine;
use kato_hierarchy::activation::ActivationMode;
use kato_hierarchy::{ActivationOptions, GenerationOptions, Hierarchy, HierarchyError};
use kato_learner::config::TextMode;
use kato_learner::segment::Delimiter;
use kato_learner::{HierarchicalConceptLearner, HierarchicalNode, LearnerConfig};
use kato_tokenizer::{Family, TokenizeError, Tokenizer, Vocabulary, gpt2};

use crate::support::{learned, letters};

#[test]
fn a_word_that_the_tokenizer_does_not_know_is_an_error_that_names_it() {
    let hierarchy = letters();
    let error = hierarchy
        .generate("a b what", &GenerationOptions::default())
        .unwrap_err();
    assert!(matches!(error, HierarchyError::Tokenize(_)));
    let cause = std::error::Error::source(&error).unwrap().to_string();
    assert!(cause.contains("`what`"), "{cause}");
}

/// Returns the same ids for every text. Its vocabulary leaves id 1 unused and ends at id 2.
#[derive(Debug)]
struct Fixed {
    vocabulary: Vocabulary,
    ids: &'static [u32],
}

impl Tokenizer for Fixed {
    fn name(&self) -> &str {
        "fixed"
    }
    fn fingerprint(&self) -> &str {
        "fixed"
    }
    fn family(&self) -> Family {
        Family::Other
    }
    fn vocabulary(&self) -> &Vocabulary {
        &self.vocabulary
    }
    fn encode_into(&self, _: &str, ids: &mut Vec<u32>) -> Result<(), TokenizeError> {
        ids.extend_from_slice(self.ids);
        Ok(())
    }
    fn decode(&self, _: &[u32]) -> String {
        String::new()
    }
}

#[test]
fn an_id_without_a_token_is_an_error_and_not_left_out() {
    for (ids, unknown) in [(&[0, 1, 2], 1), (&[0, 2, 3], 3)] {
        let vocabulary = Vocabulary::from_tokens(["a", "", "b"]);
        let settings = LearnerConfig::new(vec![HierarchicalNode::new("node0", 2)]);
        let engine = Engine::in_memory(&["node0"]);
        let hierarchy = Hierarchy::new(engine, Fixed { vocabulary, ids }, settings).unwrap();
        let error = hierarchy
            .activate("any text", &ActivationOptions::default())
            .unwrap_err();
        let is_right = matches!(
            error,
            HierarchyError::UnknownToken { id, vocabulary: 3 } if id == unknown
        );
        assert!(is_right, "{error:?}");
    }
}

#[test]
fn very_long_prompts_are_answered() {
    let hierarchy = letters();
    let prompt = "a b c never heard ".repeat(20_000);
    for mode in [ActivationMode::Names, ActivationMode::Ensembles] {
        let options = ActivationOptions::default().with_mode(mode);
        let prompt = match mode {
            ActivationMode::Names => &prompt[..],
            _ => &prompt[..20_000],
        };
        assert!(hierarchy.activate(prompt.trim(), &options).is_ok());
    }
    assert!(
        hierarchy
            .generate(&prompt, &GenerationOptions::default())
            .is_ok()
    );
}

#[test]
fn control_characters_quotes_and_every_way_of_cutting_do_no_harm() {
    let text =
        "He said \"it's\" \\ and left. \u{0}\u{1b}[1m Nobody knew why. 東京 🎉 e\u{301} was it?";
    let modes = [
        TextMode::default(),
        TextMode::sentences(),
        TextMode::Segments {
            delimiter: Delimiter::Word,
        },
    ];
    for mode in modes {
        let builder = HierarchicalConceptLearner::builder(gpt2())
            .with_chunk_sizes([4, 3])
            .with_text_mode(mode);
        let hierarchy = learned(builder, &[text]);
        let ends = text.char_indices().map(|(at, _)| at).chain([text.len()]);
        for end in ends {
            let prompt = &text[..end];
            let options = GenerationOptions::default()
                .with_max_tokens(10)
                .with_bridges();
            assert!(
                hierarchy.generate(prompt, &options).is_ok(),
                "{mode:?} {prompt:?}"
            );
        }
    }
}
