//! Laws of the samplers: each item once, the budget kept, one order for everyone.

use kato_gradient::GradientError;
use kato_gradient::sampler::{
    Bucketed, EpochPlan, InOrder, PlannedBatches, Replica, Sampler, SamplerPosition,
    SamplerSettings, Shuffled, TokenBudget,
};
use proptest::prelude::*;

fn any_settings() -> impl Strategy<Value = SamplerSettings> {
    prop_oneof![
        (1..20_usize).prop_map(|size| InOrder::new(size).into()),
        (1..20_usize).prop_map(|size| Shuffled::new(size).into()),
        (1..20_usize, 1..8_usize)
            .prop_map(|(size, n)| Bucketed::new(size).with_n_buckets(n).into()),
        (100..300_usize, 1..20_usize)
            .prop_map(|(n_tokens, n_items)| TokenBudget::new(n_tokens, n_items).into()),
    ]
}

fn any_lengths() -> impl Strategy<Value = Vec<u32>> {
    prop::collection::vec(0..100_u32, 1..200)
}

fn sorted(plan: &EpochPlan) -> Vec<usize> {
    let mut items = plan.iter().flatten().copied().collect::<Vec<_>>();
    items.sort_unstable();
    items
}

proptest! {
    #[test]
    fn an_epoch_holds_each_item_once(
        settings in any_settings(), lengths in any_lengths(), seed in any::<u64>(), epoch in 0..9_u64,
    ) {
        let sampler = Sampler::new(settings, lengths.clone(), seed).unwrap();
        let plan = sampler.plan(epoch);
        prop_assert_eq!(sorted(&plan), (0..lengths.len()).collect::<Vec<_>>());
        prop_assert_eq!(plan.n_dropped(), 0);
        prop_assert!(plan.iter().all(|batch| !batch.is_empty()));
        prop_assert_eq!(plan.n_batches(), sampler.n_batches());
        prop_assert_eq!(plan.batch(plan.n_batches()), None);
    }

    #[test]
    fn batches_are_packed_as_full_as_the_budget_lets_sorted_items(
        lengths in any_lengths(), n_tokens in 100..400_usize, n_items in 1..20_usize, seed in any::<u64>(),
    ) {
        let budget = TokenBudget::new(n_tokens, n_items);
        let plan = Sampler::new(budget, lengths.clone(), seed).unwrap().plan(0);
        let mut found: Vec<Vec<u32>> =
            plan.iter().map(|batch| batch.iter().map(|item| lengths[*item]).collect()).collect();
        for batch in &found {
            let longest = *batch.iter().max().unwrap() as usize;
            prop_assert!(batch.len() <= n_items && batch.len() * longest <= n_tokens);
        }
        // The lengths one by one, each to the batch before it if that stays within the budget.
        let mut sorted = lengths;
        sorted.sort_unstable();
        let mut wanted: Vec<Vec<u32>> = vec![Vec::new()];
        for length in sorted {
            let size = wanted.last().unwrap().len() + 1;
            if size > n_items || size * length as usize > n_tokens {
                wanted.push(Vec::new());
            }
            wanted.last_mut().unwrap().push(length);
        }
        found.sort();
        wanted.sort();
        prop_assert_eq!(found, wanted);
    }

    #[test]
    fn buckets_hold_neighbouring_lengths(lengths in any_lengths(), size in 1..20_usize, seed in any::<u64>()) {
        let plan = Sampler::new(Bucketed::new(size), lengths.clone(), seed).unwrap().plan(3);
        // Two batches overlap in length by no more than an edge, or are of one bucket.
        let mut quantiles = lengths.clone();
        quantiles.sort_unstable();
        let edges: Vec<u32> = (1..=5_usize).map(|k| quantiles[(k * lengths.len()).div_ceil(5) - 1]).collect();
        let bucket = |item: &usize| edges.iter().position(|edge| lengths[*item] <= *edge).unwrap();
        for batch in plan.iter() {
            let first = bucket(&batch[0]);
            prop_assert!(batch.iter().all(|item| bucket(item) == first));
            prop_assert!(batch.len() <= size);
        }
    }

    #[test]
    fn the_order_is_a_function_of_seed_and_epoch(
        settings in any_settings(), lengths in any_lengths(), seed in any::<u64>(), epoch in any::<u64>(),
    ) {
        let plan = || Sampler::new(settings, lengths.clone(), seed).unwrap().plan(epoch);
        prop_assert_eq!(plan(), plan());
    }

    #[test]
    fn replicas_hold_each_item_of_a_batch_once_and_evenly(
        settings in any_settings(), lengths in any_lengths(), n_replicas in 1..9_usize,
    ) {
        let plan = Sampler::new(settings, lengths, 1).unwrap().plan(2);
        for index in 0..plan.n_batches() {
            let batch = plan.batch(index).unwrap();
            let replica = |rank| Replica::new(rank, n_replicas).unwrap();
            let parts: Vec<&[usize]> =
                (0..n_replicas).map(|rank| plan.part(index, replica(rank)).unwrap()).collect();
            prop_assert_eq!(parts.concat(), batch);
            let sizes = || parts.iter().map(|part| part.len());
            prop_assert!(sizes().max().unwrap() - sizes().min().unwrap() <= 1);
        }
    }

    #[test]
    fn resuming_anywhere_gives_what_would_have_come(
        settings in any_settings(), lengths in any_lengths(), n_taken in 0..150_usize,
    ) {
        let sampler = Sampler::new(settings, lengths, 11).unwrap();
        let mut whole = PlannedBatches::new(sampler.clone());
        for _ in 0..n_taken {
            whole.next();
        }
        let saved = serde_json::to_string(&whole.position()).unwrap();
        let position: SamplerPosition = serde_json::from_str(&saved).unwrap();
        let resumed = PlannedBatches::resume(sampler, position).unwrap();
        prop_assert!(whole.take(40).eq(resumed.take(40)));
    }

    #[test]
    fn any_number_of_workers_makes_the_same_batches(lengths in any_lengths(), n_workers in 1..8_usize) {
        let sampler = Sampler::new(Bucketed::new(7), lengths, 5).unwrap();
        let plan = sampler.plan(0);
        let whole: Vec<Vec<usize>> = plan.iter().map(<[usize]>::to_vec).collect();
        // Each worker has a sampler of its own and takes every n-th batch.
        let mut found = vec![Vec::new(); whole.len()];
        std::thread::scope(|scope| {
            let workers: Vec<_> = (0..n_workers)
                .map(|worker| {
                    let own = sampler.clone();
                    scope.spawn(move || {
                        let plan = own.plan(0);
                        let mine = (worker..plan.n_batches()).step_by(n_workers);
                        mine.map(|i| (i, plan.batch(i).unwrap().to_vec())).collect::<Vec<_>>()
                    })
                })
                .collect();
            for worker in workers {
                for (index, batch) in worker.join().unwrap() {
                    found[index] = batch;
                }
            }
        });
        prop_assert_eq!(found, whole);
    }

    #[test]
    fn what_drop_last_leaves_out_is_counted(n_items in 5..100_usize, epoch in 0..5_u64) {
        let plan = Sampler::from_n_items(Shuffled::new(5).with_drop_last(), n_items, 3).unwrap().plan(epoch);
        prop_assert_eq!(plan.n_dropped(), n_items % 5);
        prop_assert_eq!(plan.n_batches(), n_items / 5);
        prop_assert!(plan.iter().all(|batch| batch.len() == 5));
    }
}

