//! Tables in all formats, sound and damaged.

use hdf5_writer::{DatasetBuilder, Hdf5Builder, WriteOptions};
use kato_unifrac::table::TableError;
use kato_unifrac::{Table, UnifracError};
use proptest::prelude::*;

fn names(prefix: char, n: usize) -> Vec<String> {
    (0..n).map(|i| format!("{prefix}{i}")).collect()
}

fn table(n_features: usize, n_samples: usize, entries: &[(usize, usize, f64)]) -> Table {
    let entries = entries.iter().copied();
    Table::from_entries(names('f', n_features), names('s', n_samples), entries).unwrap()
}

/// A BIOM 2.1 file with what is given of its parts.
struct Biom<'a> {
    features: &'a [&'a str],
    samples: &'a [&'a str],
    axis: &'a str,
    starts: &'a [i32],
    indices: &'a [i32],
    counts: &'a [f64],
}

const SOUND: Biom<'_> = Biom {
    features: &["f0", "f1", "f2"],
    samples: &["s0", "s1"],
    axis: "sample",
    starts: &[0, 2, 3],
    // Not in order, as the format allows.
    indices: &[2, 0, 1],
    counts: &[4.0, 1.5, 0.0],
};

impl Biom<'_> {
    fn read(&self) -> Result<Table, TableError> {
        let ids = |path, ids: &[&str]| {
            DatasetBuilder::vlen_string_data(path, [ids.len() as u64], ids).unwrap()
        };
        let whole = |name: &str, values: &[i32]| {
            let name = format!("{}/matrix/{name}", self.axis);
            DatasetBuilder::typed_data(name, [values.len() as u64], values).unwrap()
        };
        let counts = format!("{}/matrix/data", self.axis);
        let n_counts = self.counts.len() as u64;
        let file = Hdf5Builder::new()
            .dataset(ids("observation/ids", self.features))
            .dataset(ids("sample/ids", self.samples))
            .dataset(whole("indptr", self.starts))
            .dataset(whole("indices", self.indices))
            .dataset(DatasetBuilder::typed_data(counts, [n_counts], self.counts).unwrap());
        let plan = file.into_plan().unwrap();
        Table::from_bytes(plan.encode(WriteOptions::default()).unwrap())
    }
}

#[test]
fn biom_2_1_by_sample_and_by_feature() {
    let expected = table(3, 2, &[(0, 0, 1.5), (2, 0, 4.0)]);
    assert_eq!(SOUND.read().unwrap(), expected);
    let by_feature = Biom {
        axis: "observation",
        starts: &[0, 1, 1, 2],
        indices: &[0, 0],
        counts: &[1.5, 4.0],
        ..SOUND
    };
    assert_eq!(by_feature.read().unwrap(), expected);
}

#[test]
fn damaged_biom_2_1_is_told() {
    for (biom, reason) in [
        (
            Biom {
                starts: &[0, 2],
                ..SOUND
            },
            "lengths of its arrays do not agree",
        ),
        (
            Biom {
                starts: &[0, 2, 4],
                ..SOUND
            },
            "lengths of its arrays do not agree",
        ),
        (
            Biom {
                starts: &[0, 4, 3],
                ..SOUND
            },
            "rows overlap",
        ),
        (
            Biom {
                starts: &[0, -1, 3],
                ..SOUND
            },
            "an index is negative or out of range",
        ),
        (
            Biom {
                indices: &[2, 3, 1],
                ..SOUND
            },
            "an index lies outside of the table",
        ),
        (
            Biom {
                indices: &[2, -3, 1],
                ..SOUND
            },
            "an index is negative or out of range",
        ),
    ] {
        let error = biom.read().unwrap_err().to_string();
        assert_eq!(
            error,
            format!("the table is damaged: {reason}; write it anew")
        );
    }
    let twice = Biom {
        indices: &[2, 2, 1],
        ..SOUND
    }
    .read()
    .unwrap_err()
    .to_string();
    assert_eq!(
        twice,
        "feature `f2` has two counts in sample `s0`; add them up first"
    );
    let nameless = Biom {
        axis: "elsewhere",
        ..SOUND
    }
    .read()
    .unwrap_err();
    assert!(
        matches!(nameless, TableError::Hdf5 { name, .. } if name == "observation/matrix/indptr")
    );
}

#[test]
fn biom_2_1_cut_off_or_changed_gives_no_panic() {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/tests/data/crawford/table.biom"
    );
    let bytes = std::fs::read(path).unwrap();
    for n_bytes in (0..bytes.len()).step_by(7919) {
        assert!(
            Table::from_bytes(bytes[..n_bytes].to_vec()).is_err(),
            "{n_bytes}"
        );
    }
    for at in (0..bytes.len()).step_by(1009) {
        let mut bytes = bytes.clone();
        bytes[at] ^= 0x55;
        let _ = Table::from_bytes(bytes);
    }
}

