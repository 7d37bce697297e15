//! What a corpus identity notices.

use kato_loader::{CorpusIdentity, Format, StreamingDatasetLoaderBuilder, TextUnit};

use crate::support::{Folder, builder, texts};

fn identity(builder: StreamingDatasetLoaderBuilder) -> CorpusIdentity {
    builder.build().unwrap().identity()
}

fn without_folder(differences: &[String], folder: &Folder) -> Vec<String> {
    let prefix = format!("{}/", folder.path().display());
    differences
        .iter()
        .map(|words| words.replace(&prefix, ""))
        .collect()
}

#[test]
fn files_are_compared_one_by_one() {
    let folder = Folder::new();
    for name in ["a.txt", "b.txt", "c.txt", "d.txt"] {
        folder.write(name, format!("content of {name}"));
    }
    let open = || identity(builder().with_input(folder.path()));
    let stored = open();
    assert!(stored.diff(&open()).is_empty());
    assert_eq!(stored.digest(), open().digest());

    std::fs::remove_file(folder.at("a.txt")).unwrap();
    folder.write("b.txt", "other");
    folder.write("c.txt", "CONTENT of c.txt");
    folder.write("e.txt", "new");
    assert_eq!(
        without_folder(&stored.diff(&open()), &folder),
        [
            "file missing: `a.txt`",
            "size of `b.txt`: was 16 bytes, is 5 bytes",
            "content of `c.txt` changed",
            "file added: `e.txt`"
        ]
    );
    assert_ne!(stored.digest(), open().digest());
}

#[test]
fn what_is_not_of_a_corpus_is_named_with_what_holds_the_same() {
    let folder = Folder::new();
    for name in ["a.txt", "b.txt", "c.txt"] {
        folder.write(name, format!("content of {name}"));
    }
    let all = identity(builder().with_input(folder.path()));
    folder.write("b.txt", "other");
    let others = [
        folder.write("d.txt", "content of a.txt"),
        folder.at("b.txt"),
        folder.at("c.txt"),
        folder.write("e.txt", "new"),
    ];
    let problems = all.places_of(&identity(builder().with_inputs(others)));
    assert_eq!(
        without_folder(&problems.unwrap_err(), &folder),
        [
            "`d.txt` was never learned (`a.txt` holds the same, and was)",
            "size of `b.txt`: was 16 bytes, is 5 bytes",
            "`e.txt` was never learned",
        ]
    );
}

#[test]
fn a_position_stays_where_it_is_when_files_before_it_go() {
    let folder = Folder::new();
    let files = ["a.txt", "b.txt", "c.txt"];
    for name in files {
        folder.write(name, format!("1 of {name}\n2 of {name}\n3 of {name}\n"));
    }
    let open = |gone: &[usize]| {
        let left = files
            .iter()
            .enumerate()
            .filter(|(place, _)| !gone.contains(place));
        let open = builder().with_text_unit(TextUnit::Line);
        open.with_inputs(left.map(|(_, name)| folder.at(name)))
    };
    for n_read in 0..=9 {
        let mut loader = open(&[]).build().unwrap();
        assert_eq!(loader.by_ref().take(n_read).count(), n_read);
        let rest = texts(open(&[]).with_cursor(loader.cursor()));
        for gone in [vec![0], vec![1], vec![0, 1], vec![2]] {
            // Of a file whose last line was read, the end may not have been seen.
            let end = 3 * (gone[gone.len() - 1] + 1);
            match loader.cursor().without(&gone) {
                Some(cursor) => {
                    assert!(n_read >= end);
                    assert_eq!(texts(open(&gone).with_cursor(cursor)), rest);
                }
                None => assert!(n_read <= end),
            }
        }
    }
}

#[test]
fn order_matters() {
    let folder = Folder::new();
    let (a, b) = (folder.write("a.txt", "a"), folder.write("b.txt", "b"));
    let stored = identity(builder().with_input(&a).with_input(&b));
    let turned = identity(builder().with_input(&b).with_input(&a));
    assert_eq!(
        without_folder(&stored.diff(&turned), &folder),
        ["file order: `b.txt` now stands where `a.txt` stood"]
    );
}

#[test]
fn options_that_decide_documents_are_compared() {
    let open = || builder().with_reader("a", "x".as_bytes());
    let stored = identity(open());
    let check = |changed: StreamingDatasetLoaderBuilder, expected: &[&str]| {
        assert_eq!(stored.diff(&identity(changed)), expected);
    };
    check(
        open().with_text_unit(TextUnit::Line),
        &["text unit: was `File`, is `Line`"],
    );
    check(
        open().with_format(Format::Csv),
        &["format: was `by extension`, is `Csv`"],
    );
    check(
        open().with_min_chars(10),
        &["minimum characters: was `0`, is `10`"],
    );
    check(open().with_id_field("id"), &["id field: was ``, is `id`"]);
    check(open().with_max_documents(5), &[]);
    check(open().on_bad_record(kato_loader::OnBadRecord::Skip), &[]);
}

#[test]
fn large_files_are_sampled() {
    let folder = Folder::new();
    let mut content = vec![b'x'; 3 << 20];
    let path = folder.write("a.txt", &content);
    let open = || identity(builder().with_input(&path));
    let stored = open();
    for at in [0, 10_000, (3 << 20) - 1] {
        content[at] = b'y';
        folder.write("a.txt", &content);
        assert_eq!(
            stored.diff(&open()).len(),
            1,
            "a change at byte {at} is found"
        );
        content[at] = b'x';
    }
    // The documented blind spot: in place, between the blocks.
    content[20_000] = b'y';
    folder.write("a.txt", &content);
    assert!(stored.diff(&open()).is_empty());
}

#[test]
fn identities_can_be_stored() {
    let folder = Folder::new();
    folder.write("a.txt", "a");
    let identity = identity(
        builder()
            .with_input(folder.path())
            .with_reader("-", "x".as_bytes()),
    );
    assert_eq!(identity.files().len(), 2);
    assert_eq!(identity.files()[1].size, None);
    assert_eq!(identity.files()[1].fingerprint, None);
    let stored = serde_json::to_string(&identity).unwrap();
    assert_eq!(
        serde_json::from_str::<CorpusIdentity>(&stored).unwrap(),
        identity
    );
}
