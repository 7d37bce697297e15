//! Tables, sequences and metadata made ready.

use std::error::Error;

use kato_microbes::metadata::{ColumnKind, SampleMetadata, TargetKind, TargetValues};
use kato_microbes::tokens::{MASK, START, Sequences, TokenOptions};
use kato_microbes::{CommunityOptions, Microbes, MicrobesError, fasta};
use kato_unifrac::Table;
use proptest::prelude::*;

type Done = Result<(), Box<dyn Error>>;

fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

#[test]
fn every_letter_of_iupac_has_its_token() -> Done {
    let ids = names(&["acgtu", "RYSWKMBDHVN", "A-C.G"]);
    let (sequences, report) = Sequences::from_ids(&ids, &TokenOptions::default())?;
    assert_eq!(sequences.row(0), [START, 1, 2, 3, 4, 4]);
    assert_eq!(sequences.row(1)[1..], [MASK; 11]);
    assert_eq!(sequences.row(2), [START, 1, 2, 3]);
    assert_eq!((report.shortest, report.longest), (3, 11));
    assert_eq!((report.n_ambiguous, report.n_ambiguous_letters), (1, 11));
    Ok(())
}

#[test]
fn names_that_are_no_sequences_ask_for_a_fasta_file() -> Done {
    let ids = names(&["ACGT", "OTU_1", "", "--"]);
    let error = Sequences::from_ids(&ids, &TokenOptions::default()).unwrap_err();
    let text = error.to_string();
    assert!(
        text.contains("3 of 4") && text.contains("`OTU_1`") && text.contains("--fasta"),
        "{text}"
    );

    let folder = tempfile::tempdir()?;
    let path = folder.path().join("s.fasta");
    std::fs::write(&path, ">OTU_1 Bacteria\nAC\nGT\n>OTU_2\nGG\n")?;
    let options = TokenOptions::default();
    let (sequences, _) = Sequences::from_fasta(&names(&["OTU_2", "OTU_1"]), &path, &options)?;
    assert_eq!(sequences.row(1), [START, 1, 2, 3, 4]);
    let error = Sequences::from_fasta(&names(&["OTU_3"]), &path, &options).unwrap_err();
    assert!(error.to_string().contains("`OTU_3`"), "{error}");
    for (text, line) in [
        ("ACGT\n", 1),
        (">a\nAC?T\n", 2),
        (">a\nA\n>a\nA\n", 3),
        (">a\nA\n\n>b\n>c\nA\n", 4),
    ] {
        std::fs::write(&path, text)?;
        let error = fasta::read(&path).unwrap_err().to_string();
        assert!(error.contains(&format!("line {line}")), "{error}");
    }
    Ok(())
}

#[test]
fn samples_that_are_too_shallow_are_named_and_absent_features_left_out() -> Done {
    let entries = [(0, 0, 30.0), (1, 1, 5.0), (2, 2, 40.0), (0, 2, 10.0)];
    let table = Table::from_entries(names(&["AC", "GT", "TT"]), names(&["a", "b", "c"]), entries)?;
    let microbes = Microbes::prepare(&table, &CommunityOptions::default().with_depth(30))?;
    assert_eq!(microbes.report.too_shallow, ["b"]);
    assert_eq!(microbes.table.sample_ids(), ["a", "c"]);
    assert_eq!(microbes.table.feature_ids(), ["AC", "TT"]);
    assert_eq!((microbes.report.n_read, microbes.sequences.len()), (3, 2));
    for sample in 0..2 {
        let total: f64 = microbes.table.sample(sample).map(|(_, count)| count).sum();
        assert_eq!(total, 30.0);
    }
    let all = Microbes::prepare(&table, &CommunityOptions::default().with_depth(0))?;
    assert_eq!(all.table.n_samples(), 3);
    let error = Microbes::prepare(&table, &CommunityOptions::default()).unwrap_err();
    assert!(error.to_string().contains("--depth"), "{error}");
    Ok(())
}

