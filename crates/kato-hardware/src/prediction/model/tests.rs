//! Laws of predictions.

use proptest::prelude::*;

use super::*;
use crate::figure::Unit;
use crate::profile::test_fixtures;

fn expected(workload: &Workload) -> PredictedRange {
    let prediction = predict(&test_fixtures::profile(), workload);
    *prediction.samples_per_second.known().unwrap()
}

fn embedded() -> Workload {
    Workload::of_samples(1_000_000)
        .with_chunk_size(8)
        .with_levels(4)
}

#[test]
fn the_sum_of_measured_costs_is_the_processors_time() {
    // 8 tokens a pattern on one level: 125 calls for 1,000 tokens.
    let workload = Workload::of_samples(1000)
        .with_chunk_size(8)
        .with_levels(1)
        .with_tokens_per_sample(1000);
    let prediction = predict(&test_fixtures::profile(), &workload);
    assert_eq!(prediction.calls, [125]);
    let loading = 1000.0 * 4.3 * 1.05 / 900e6;
    let tokenizing = 1000.0 * 4.3 / 86e6;
    // 104 bytes are two blocks of SHA-1, as the 70 measured.
    let naming = 125.0 / 12e6;
    let staging = 125.0 * (1.0 / 3e6 + (1.0 / 1.5e6 - 1.0 / 3e6) * 0.3);
    let seconds = (loading + tokenizing + naming + staging) / 7.0;
    let demand = prediction.demands[0];
    assert_eq!(demand.resource, BottleneckResource::Processor);
    assert!(
        (demand.seconds_per_sample / seconds - 1.0).abs() < 1e-9,
        "{demand:?} {seconds}"
    );
    assert!((demand.utilization - 1.0).abs() < 1e-9);
    assert_eq!(
        prediction.stored_bytes,
        Finding::Known((125.0_f64 * (36.0 + 3.4 * 3.0) * 1000.0) as u64)
    );
}

#[test]
fn what_is_slow_is_the_bottleneck() {
    type Change = fn(&mut HardwareProfile);
    let cases: [(WorkloadStore, Change, BottleneckResource); 6] = [
        (
            WorkloadStore::Embedded,
            |_| {},
            BottleneckResource::Processor,
        ),
        (
            WorkloadStore::Embedded,
            |profile| {
                profile.benchmarks.disk.sequential_write =
                    test_fixtures::figure(5.0, Unit::MegabytesPerSecond)
            },
            BottleneckResource::Disk,
        ),
        (
            WorkloadStore::Embedded,
            |profile| {
                profile.benchmarks.decoding = test_fixtures::figure(5.0, Unit::MegabytesPerSecond)
            },
            BottleneckResource::Loader,
        ),
        (WorkloadStore::MongoDb, |_| {}, BottleneckResource::Database),
        (
            WorkloadStore::MongoDb,
            |profile| {
                profile.benchmarks.mongodb.bulk_upsert = test_fixtures::figure(1e9, Unit::PerSecond)
            },
            BottleneckResource::Processor,
        ),
        (WorkloadStore::Kato, |_| {}, BottleneckResource::Server),
    ];
    for (backend, change, resource) in cases {
        let mut profile = test_fixtures::profile();
        change(&mut profile);
        let prediction = predict(&profile, &embedded().with_backend(backend));
        assert_eq!(
            prediction.bottleneck,
            Finding::Known(resource),
            "{prediction}"
        );
    }
}

#[test]
fn backends_order_as_their_costs_do() {
    let rate = |backend| expected(&embedded().with_backend(backend)).expected;
    assert!(rate(WorkloadStore::Embedded) > rate(WorkloadStore::MongoDb));
    assert!(rate(WorkloadStore::MongoDb) > rate(WorkloadStore::Kato));
}

