//! Files of distances, read back.

use hdf5_reader::Hdf5File;
use kato_unifrac::{
    Community, ComputeOptions, DistanceMatrix, MatchOptions, Metric, Table, Tree, UnifracError,
};

fn matrix() -> DistanceMatrix {
    let text = "#OTU ID\ts1\ts2\tdé trois\na\t3\t0\t1\nb\t1\t2\t1\n";
    let (table, tree) = (
        Table::from_classic(text),
        Tree::from_newick("(a:0.1,b:0.7);"),
    );
    let community =
        Community::new(&table.unwrap(), &tree.unwrap(), MatchOptions::default()).unwrap();
    community
        .distances(Metric::Weighted, ComputeOptions::default())
        .unwrap()
}

fn whole(matrix: &DistanceMatrix) -> Vec<f64> {
    let n = matrix.n_samples();
    (0..n * n).map(|i| matrix.get(i / n, i % n)).collect()
}

#[test]
fn npy_has_all_numbers_and_names_beside_it() {
    let folder = tempfile::tempdir().unwrap();
    matrix().write(folder.path().join("d.npy")).unwrap();
    let bytes = std::fs::read(folder.path().join("d.npy")).unwrap();
    let found = kato_arrays::parse_array::<f64>(&bytes).unwrap();
    assert_eq!(found, (vec![3, 3], whole(&matrix())));
    let names = std::fs::read_to_string(folder.path().join("d.ids.txt")).unwrap();
    assert_eq!(names, "s1\ns2\ndé trois\n");
}

#[test]
fn h5_has_matrix_and_order() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("d.h5");
    matrix().write(&path).unwrap();
    let file = Hdf5File::open(path).unwrap();
    let distances = file.dataset("matrix").unwrap();
    assert_eq!(distances.shape(), [3, 3]);
    let distances: Vec<f64> = distances.read_array().unwrap().into_iter().collect();
    assert_eq!(distances, whole(&matrix()));
    let order = file.dataset("order").unwrap().read_strings().unwrap();
    assert_eq!(order, matrix().sample_ids());
}

#[test]
fn tsv_gives_every_bit_back() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("d.tsv");
    matrix().write(&path).unwrap();
    let text = std::fs::read_to_string(path).unwrap();
    let (header, lines) = text.split_once('\n').unwrap();
    assert_eq!(header, "\ts1\ts2\tdé trois");
    let cells = lines.lines().flat_map(|line| line.split('\t').skip(1));
    assert_eq!(
        cells
            .map(|cell| cell.parse().unwrap())
            .collect::<Vec<f64>>(),
        whole(&matrix())
    );
}

#[test]
fn a_file_is_replaced_whole_or_stays() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("d.tsv");
    std::fs::write(&path, "before").unwrap();
    matrix().write(&path).unwrap();
    assert!(std::fs::read_to_string(&path).unwrap().starts_with("\ts1"));
    let error = matrix()
        .write(folder.path().join("missing/d.tsv"))
        .unwrap_err();
    assert!(matches!(error, UnifracError::Write { .. }));
    let error = matrix().write(folder.path().join("d.txt")).unwrap_err();
    assert!(
        error.to_string().ends_with("end it in .npy, .h5 or .tsv"),
        "{error}"
    );
    // Nothing else lies there: no file with half of it.
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[cfg(unix)]
#[test]
fn others_may_read_a_file_as_they_may_any_new_one() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let mode = |name: &str| {
        let metadata = std::fs::metadata(folder.path().join(name)).unwrap();
        metadata.permissions().mode()
    };
    std::fs::write(folder.path().join("any"), "").unwrap();
    for name in ["d.npy", "d.h5", "d.tsv"] {
        matrix().write(folder.path().join(name)).unwrap();
        assert_eq!(mode(name), mode("any"), "{name}");
    }
    assert_eq!(mode("d.ids.txt"), mode("any"));
}

#[test]
fn what_is_written_is_read_back_bit_for_bit() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["d.npy", "d.h5", "d.tsv"] {
        let path = folder.path().join(name);
        matrix().write(&path).unwrap();
        assert_eq!(DistanceMatrix::read(&path).unwrap(), matrix(), "{name}");
    }
    let chosen = matrix().select(&[2, 0]);
    assert_eq!(chosen.sample_ids(), ["dé trois", "s1"]);
    assert_eq!(chosen.condensed(), [matrix().get(0, 2)]);
}

#[test]
fn what_are_no_distances_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("d.tsv");
    for (text, wanted) in [
        (
            "\ta\tb\na\t0\t1\nb\t2\t0\n",
            "two distances between `a` and `b`",
        ),
        ("\ta\tb\na\t0\t-1\nb\t-1\t0\n", "is -1"),
        ("\ta\tb\na\t1\t1\nb\t1\t0\n", "away from itself"),
        ("\ta\tb\nb\t0\t1\na\t1\t0\n", "not the sample of column 1"),
        ("\ta\ta\na\t0\t1\na\t1\t0\n", "twice"),
        ("\ta\tb\na\t0\t1\n", "numbers for 2 names"),
        ("\ta\tb\na\t0\tx\n", "`x` is no number"),
    ] {
        std::fs::write(&path, text).unwrap();
        let error = DistanceMatrix::read(&path).unwrap_err();
        let cause = std::error::Error::source(&error).unwrap().to_string();
        assert!(cause.contains(wanted), "{cause}");
    }
    let short = folder.path().join("s.npy");
    matrix().write(&short).unwrap();
    let bytes = std::fs::read(&short).unwrap();
    for end in [0, 7, 40, bytes.len() - 8, bytes.len() - 1] {
        std::fs::write(&short, &bytes[..end]).unwrap();
        assert!(DistanceMatrix::read(&short).is_err(), "cut off at {end}");
    }
}
