//! Options with which nothing can be read are refused by name, and what is next to them is not.

use kato_loader::{LoadError, Order, Sample, Shard, Split, StreamingDatasetLoaderBuilder};

use crate::support::builder;

/// The option that is refused, if one is.
fn refused(builder: StreamingDatasetLoaderBuilder) -> Option<&'static str> {
    match builder.build() {
        Err(LoadError::InvalidOption { option, .. }) => Some(option),
        built => built.map(|_| None).unwrap(),
    }
}

fn open() -> StreamingDatasetLoaderBuilder {
    builder().with_reader("a.txt", "a".as_bytes())
}

#[test]
fn options_are_refused_by_name() {
    let windows = |order: Order| open().with_order(order.with_window_bytes(0));
    let sample = |share| open().with_sample(Sample::new(share, 0));
    let split = |share| open().with_split(Split::held_out(share, 0));
    let rows = [
        ("with_max_record_bytes", open().with_max_record_bytes(0)),
        ("with_text_field", open().with_text_field("")),
        ("with_id_field", open().with_id_field("")),
        ("with_ledger_capacity", open().with_ledger_capacity(0)),
        ("with_order", windows(Order::shuffled(1))),
        ("with_shard", open().with_shard(Shard::new(2, 2))),
        ("with_sample", sample(0.0)),
        ("with_sample", sample(1.1)),
        ("with_sample", sample(f64::NAN)),
        ("with_split", split(0.0)),
        ("with_split", split(1.0)),
        ("with_split", split(-0.1)),
        ("with_split", split(f64::NAN)),
        ("with_split", split(f64::INFINITY)),
        ("with_workers", open().with_workers(1025)),
    ];
    for (option, builder) in rows {
        assert_eq!(refused(builder), Some(option));
    }
    let taken = [
        open().with_max_record_bytes(1),
        open().with_text_field("t"),
        open().with_id_field("i"),
        open().with_ledger_capacity(1),
        windows(Order::Sequential),
        open().with_shard(Shard::new(1, 2)),
        sample(1.0),
        split(0.999),
        open().with_workers(1),
    ];
    for (row, builder) in taken.into_iter().enumerate() {
        assert_eq!(refused(builder), None, "row {row}");
    }
}

#[test]
fn a_mixture_is_of_weighed_datasets_and_nothing_else() {
    let mixture = |weight, dataset| builder().with_mixed(weight, dataset);
    assert_eq!(refused(mixture(0.5, open())), None);
    for weight in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert_eq!(refused(mixture(weight, open())), Some("with_mixed"));
    }
    let mut loader = open().build().unwrap();
    loader.by_ref().for_each(drop);
    let of_the_stream = [
        open().with_cursor(loader.cursor()),
        open().with_split(Split::held_out(0.5, 0)),
        open().with_max_documents(1),
        open().with_max_records(1),
        open().with_skip_records(1),
        open().with_shard(Shard::new(0, 2)),
        mixture(1.0, open()),
    ];
    for (row, dataset) in of_the_stream.into_iter().enumerate() {
        assert_eq!(
            refused(mixture(1.0, dataset)),
            Some("with_mixed"),
            "row {row}"
        );
    }
    let with_input = mixture(1.0, open()).with_reader("b.txt", "b".as_bytes());
    assert_eq!(refused(with_input), Some("with_mixed"));
}