#[test]
fn a_backend_that_was_not_measured_is_unknown_and_says_which_figure_is_missing() {
    let mut profile = test_fixtures::profile();
    profile.benchmarks.mongodb.bulk_upsert = Finding::unknown("no MongoDB was named");
    let prediction = predict(&profile, &embedded().with_backend(WorkloadStore::MongoDb));
    let reason = prediction.samples_per_second.reason().unwrap();
    assert!(
        reason.contains("upserts into MongoDB (no MongoDB was named)"),
        "{reason}"
    );
    assert!(prediction.bottleneck.reason().is_some() && prediction.demands.is_empty());
    assert!(
        predict(&profile, &embedded())
            .samples_per_second
            .known()
            .is_some()
    );
}

#[test]
fn samples_without_a_pattern_for_a_server_have_no_speed() {
    let workload = embedded()
        .with_backend(WorkloadStore::Kato)
        .with_tokens_per_sample(1);
    let prediction = predict(&test_fixtures::profile(), &workload);
    assert_eq!(prediction.calls, [0; 4]);
    // Reading and tokenizing is all there is to do.
    assert_eq!(
        prediction.bottleneck,
        Finding::Known(BottleneckResource::Loader)
    );
}

#[test]
fn room_that_is_missing_is_told() {
    let workload = Workload::of_samples(1_000_000_000)
        .with_chunk_size(4)
        .with_levels(4);
    let prediction = predict(&test_fixtures::profile(), &workload);
    assert!(
        prediction.warnings[0].contains("/data has 400.0 GB free"),
        "{prediction}"
    );
    let mut profile = test_fixtures::profile();
    profile.limits.memory_bytes = Finding::Known(Some(256 << 20));
    let prediction = predict(&profile, &embedded());
    assert!(
        prediction.warnings[0].contains("0.3 GB are there"),
        "{prediction}"
    );
}

#[test]
fn more_spread_widens_the_interval() {
    let mut profile = test_fixtures::profile();
    if let Finding::Known(figure) = &mut profile.benchmarks.decoding {
        figure.validity.spread = Some(0.8);
    }
    let wide = predict(&profile, &embedded());
    let (wide, narrow) = (
        *wide.samples_per_second.known().unwrap(),
        expected(&embedded()),
    );
    assert_eq!(wide.expected, narrow.expected);
    assert!(wide.low < narrow.low && wide.high > narrow.high);
}

proptest! {
    #[test]
    fn intervals_are_finite_ordered_and_time_grows_with_the_dataset(
        size in 1_u64..1_000_000_000,
        chunk in 2_usize..64,
        levels in 1_usize..9,
        tokens in 20_u64..20_000,
        backend in prop_oneof![Just(WorkloadStore::Embedded), Just(WorkloadStore::MongoDb), Just(WorkloadStore::Kato)],
    ) {
        let workload = Workload::of_samples(size).with_chunk_size(chunk).with_levels(levels).with_tokens_per_sample(tokens).with_backend(backend);
        let prediction = predict(&test_fixtures::profile(), &workload);
        let rate = *prediction.samples_per_second.known().unwrap();
        prop_assert!(0.0 < rate.low && rate.low <= rate.expected && rate.expected <= rate.high);
        prop_assert!(rate.high.is_finite());
        let larger = Workload { dataset_size: size * 2, ..workload };
        let more = predict(&test_fixtures::profile(), &larger);
        prop_assert!(more.seconds.known().unwrap().expected > prediction.seconds.known().unwrap().expected);
        let busiest = prediction.demands.iter().map(|demand| demand.utilization).fold(0.0, f64::max);
        prop_assert!(busiest <= 1.0 && (backend == WorkloadStore::Kato || busiest > 0.999));
    }

    #[test]
    fn more_levels_and_longer_samples_never_make_it_faster(
        chunk in 2_usize..32,
        levels in 1_usize..8,
        tokens in 20_u64..5_000,
    ) {
        let rate = |levels, tokens| {
            expected(&Workload::of_samples(1000).with_chunk_size(chunk).with_levels(levels).with_tokens_per_sample(tokens)).expected
        };
        prop_assert!(rate(levels + 1, tokens) <= rate(levels, tokens));
        prop_assert!(rate(levels, tokens * 2) < rate(levels, tokens));
    }
}