#[test]
fn biom_1_0_sparse_and_dense() {
    let document = |matrix_type: &str, data: &str| {
        let text = format!(
            r#"{{"id":null,"shape":[2,2],"data":{data},"matrix_type":"{matrix_type}",
            "rows":[{{"id":"f0","metadata":{{"a":[1]}}}},{{"id":"f1","metadata":null}}],
            "columns":[{{"id":"s0"}},{{"id":"s1"}}]}}"#
        );
        Table::from_bytes(text.into_bytes())
    };
    let expected = table(2, 2, &[(0, 1, 2.0), (1, 0, 3.0)]);
    assert_eq!(document("sparse", "[[1,0,3],[0,1,2.0]]").unwrap(), expected);
    assert_eq!(document("dense", "[[0,2],[3,0]]").unwrap(), expected);
    assert_eq!(document("sparse", "[]").unwrap(), table(2, 2, &[]));
    for (matrix_type, data) in [
        ("sparse", "[[0,0]]"),
        ("sparse", "[[0,0,1],[1]]"),
        ("sparse", "[[0,2,1]]"),
        ("sparse", "[[-1,0,1]]"),
        ("sparse", "[[0.5,0,1]]"),
        ("sparse", "[[0,0,1],[0,0,1]]"),
        ("dense", "[[1,2]]"),
        ("dense", "[[1],[2]]"),
        ("dense", "[[1,\"x\"],[2,3]]"),
        ("other", "[]"),
    ] {
        assert!(document(matrix_type, data).is_err(), "{matrix_type} {data}");
    }
}

#[test]
fn tables_with_tabs() {
    let expected = table(2, 2, &[(0, 1, 2.0), (1, 0, 3.5)]);
    for text in [
        "#OTU ID\ts0\ts1\nf0\t0\t2\nf1\t3.5\t0.0\n",
        // Without a sign before the names, with comments, empty lines and lines of DOS.
        "id\ts0\ts1\r\nf0\t0\t2\r\n\r\nf1\t3.5\t0\r\n",
        "# Constructed from biom file\n#OTU ID\ts0\ts1\ttaxonomy\nf0\t0\t2\tk__A; p__B\nf1\t3.5\t0\t\n",
        "# a\tb\n# OTU\ts0\ts1\tConsensus Lineage\nf0\t0\t2\tx\nf1\t3.5\t0\ty",
    ] {
        assert_eq!(
            Table::from_bytes(text.as_bytes().to_vec()).unwrap(),
            expected,
            "{text}"
        );
    }
}

#[test]
fn tables_with_tabs_say_the_line() {
    for (text, message) in [
        (
            "#OTU ID\ts0\nf0\tx\n",
            "line 2 of the table: `x` in column `s0` is no number",
        ),
        (
            "#OTU ID\ts0\ts1\nf0\t1\t2\nf1\t1\n",
            "line 3 of the table: 1 columns behind the name, where there are 2 names",
        ),
        (
            "#OTU ID\ts0\nf0\t1\t2\n",
            "line 2 of the table: 2 columns behind the name, where there are 1 names",
        ),
    ] {
        assert_eq!(Table::from_classic(text).unwrap_err().to_string(), message);
    }
    assert!(Table::from_classic("").is_err());
}

#[test]
fn what_is_no_table_is_told() {
    let error = |bytes: &[u8]| Table::from_bytes(bytes.to_vec()).unwrap_err();
    assert!(matches!(error(b"\x1f\x8b\x08"), TableError::Compressed));
    assert!(matches!(error(b""), TableError::UnknownFormat));
    assert!(matches!(error(b"(a,b);"), TableError::UnknownFormat));
    assert!(matches!(error(b"\xff\t"), TableError::UnknownFormat));
    assert!(matches!(error(b" {}"), TableError::Json(_)));
    assert!(matches!(
        error(b"\x89HDF\r\n\x1a\n"),
        TableError::Hdf5 { .. }
    ));
    let missing = Table::read("/nowhere/table.biom").unwrap_err();
    assert!(matches!(missing, UnifracError::Read { .. }));
}

proptest! {
    #[test]
    fn no_text_panics(text in r#"[#\ta0-9.\n{}\[\]":,-]{0,60}"#) {
        let _ = Table::from_bytes(text.into_bytes());
    }

    #[test]
    fn entries_come_back_in_order(
        places in proptest::collection::hash_map((0_usize..6, 0_usize..5), 1_u32..9, 0..20)
    ) {
        let entries: Vec<_> =
            places.iter().map(|(&(f, s), &count)| (f, s, f64::from(count))).collect();
        let table = table(6, 5, &entries);
        let mut found = Vec::new();
        for sample in 0..5 {
            let of_sample: Vec<_> = table.sample(sample).collect();
            prop_assert!(of_sample.is_sorted_by(|a, b| a.0 < b.0));
            found.extend(of_sample.into_iter().map(|(f, count)| (f, sample, count)));
        }
        prop_assert_eq!(found.len(), table.n_entries());
        let mut expected = entries;
        expected.sort_by_key(|entry| (entry.1, entry.0));
        prop_assert_eq!(found, expected);
    }
}

#[test]
fn what_is_written_is_read_back() {
    let folder = tempfile::tempdir().unwrap();
    let sparse = table(3, 2, &[(0, 0, 1.5), (2, 0, 4.0), (1, 1, 1e6)]);
    let empty = table(2, 1, &[]);
    for name in ["t.biom", "t.tsv"] {
        let path = folder.path().join(name);
        for table in [&sparse, &empty] {
            table.write(&path).unwrap();
            assert_eq!(Table::read(&path).unwrap(), *table, "{name}");
        }
        let bytes = std::fs::read(&path).unwrap();
        empty.write(&path).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), bytes, "{name} has no clock");
    }
    assert!(sparse.write(folder.path().join("t.h5")).is_err());
    let chosen = sparse.select(&[1]);
    assert_eq!(chosen.sample_ids(), ["s1"]);
    assert_eq!(chosen.sample(0).collect::<Vec<_>>(), [(1, 1e6)]);
}
