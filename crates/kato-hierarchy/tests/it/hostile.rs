//! Prompts that nobody should send.

use kato_hierarchy::{ActivationMode, ActivationOptions, GenerationOptions, HierarchyError};
use kato_learner::{Delimiter, HierarchicalConceptLearner, TextMode};
use kato_tokenizer::gpt2;

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

#[test]
fn very_long_prompts_are_answered() {
    let hierarchy = letters();
    let prompt = "a b c never heard ".repeat(20_000);
    for mode in [ActivationMode::Names, ActivationMode::Ensembles] {
        let options = ActivationOptions::default().with_mode(mode);
        let prompt = match mode {
            ActivationMode::Names => &prompt[..],
            ActivationMode::Ensembles => &prompt[..20_000],
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
            .chunk_sizes([4, 3])
            .text_mode(mode);
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
