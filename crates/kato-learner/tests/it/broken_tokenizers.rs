//! Tokenizers that return ids without a token: the document is refused, and no empty symbol is
//! learned.

use kato_learner::config::TextMode;
use kato_learner::{HierarchicalConceptLearner, LearnError};
use kato_tokenizer::{Family, TokenizeError, Tokenizer, Vocabulary};

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

fn learn(ids: &'static [u32], mode: TextMode) -> Result<usize, LearnError> {
    let vocabulary = Vocabulary::from_tokens(["a", "", "b"]);
    let learner = HierarchicalConceptLearner::builder(Fixed { vocabulary, ids })
        .with_chunk_sizes([4])
        .with_text_mode(mode)
        .build()?;
    let mut batch = learner.new_batch();
    let text = "A text that is long enough for a paragraph.";
    let learned = learner.learn(text, &mut batch, &mut learner.new_scratch());
    learned.map(|_| batch.seal().node(0).len())
}

#[test]
fn an_id_without_a_token_is_no_symbol() {
    let sentences = TextMode::Sentences {
        boundary: None,
        min_tokens: 1,
    };
    for mode in [TextMode::default(), sentences] {
        assert_eq!(learn(&[0, 2, 0, 2], mode).unwrap(), 1, "{mode:?}");
        for (ids, unknown) in [(&[0, 2, 1, 2], 1), (&[0, 2, 0, 3], 3)] {
            let error = learn(ids, mode).unwrap_err();
            let is_right = matches!(
                error,
                LearnError::UnknownToken { id, vocabulary: 3 } if id == unknown
            );
            assert!(is_right, "{error:?}");
        }
    }
}
