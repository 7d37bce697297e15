//! Runs on many machines, simulated.

use kato_planner::PlanError;
use kato_planner::cluster::{
    Bound, ClusterForecast, ClusterMachine, ClusterRates, ClusterRun, Cuts, ObjectStore, simulate,
    simulate_best,
};

/// Rates at which the bytes of a task take a tenth of its time.
fn rates() -> ClusterRates {
    ClusterRates::new(1e6, 1e6, 0.2)
        .with_bytes(1.0, 8.0, 4.0)
        .with_sealing(2e6, 5.0)
}

fn machine() -> ClusterMachine {
    ClusterMachine::new(4, 1e9, 0.5)
}

fn steady(tokens: f64, n_tasks: u64) -> ClusterRun {
    ClusterRun::new(tokens, n_tasks)
        .with_spread(0.0)
        .with_deaths(0.0, 0.0)
}

/// A store whose requests take no time.
fn store() -> ObjectStore {
    let mut store = ObjectStore::new();
    store.request_seconds = 0.0;
    store
}

fn forecast(run: &ClusterRun) -> ClusterForecast {
    simulate(run, &rates(), &machine(), &store()).unwrap()
}

#[test]
fn one_machine_takes_what_its_rates_say() {
    let found = forecast(&steady(4e9, 10).with_ranges(8).with_levels(2));
    // 4e9 tokens at 4 threads of 1e6, and 8 bytes a token out at 1e9 a second.
    assert!((found.learn.seconds - (1000.0 + 32.0)).abs() < 1e-6);
    assert_eq!(found.learn.bound, Bound::Processor);
    // 0.8e9 patterns at the same four threads, a merge each, and 4 bytes a token out.
    assert!((found.merge.seconds - (200.0 + 16.0)).abs() < 1e-6);
    assert!((found.learn.read_bytes - 4e9).abs() < 1.0);
    assert!((found.merge.read_bytes - 32e9).abs() < 1.0);
    // The same at 2e6, and 5 bytes a token out.
    assert!((found.seal.seconds - (100.0 + 20.0)).abs() < 1e-6);
    assert!((found.seal.read_bytes - 16e9).abs() < 1.0);
    assert!((found.stored_bytes - 20e9).abs() < 1.0);
    let all = found.learn.seconds + found.merge.seconds + found.seal.seconds;
    assert!((found.seconds - all).abs() < 1e-6);
    assert!((found.machine_usd - found.seconds / 3600.0 * 0.5).abs() < 1e-9);
    assert!((found.learn.useful - 1.0).abs() < 1e-9);
    assert!((found.most_symbols_a_range - 1e8).abs() < 1.0);
}

#[test]
fn more_machines_share_the_work_until_tasks_are_few() {
    let seconds = |n_workers| {
        let run = steady(4e9, 64).with_ranges(64).with_workers(n_workers);
        forecast(&run).learn.seconds
    };
    let one = seconds(1);
    for n_workers in [2, 4, 8, 16, 32, 64] {
        let share = seconds(n_workers) * n_workers as f64 / one;
        assert!((share - 1.0).abs() < 1e-9, "{n_workers}: {share}");
    }
    // Each machine has a task, and no other gets any.
    assert!((seconds(1000) - seconds(64)).abs() < 1e-9);
}

#[test]
fn what_is_slowest_binds() {
    let run = steady(4e9, 100).with_workers(100).with_ranges(100);
    let bound = |rates: &ClusterRates, machine: &ClusterMachine, store: &ObjectStore| {
        simulate(&run, rates, machine, store).unwrap().learn.bound
    };
    let (fast, slow_network) = (machine(), ClusterMachine::new(4, 1e6, 0.5));
    assert_eq!(bound(&rates(), &fast, &store()), Bound::Processor);
    assert_eq!(bound(&rates(), &slow_network, &store()), Bound::Network);
    let narrow = store().with_limits(1e8, 1e4);
    assert_eq!(bound(&rates(), &fast, &narrow), Bound::StoreBytes);
    let few = store().with_limits(1e12, 0.1);
    assert_eq!(bound(&rates(), &fast, &few), Bound::StoreRequests);
    let mut far = store();
    far.request_seconds = 1e3;
    assert_eq!(bound(&rates(), &fast, &far), Bound::Latency);
}

#[test]
fn a_narrow_store_is_shared_by_all() {
    let narrow = store().with_limits(36e6, 1e9);
    let run = steady(4e9, 1000).with_workers(100).with_ranges(1000);
    let found = simulate(&run, &rates(), &machine(), &narrow).unwrap();
    // 9 bytes a token in and out at 36e6 a second, however many machines.
    assert!((found.learn.seconds - 1000.0).abs() < 1e-6, "{found:?}");
}

