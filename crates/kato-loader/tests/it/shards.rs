//! Shards of small corpora: each has its share, or it is an error.

use std::fs;

use kato_loader::{
    LoadError, Order, Shard, StreamingDatasetLoader, StreamingDatasetLoaderBuilder, TextUnit,
};

fn n_documents(builder: StreamingDatasetLoaderBuilder) -> Result<usize, LoadError> {
    let mut n = 0;
    for document in builder.build()? {
        document?;
        n += 1;
    }
    Ok(n)
}

#[test]
fn shards_of_a_small_file_have_about_as_many_records_each() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("lines.txt");
    let lines: String = (0..4000).map(|n| format!("line number {n:05}\n")).collect();
    fs::write(&path, lines).unwrap();
    let open = || {
        StreamingDatasetLoader::builder()
            .with_input(&path)
            .with_text_unit(TextUnit::Line)
    };
    for order in [Order::Sequential, Order::shuffled(7)] {
        for count in [2, 3, 5] {
            let shard = |index| {
                let open = || {
                    open()
                        .with_order(order)
                        .with_shard(Shard::new(index, count))
                };
                let n = n_documents(open().with_workers(0)).unwrap();
                assert_eq!(n_documents(open().with_workers(2)).unwrap(), n);
                n
            };
            let shares: Vec<usize> = (0..count).map(shard).collect();
            assert_eq!(shares.iter().sum::<usize>(), 4000, "{shares:?}");
            let fair = 4000 / count as usize;
            assert!(
                shares.iter().all(|share| share.abs_diff(fair) <= fair / 3),
                "{order:?} {shares:?}"
            );
        }
    }
}

#[test]
fn a_shard_without_a_record_is_an_error_unless_it_is_allowed() {
    let open = |index| {
        StreamingDatasetLoader::builder()
            .with_reader("stream.txt", "one\ntwo\n".as_bytes())
            .with_text_unit(TextUnit::Line)
            .with_shard(Shard::new(index, 2))
    };
    assert_eq!(n_documents(open(0)).unwrap(), 2);
    let error = n_documents(open(1)).unwrap_err();
    assert!(
        matches!(error, LoadError::EmptyShard { index: 1, count: 2 }),
        "{error:?}"
    );
    assert_eq!(n_documents(open(1).allow_empty()).unwrap(), 0);
}

#[test]
fn a_shard_has_the_identity_of_its_corpus() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("lines.txt");
    fs::write(&path, "one\ntwo\nthree\n".repeat(100)).unwrap();
    let open = || {
        StreamingDatasetLoader::builder()
            .with_input(&path)
            .with_text_unit(TextUnit::Line)
    };
    let shard = Shard::new(1, 4);
    let of_shard = open().with_shard(shard).build().unwrap().identity();
    assert_eq!(
        open().build().unwrap().identity().with_shard(shard),
        of_shard
    );
}
