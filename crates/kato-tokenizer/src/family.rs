//! Tokenizer families, which differ in how tokens mark the beginning of a word.

/// The way in which token strings show that a word begins; sentence splitting
/// confirms a boundary by it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Family {
    /// A word-initial token begins with a marker such as `Ġ`: GPT-2, RoBERTa, BART, Llama, Phi.
    Gpt2,
    /// A token that *continues* a word begins with `##`: BERT, ELECTRA. The original takes ALBERT and
    /// DeBERTa for such.
    Bert,
    /// Neither is known; `Ġ`, a blank and an upper-case letter count, and `▁` does not.
    Other,
}

impl Family {
    /// Returns the family that the Python original assigns to a tokenizer of this name.
    ///
    /// It looks for fragments anywhere in the name, ignoring case, the GPT-2 family first. A path
    /// counts as a name, so a fragment in a folder's name decides too; override with
    /// `HfTokenizer::with_family`.
    ///
    /// ```
    /// use kato_tokenizer::Family;
    /// assert_eq!(Family::from_name("roberta-base"), Family::Gpt2);
    /// assert_eq!(Family::from_name("distilbert-base-uncased"), Family::Bert);
    /// assert_eq!(Family::from_name("t5-small"), Family::Other);
    /// ```
    #[must_use]
    pub fn from_name(name: &str) -> Self {
        const GPT2: [&str; 6] = ["gpt2", "gpt-2", "roberta", "bart", "llama", "phi"];
        const BERT: [&str; 4] = ["bert", "albert", "electra", "deberta"];
        let name = name.to_lowercase();
        let has = |fragments: &[&str]| fragments.iter().any(|fragment| name.contains(fragment));
        // This order, as `roberta` contains `bert`.
        if has(&GPT2) {
            Self::Gpt2
        } else if has(&BERT) {
            Self::Bert
        } else {
            Self::Other
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Family;

    #[test]
    fn names_the_original_documents() {
        let check = |family, names: &[&str]| {
            for name in names {
                assert_eq!(Family::from_name(name), family, "{name}");
            }
        };
        check(
            Family::Gpt2,
            &[
                "gpt2",
                "GPT-2",
                "distilgpt2",
                "roberta-base",
                "facebook/bart-base",
            ],
        );
        check(
            Family::Gpt2,
            &[
                "microsoft/phi-2",
                "meta-llama/Llama-2-7b-hf",
                "./gpt2-tokenizer.json",
            ],
        );
        check(
            Family::Bert,
            &[
                "bert-base-cased",
                "albert-base-v2",
                "distilbert-base-uncased",
            ],
        );
        check(
            Family::Bert,
            &[
                "google/electra-base-discriminator",
                "microsoft/deberta-base",
            ],
        );
        check(Family::Other, &["t5-base", "xlnet-base-cased", "", "words"]);
    }
}