#[test]
fn deaths_and_uneven_tasks_take_longer_and_the_seed_decides_how_much() {
    let run = ClusterRun::new(4e9, 200).with_workers(20).with_ranges(20);
    let calm = forecast(&run.clone().with_spread(0.0).with_deaths(0.0, 0.0));
    let uneven = run.clone().with_spread(0.5).with_deaths(100.0, 10.0);
    let found = forecast(&uneven);
    assert!(found.learn.n_lost > 0);
    assert!(found.seconds > calm.seconds);
    assert!(found.learn.useful < 1.0);
    // Lost attempts move nothing that counts.
    assert!((found.learn.written_bytes - calm.learn.written_bytes).abs() < 1.0);
    assert_eq!(forecast(&uneven), found);
    assert_ne!(forecast(&uneven.with_seed(2)), found);
}

#[test]
fn the_cuts_that_are_done_first_are_found() {
    let store = ObjectStore::new();
    for n_workers in [1, 10, 1000] {
        let run = ClusterRun::new(1e11, 1).with_workers(n_workers);
        let best = |cuts| simulate_best(&run, cuts, &rates(), &machine(), &store).unwrap();
        let (cut, found) = best(Cuts::default());
        assert!(cut.n_tasks >= 20, "{cut:?}");
        for (n_tasks, n_ranges) in [(200, 10), (10 * n_workers, 4 * n_workers), (20, 10)] {
            let mut other = run.clone().with_ranges(n_ranges.max(10));
            other.n_tasks = n_tasks.max(20);
            let other = simulate(&other, &rates(), &machine(), &store).unwrap();
            // Uneven tasks on few machines: a number between may be luckier.
            assert!(
                found.seconds <= 1.05 * other.seconds,
                "{n_tasks} {n_ranges}"
            );
        }
        // What is given stays.
        let (cut, slower) = best(Cuts {
            tasks: Some(777),
            ranges: Some(3),
        });
        assert_eq!((cut.n_tasks, cut.n_ranges), (777, 3));
        assert!(slower.seconds >= 0.95 * found.seconds);
    }
    let none = ClusterRun::new(1e9, 1).with_workers(0);
    assert!(simulate_best(&none, Cuts::default(), &rates(), &machine(), &store).is_err());
}

#[test]
fn however_many_machines_there_are_all_of_them_get_work() {
    // Little text for so many: the least of both is one, and sealing takes longest.
    let rates = rates().with_sealing(1e3, 5.0);
    let machine = ClusterMachine::new(16, 1e9, 0.5);
    let cuts = |tasks, ranges| {
        let run = ClusterRun::new(1e9, 1).with_workers(1000);
        let cuts = Cuts { tasks, ranges };
        simulate_best(&run, cuts, &rates, &machine, &store()).unwrap()
    };
    let (cut, found) = cuts(Some(1000), None);
    let (_, expected) = cuts(Some(1000), Some(16_000));
    assert!(found.seconds <= 1.05 * expected.seconds, "{cut:?}");

    let rates = ClusterRates::new(1e3, 1e9, 0.2);
    let machine = ClusterMachine::new(1, 1e9, 0.5);
    let best = |tasks| {
        let run = ClusterRun::new(1e9, 1).with_workers(20_000);
        let ranges = Some(1);
        simulate_best(&run, Cuts { tasks, ranges }, &rates, &machine, &store()).unwrap()
    };
    // As many tasks as doubling comes to in twelve steps leave most machines idle.
    let ((cut, found), (_, few)) = (best(None), best(Some(4096)));
    assert!(2.0 * found.learn.seconds < few.learn.seconds, "{cut:?}");
    assert!(found.seconds < few.seconds, "{cut:?}");
}

#[test]
fn numbers_that_cannot_be_are_refused() {
    let run = steady(1e9, 10);
    for wrong in [
        steady(0.0, 10),
        steady(f64::NAN, 10),
        steady(1e9, 0),
        run.clone().with_workers(0),
        run.clone().with_ranges(u64::MAX),
        run.clone().with_levels(0),
        run.clone().with_spread(-1.0),
        run.clone().with_spread(f64::INFINITY),
        run.clone().with_deaths(f64::NAN, 1.0),
    ] {
        let found = simulate(&wrong, &rates(), &machine(), &store());
        assert!(matches!(found, Err(PlanError::Value { .. })), "{wrong:?}");
    }
    let found = simulate(
        &run,
        &ClusterRates::new(0.0, 1.0, 1.0),
        &machine(),
        &store(),
    );
    assert!(found.is_err());
    let idle = ClusterMachine::new(0, 1e9, 1.0);
    assert!(simulate(&run, &rates(), &idle, &store()).is_err());
    let none = store().with_limits(0.0, 1.0);
    assert!(simulate(&run, &rates(), &machine(), &none).is_err());
}