#[test]
fn metadata_of_qiime_and_of_spreadsheets_are_read() -> Done {
    let text = "\u{feff}sample-id\tph\tsite\tdose\n#q2:types\tnumeric\tcategorical\tcategorical\n\
                # a comment\ns1\t7.5\t\"gut\"\t1\n\ns2\tNot Applicable\tskin\t2\ns3\t6\n";
    let metadata =
        SampleMetadata::from_text(text).map_err(|(line, reason)| format!("{line}: {reason}"))?;
    assert_eq!(metadata.sample_ids(), ["s1", "s2", "s3"]);
    let kinds: Vec<_> = metadata
        .columns()
        .iter()
        .map(|c| (c.kind, c.is_declared))
        .collect();
    let declared = |kind| (kind, true);
    assert_eq!(
        kinds,
        [
            declared(ColumnKind::Numeric),
            declared(ColumnKind::Categorical),
            declared(ColumnKind::Categorical)
        ]
    );
    let ids = names(&["s3", "s2", "s0", "s1"]);
    let ph = metadata.target("ph", TargetKind::Auto, &ids)?;
    assert_eq!(ph.values, TargetValues::Numbers(vec![6.0, 7.5]));
    assert_eq!(ph.samples, [0, 3]);
    assert_eq!(
        (ph.without_value, ph.without_row),
        (names(&["s2"]), names(&["s0"]))
    );
    let site = metadata.target("site", TargetKind::Auto, &ids)?;
    let expected = TargetValues::Classes {
        names: names(&["gut", "skin"]),
        of: vec![1, 0],
    };
    assert!(
        matches!(&site.values, found if *found == expected),
        "{:?}",
        site.values
    );
    Ok(())
}

#[test]
fn kinds_are_found_by_content_and_can_be_chosen() -> Done {
    let text = "#SampleID\tgroup\tempty\ns1\t1\t\ns2\t2\tNA\n";
    let metadata = SampleMetadata::from_text(text).map_err(|(_, reason)| reason)?;
    assert_eq!(metadata.column("group")?.kind, ColumnKind::Numeric);
    assert_eq!(metadata.column("empty")?.kind, ColumnKind::Categorical);
    let ids = names(&["s1", "s2"]);
    let classes = metadata.target("group", TargetKind::Class, &ids)?;
    assert!(matches!(classes.values, TargetValues::Classes { ref names, .. } if names.len() == 2));
    let error = metadata
        .target("Group", TargetKind::Auto, &ids)
        .unwrap_err();
    assert!(
        matches!(error, MicrobesError::NoColumn { .. }) && error.to_string().contains("`group`")
    );
    Ok(())
}

#[test]
fn wrong_lines_of_metadata_are_named() {
    for (text, line, wanted) in [
        ("", 1, "empty"),
        ("name\tx\n", 1, "`sample_id`"),
        ("id\tx\tx\n", 1, "no name of its own"),
        ("id\tx\ns\t1\t2\n", 2, "3 cells"),
        ("id\tx\ns\t1\ns\t2\n", 3, "second time"),
        ("id\tx\n\t1\n", 2, "no name"),
        (
            "id\tx\n#q2:types\tnumber\n",
            2,
            "`numeric` or `categorical`",
        ),
        ("id\tx\n#q2:types\tnumeric\ns\tone\n", 1, "declared numeric"),
    ] {
        let (found, reason) = SampleMetadata::from_text(text).unwrap_err();
        assert!(
            found == line && reason.contains(wanted),
            "{text:?}: {found} {reason}"
        );
    }
}

proptest! {
    /// Whatever bytes there are, tokens are tokens, and each row begins with START.
    #[test]
    fn any_names_give_tokens_or_an_error(ids in prop::collection::vec("[ACGTUNacgt.?-]{0,9}", 0..6), max_bp in 1_usize..12) {
        if let Ok((sequences, report)) = Sequences::from_ids(&ids, &TokenOptions::default().with_max_bp(max_bp)) {
            prop_assert_eq!(sequences.len(), ids.len());
            prop_assert_eq!(report.n_sequences, ids.len());
            for i in 0..ids.len() {
                let row = sequences.row(i);
                prop_assert!(row[0] == START && row.len() > 1 && row.len() <= max_bp + 1);
                prop_assert!(row[1..].iter().all(|token| (1..=4).contains(token) || *token == MASK));
            }
        }
    }
}

#[test]
fn threads_change_no_bit() -> Done {
    let entries = (0..40).map(|i| (i % 7, i % 5 * 8 + i / 5, (i * 13 % 50) as f64 + 20.0));
    let ids = (0..7).map(|i| format!("ACG{}", &"TTTTTTT"[..i])).collect();
    let samples = (0..40).map(|i| format!("s{i}")).collect();
    let table = Table::from_entries(ids, samples, entries)?;
    let options = CommunityOptions::default().with_depth(15);
    let with = |n: usize| -> Result<Microbes, Box<dyn Error>> {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(n).build()?;
        Ok(pool.install(|| Microbes::prepare(&table, &options))?)
    };
    assert_eq!(with(1)?, with(3)?);
    Ok(())
}