#[test]
fn epochs_and_seeds_have_orders_of_their_own() {
    for settings in [
        SamplerSettings::from(Shuffled::new(8)),
        Bucketed::new(8).into(),
        TokenBudget::new(400, 64).into(),
    ] {
        let lengths: Vec<u32> = (0..400).map(|i| i * 7 % 50 + 1).collect();
        let sampler = |seed| Sampler::new(settings, lengths.clone(), seed).unwrap();
        assert_ne!(sampler(1).plan(0), sampler(1).plan(1), "{settings:?}");
        assert_ne!(sampler(1).plan(0), sampler(2).plan(0), "{settings:?}");
        // Batches come in any order of length, not from the short to the long.
        let firsts =
            |plan: &EpochPlan| -> Vec<u32> { plan.iter().map(|batch| lengths[batch[0]]).collect() };
        assert!(!firsts(&sampler(1).plan(0)).is_sorted(), "{settings:?}");
    }
}

#[test]
fn a_shuffle_prefers_no_place() {
    // 3 items have 6 orders; 6,000 epochs give each 1,000 ± 6 standard deviations of 29.
    let sampler = Sampler::from_n_items(Shuffled::new(3), 3, 9).unwrap();
    let mut counts = std::collections::BTreeMap::new();
    for epoch in 0..6000 {
        *counts
            .entry(sampler.plan(epoch).batch(0).unwrap().to_vec())
            .or_insert(0) += 1;
    }
    assert_eq!(counts.len(), 6);
    assert!(
        counts.values().all(|n| (826..1174).contains(n)),
        "{counts:?}"
    );
}

