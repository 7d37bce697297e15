//! What a build without the feature `huggingface` says of tokenizer files.

use kato_tokenizer::{LoadTokenizerError, load};

#[test]
fn names_and_paths_are_refused_with_the_feature_to_build_with() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("tokenizer.json");
    std::fs::write(&file, "{}").unwrap();
    for spec in ["bert-base-cased", file.to_str().unwrap()] {
        let error = load(spec).unwrap_err();
        assert!(matches!(&error, LoadTokenizerError::Unsupported { name } if name == spec));
        assert!(
            error.to_string().contains("feature `huggingface`"),
            "{error}"
        );
    }
}
