//! The check of the engine's results, and the exact rules that replace those that fail it.

use tokenizers::pipeline::{PipelineTokenizer, PreTokenizer, PreTokenizerScratch, Segment, Span};
use tokenizers::pipeline::{SpecialSegmentIterator, normalize_all};

use super::spelling::Spelling;
use crate::bpe::Bpe;

/// What a byte-level model is checked by.
pub(super) struct ResultCheck {
    pub(super) spelling: Spelling,
    pub(super) bpe: Bpe,
}

impl ResultCheck {
    /// Encodes `text` as the engine does, step for step, except for the words themselves.
    pub(super) fn encode_into(
        &self,
        pipeline: &PipelineTokenizer,
        text: &str,
        ids: &mut Vec<u32>,
    ) -> tokenizers::Result<()> {
        let added = pipeline.get_added_vocabulary();
        let (mut spans, mut scratch) = (Vec::new(), PreTokenizerScratch::default());
        // Added tokens are cut out twice: here those that are defined for the text as written, and
        // below those that are defined for normalized text.
        for raw in SpecialSegmentIterator::new(text, added, false, false) {
            let (raw, offset) = match raw {
                Segment::SpecialToken(id) => {
                    ids.push(id);
                    continue;
                }
                Segment::Text { text, input_offset } => (text, input_offset),
            };
            let normalized = normalize_all(pipeline.get_normalizers(), raw, offset)?;
            for segment in SpecialSegmentIterator::new(&normalized, added, true, false) {
                match segment {
                    Segment::SpecialToken(id) => ids.push(id),
                    Segment::Text { text, .. } => {
                        self.words(pipeline, text, &mut spans, &mut scratch, ids)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Appends the ids of the words into which the engine's pre-tokenizer splits a text.
    fn words(
        &self,
        pipeline: &PipelineTokenizer,
        text: &str,
        spans: &mut Vec<Span>,
        scratch: &mut PreTokenizerScratch,
        ids: &mut Vec<u32>,
    ) -> tokenizers::Result<()> {
        if u32::try_from(text.len()).is_err() {
            return Err("a text of more than 4 GiB cannot be tokenized at once".into());
        }
        spans.clear();
        pipeline
            .get_pre_tokenizer()
            .pre_tokenize(text, scratch, spans)?;
        for span in spans {
            self.bpe.word(&text.as_bytes()[span.range()], ids)?;
        }
        Ok(())
    }
}