#[test]
fn what_cannot_be_batched_is_refused() {
    let refused = Sampler::new(TokenBudget::new(10, 4), vec![3, 11], 0).unwrap_err();
    assert!(matches!(
        refused,
        GradientError::ItemTooLong {
            item: 1,
            length: 11,
            budget: 10
        }
    ));
    let refused = Sampler::new(Shuffled::new(0), vec![1], 0).unwrap_err();
    assert_eq!(refused.to_string(), "batch_size is 0; set it to at least 1");
    assert!(Sampler::new(Shuffled::new(4), Vec::new(), 0).is_err());
    assert!(Sampler::from_n_items(Shuffled::new(4).with_drop_last(), 3, 0).is_err());
    assert!(Replica::new(2, 2).is_err());
}

#[test]
fn buckets_drop_what_fills_no_batch_of_theirs() {
    // 7 items of length 1 and 5 of length 9: one batch of 4 each, 3 and 1 left out.
    let lengths: Vec<u32> = [[1; 7].as_slice(), &[9; 5]].concat();
    let settings = Bucketed::new(4).with_n_buckets(2).with_drop_last();
    let sampler = Sampler::new(settings, lengths, 3).unwrap();
    let left = |epoch| {
        let plan = sampler.plan(epoch);
        assert_eq!((plan.n_batches(), plan.n_dropped()), (2, 4));
        assert!(plan.iter().all(|batch| batch.len() == 4));
        sorted(&plan)
    };
    // It is not always the same items that are left out.
    assert_ne!(left(0), left(1));
}

#[test]
fn a_position_of_other_settings_is_refused() {
    let all: Vec<SamplerSettings> = vec![
        InOrder::new(4).into(),
        Shuffled::new(4).into(),
        Shuffled::new(5).into(),
        Shuffled::new(4).with_drop_last().into(),
        Bucketed::new(4).into(),
        Bucketed::new(4).with_n_buckets(4).into(),
        Bucketed::new(4).with_drop_last().into(),
        TokenBudget::new(4, 5).into(),
        TokenBudget::new(5, 4).into(),
    ];
    let sampler = |settings| Sampler::from_n_items(settings, 40, 1).unwrap();
    for saved in &all {
        let position = PlannedBatches::new(sampler(*saved)).position();
        for resumed in &all {
            let found = PlannedBatches::resume(sampler(*resumed), position);
            assert_eq!(found.is_ok(), saved == resumed, "{saved:?} {resumed:?}");
        }
    }
    assert!(serde_json::from_str::<Replica>(r#"{"rank": 2, "n_replicas": 2}"#).is_err());
}

#[test]
fn a_position_of_other_data_is_refused() {
    let sampler = |seed| Sampler::from_n_items(Shuffled::new(4), 10, seed).unwrap();
    let position = PlannedBatches::new(sampler(1)).position();
    let refused = PlannedBatches::resume(sampler(2), position).unwrap_err();
    assert!(
        refused.to_string().contains("position of the sampler"),
        "{refused}"
    );
    let mut beyond = position;
    beyond.batch = 3;
    assert!(PlannedBatches::resume(sampler(1), beyond).is_err());
    let longer = Sampler::new(Shuffled::new(4), vec![2; 10], 1).unwrap();
    assert!(PlannedBatches::resume(longer, position).is_err());
}

#[test]
fn an_epoch_says_where_it_ends() {
    let batches = PlannedBatches::new(Sampler::from_n_items(InOrder::new(2), 3, 0).unwrap());
    let seen: Vec<(u64, usize, bool)> = batches
        .with_replica(Replica::new(1, 2).unwrap())
        .take(3)
        .map(|batch| (batch.epoch, batch.items.len(), batch.ends_epoch))
        .collect();
    // The second replica has no part in a batch of one.
    assert_eq!(seen, [(0, 1, false), (0, 1, true), (1, 1, false)]);
}
