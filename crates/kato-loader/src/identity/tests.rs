//! Pins what stored states hash: a change here makes all of them foreign.

use super::{CorpusIdentity, Mixed, MixedPart};
use crate::file_identity::FileIdentity;
use crate::mixture::{Mixing, WhenExhausted};
use crate::options::{Compression, CorpusOptions, Format, Quoting, TextUnit};
use crate::order::{Order, Shard};
use crate::sample::Sample;

/// Options of which none is at its default.
fn all_set() -> CorpusOptions {
    CorpusOptions {
        format: Some(Format::JsonLines),
        compression: Some(Compression::Zstd),
        text_unit: TextUnit::Line,
        text_field: "body".to_owned(),
        id_field: Some("id".to_owned()),
        min_chars: 3,
        max_record_bytes: 1000,
        order: Order::shuffled(7).with_epoch(2),
        shard: Some(Shard::new(1, 4)),
        sample: Some(Sample::new(0.25, 9)),
        filter: Some("english".to_owned()),
        skip_records: 5,
        ..CorpusOptions::default()
    }
}

fn corpus(options: CorpusOptions) -> CorpusIdentity {
    CorpusIdentity {
        options,
        files: Vec::new(),
        mixed: None,
    }
}

#[test]
fn hashes_of_options_stay() {
    let mixed = |weight, options| MixedPart {
        weight,
        corpus: corpus(options),
    };
    let mixture = CorpusIdentity {
        mixed: Some(Mixed {
            mixing: Mixing {
                seed: 7,
                when_exhausted: WhenExhausted::Stop,
            },
            parts: vec![mixed(0.5, all_set()), mixed(2.0, CorpusOptions::default())],
        }),
        ..corpus(CorpusOptions::default())
    };
    let cases = [
        (
            corpus(CorpusOptions::default()),
            "b64337fc202cfda54bd90fa64b45a780e2069b8c5472d1b0f2d812d34485e0c6",
        ),
        (
            corpus(all_set()),
            "c2c254ae0fc5d6046b3a63927d26c470f851f1e1e4d1c53a1705bc16101e69e8",
        ),
        (
            mixture,
            "fc3962ae37bb2b58e4b5b403f7fd934cfea30526042043a0556b1eb7ba67bb85",
        ),
    ];
    for (identity, expected) in cases {
        assert_eq!(identity.digest_of_options(), expected);
    }
}

#[test]
fn the_hash_of_files_stays() {
    let file = |name: &str, size, fingerprint: Option<&str>| FileIdentity {
        name: name.to_owned(),
        size,
        fingerprint: fingerprint.map(str::to_owned),
    };
    let identity = CorpusIdentity {
        files: vec![file("a.txt", Some(3), Some("00ff")), file("-", None, None)],
        ..corpus(CorpusOptions::default())
    };
    assert_eq!(
        identity.digest_of_files(),
        "08df36841b05241c799a600ef540bbbb0c650b88b31bcd9b844b233949abdb89"
    );
}

#[test]
fn mixtures_that_share_their_files_out_otherwise_have_other_hashes() {
    let of = |names: &[&str]| {
        let file = |name: &&str| FileIdentity {
            name: (*name).to_owned(),
            size: Some(3),
            fingerprint: None,
        };
        MixedPart {
            weight: 1.0,
            corpus: CorpusIdentity {
                files: names.iter().map(file).collect(),
                ..corpus(CorpusOptions::default())
            },
        }
    };
    let mixture = |parts| CorpusIdentity {
        mixed: Some(Mixed {
            mixing: Mixing {
                seed: 7,
                when_exhausted: WhenExhausted::Stop,
            },
            parts,
        }),
        ..corpus(CorpusOptions::default())
    };
    let one = mixture(vec![of(&["a", "b"]), of(&["c"])]);
    let other = mixture(vec![of(&["a"]), of(&["b", "c"])]);
    assert_ne!(one.digest(), other.digest());
}

#[test]
fn every_choice_keeps_its_text() {
    let texts = |options: CorpusOptions| -> Vec<String> {
        let described = options.described().into_iter();
        described.map(|(_, text)| text).collect()
    };
    let formats = [
        (Format::Text, "Text"),
        (Format::JsonLines, "JsonLines"),
        (Format::Csv, "Csv"),
        (Format::Tsv, "Tsv"),
        (Format::Parquet, "Parquet"),
    ];
    for (format, expected) in formats {
        let options = CorpusOptions {
            format: Some(format),
            ..CorpusOptions::default()
        };
        assert_eq!(texts(options)[0], expected);
    }
    let compressions = [
        (Compression::None, "None"),
        (Compression::Gzip, "Gzip"),
        (Compression::Zstd, "Zstd"),
        (Compression::Bzip2, "Bzip2"),
        (Compression::Xz, "Xz"),
    ];
    for (compression, expected) in compressions {
        let options = CorpusOptions {
            compression: Some(compression),
            ..CorpusOptions::default()
        };
        assert_eq!(texts(options)[1], expected);
    }
    let units = [
        (TextUnit::File, "File"),
        (TextUnit::Line, "Line"),
        (TextUnit::Paragraphs, "Paragraphs"),
    ];
    for (text_unit, expected) in units {
        let options = CorpusOptions {
            text_unit,
            ..CorpusOptions::default()
        };
        assert_eq!(texts(options)[2], expected);
    }
    for (quoting, expected) in [(Quoting::Double, "Double"), (Quoting::None, "None")] {
        let options = CorpusOptions {
            quoting: Some(quoting),
            ..CorpusOptions::default()
        };
        assert_eq!(texts(options).last().unwrap(), expected);
    }
    // A share is written as its shortest digits, with a point or an exponent.
    for (share, expected) in [
        (1.0, "Sample { share: 1.0, seed: 2 }"),
        (0.1, "Sample { share: 0.1, seed: 2 }"),
        (1e-9, "Sample { share: 1e-9, seed: 2 }"),
    ] {
        assert_eq!(Sample::new(share, 2).stored_text(), expected);
    }
    let continued = Mixing::default();
    assert_eq!(
        continued.stored_text(),
        "Mixing { seed: 0, when_exhausted: Continue }"
    );
}

#[test]
fn of_files_with_the_same_name_the_first_is_meant() {
    let of = |names: &[&str]| CorpusIdentity {
        files: names
            .iter()
            .map(|&name| FileIdentity {
                name: name.to_owned(),
                size: Some(1),
                fingerprint: None,
            })
            .collect(),
        ..corpus(CorpusOptions::default())
    };
    let all = of(&["b", "a", "b", "a"]);
    assert_eq!(all.places_of(&of(&["a", "b", "a"])), Ok(vec![0, 1]));
    // Places may come in any order.
    assert_eq!(all.without(&[3, 0]), of(&["a", "b"]));
}
