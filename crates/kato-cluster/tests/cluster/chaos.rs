//! Seeded schedules over a store with faults, and what a plan must refuse.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;

use crate::support::{Chaos, Place, block, poll_once, retry, step};
use kato_cluster::status::GIVEN_UP_AFTER;
use kato_cluster::{Cluster, ClusterError, ExtendOptions, GcOptions, PlanGeneration, PlanOptions};
use kato_random::SplitMix64;
use kato_store::slice::NameRanges;
use kato_test_needs::is_thorough;
use object_store::memory::InMemory;

/// Schedules where tests are to be thorough, and where not; `KATO_CHAOS_SCHEDULES` asks for more.
const SCHEDULES: [u64; 2] = [300, 100];

type Work<'a> = Pin<Box<dyn Future<Output = Option<String>> + 'a>>;

/// One piece of work of the plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Piece {
    Task(u32),
    Merge(usize, u32),
    Seal(u32),
}

fn begin<'a>(cluster: &'a Cluster, place: &'a Place, piece: Piece) -> Work<'a> {
    Box::pin(async move {
        let outcome = match piece {
            Piece::Task(task) => Box::pin(place.learn(cluster, task)).await.map(drop),
            Piece::Merge(level, range) => {
                cluster.merge(level, range, place.scratch()).await.map(drop)
            }
            Piece::Seal(range) => cluster.seal(range, place.scratch()).await.map(drop),
        };
        outcome.err().map(|error| format!("{error:?}"))
    })
}

/// Runs pieces until each was done by somebody: several workers at a time, in an order that the seed
/// decides, some of which are killed or started twice.
fn run(
    cluster: &Cluster,
    place: &Place,
    pieces: &[Piece],
    draw: &mut SplitMix64,
    killed: &mut Vec<Piece>,
) {
    let mut left: BTreeMap<Piece, u32> = pieces.iter().map(|piece| (*piece, 0)).collect();
    let mut workers: Vec<(Piece, Work<'_>, u64)> = Vec::new();
    while !left.is_empty() || !workers.is_empty() {
        let open: Vec<Piece> = left.keys().copied().collect();
        let wants_more = workers.len() < 3 && !open.is_empty();
        if workers.is_empty() || (wants_more && draw.next_u64().is_multiple_of(3)) {
            let piece = open[(draw.next_u64() % open.len() as u64) as usize];
            // The polls after which it is killed; never, once it has died often.
            let died = left.get_mut(&piece).expect("it was just drawn");
            let life = match *died < 4 && draw.next_u64().is_multiple_of(3) {
                true => draw.next_u64() % 40,
                false => u64::MAX,
            };
            *died += 1;
            workers.push((piece, begin(cluster, place, piece), life));
            continue;
        }
        let at = (draw.next_u64() % workers.len() as u64) as usize;
        let (piece, work, life) = &mut workers[at];
        let piece = *piece;
        if *life == 0 {
            if draw.next_u64().is_multiple_of(2) {
                killed.push(piece);
            }
            drop(workers.swap_remove(at));
            continue;
        }
        *life -= 1;
        if let Poll::Ready(failed) = step(work.as_mut()) {
            assert_eq!(failed, None, "{piece:?}");
            drop(workers.swap_remove(at));
            left.remove(&piece);
        }
    }
}

#[test]
fn every_schedule_ends_as_one_machine() {
    let schedules = std::env::var("KATO_CHAOS_SCHEDULES")
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(SCHEDULES[usize::from(!is_thorough())]);
    let only: Option<u64> = std::env::var("KATO_CHAOS_SEED")
        .ok()
        .and_then(|text| text.parse().ok());
    let place = Place::new(false);
    let expected = [0, 1, 2].map(|additions| place.train_with(additions));
    let seeds = only.map_or(0..schedules, |seed| seed..seed + 1);
    for seed in seeds {
        let mut draw = SplitMix64::from_seed(seed);
        let store = Arc::new(Chaos::new(InMemory::new(), draw.next_u64()));
        let open = |generation| {
            let (policy, pause) = retry();
            let store = Arc::clone(&store);
            Cluster::new(store, "plan".into())
                .with_retry(policy, pause)
                .with_generation(generation)
        };
        let cluster = open(PlanGeneration::Number(0));
        let tasks = [1, 3, 4][(draw.next_u64() % 3) as usize];
        let ranges = [1, 2][(draw.next_u64() % 2) as usize];
        let mut options = PlanOptions::new(tasks);
        options.ranges = NameRanges::new(ranges).unwrap();
        for _ in 0..1 + draw.next_u64() % 2 {
            block(place.plan(&cluster, &options)).unwrap();
        }
        let all_tasks: Vec<Piece> = (0..tasks).map(Piece::Task).collect();
        let all_merges: Vec<Piece> = (0..2)
            .flat_map(|level| (0..ranges).map(move |range| Piece::Merge(level, range)))
            .collect();
        // A worker that has learned and uploaded, and sleeps until all is over.
        let zombie_task = (draw.next_u64() % u64::from(tasks)) as u32;
        let mut zombie = begin(&cluster, &place, Piece::Task(zombie_task));
        let mut zombie_done = false;
        for _ in 0..draw.next_u64() % 60 {
            if step(zombie.as_mut()).is_ready() {
                zombie_done = true;
                break;
            }
        }
        let mut killed = Vec::new();
        run(&cluster, &place, &all_tasks, &mut draw, &mut killed);
        let collect = GcOptions::default();
        if draw.next_u64().is_multiple_of(2) {
            block(cluster.gc(&collect)).unwrap();
        }
        run(&cluster, &place, &all_merges, &mut draw, &mut killed);
        if draw.next_u64().is_multiple_of(2) {
            block(cluster.gc(&collect)).unwrap();
        }
        let all_seals: Vec<Piece> = (0..ranges).map(Piece::Seal).collect();
        run(&cluster, &place, &all_seals, &mut draw, &mut killed);
        // Whoever still sleeps when its task is done may find that what it uploads is removed.
        // It wakes, uploads what is left and wants to commit: the task is done.
        let sleeps_on = draw.next_u64().is_multiple_of(2);
        let mut zombie = (!zombie_done).then_some(zombie);
        if !sleeps_on && let Some(zombie) = zombie.take() {
            assert_eq!(block(zombie), None, "seed {seed}");
        }
        // The scheduler starts some of the killed once more.
        for piece in killed {
            assert_eq!(block(begin(&cluster, &place, piece)), None, "seed {seed}");
        }
        let with_inputs = draw.next_u64().is_multiple_of(2);
        block(cluster.gc(&collect.clone().with_merged_inputs(with_inputs))).unwrap();
        assert_eq!(place.publish(&cluster), expected[0], "seed {seed}");
        // Some are extended, once or twice; what was published stays as it is.
        let first = &cluster;
        let cluster = open(PlanGeneration::Last);
        for generation in 0..(draw.next_u64() % 5).saturating_sub(2) as usize {
            let tasks = [1, 2, 3][(draw.next_u64() % 3) as usize];
            for _ in 0..1 + draw.next_u64() % 2 {
                let options = ExtendOptions::new(tasks);
                let extended = block(place.extend(&cluster, generation, &options));
                let plan = extended.unwrap().into_inner();
                assert_eq!(plan.generation() as usize, generation + 1);
            }
            let all_tasks: Vec<Piece> = (0..tasks).map(Piece::Task).collect();
            run(&cluster, &place, &all_tasks, &mut draw, &mut Vec::new());
            if draw.next_u64().is_multiple_of(2) {
                block(cluster.gc(&collect)).unwrap();
            }
            run(&cluster, &place, &all_merges, &mut draw, &mut Vec::new());
            run(&cluster, &place, &all_seals, &mut draw, &mut Vec::new());
            let with_inputs = draw.next_u64().is_multiple_of(2);
            block(cluster.gc(&collect.clone().with_merged_inputs(with_inputs))).unwrap();
            let published = place.publish(&cluster);
            assert_eq!(published, expected[generation + 1], "seed {seed}");
        }
        if let Some(zombie) = zombie {
            assert_eq!(block(zombie), None, "seed {seed}");
        }
        assert_eq!(place.publish(first), expected[0], "seed {seed}");
    }
}

#[test]
fn what_is_dropped_while_it_computes_counts_for_nothing_and_leaves_no_file() {
    let place = Place::new(false);
    let expected = place.train();
    let cluster = Cluster::new(Arc::new(InMemory::new()), "plan".into());
    block(place.plan(&cluster, &PlanOptions::new(2))).unwrap();
    let tasks = [Piece::Task(0), Piece::Task(1)];
    let merges = [Piece::Merge(0, 0), Piece::Merge(1, 0)];
    let seals = [Piece::Seal(0)];
    for piece in tasks.into_iter().chain(merges).chain(seals) {
        // After every number of polls up to where it is done: nothing here waits but for what is
        // computed, so each of these drops falls into that.
        for polls in 0.. {
            let mut work = begin(&cluster, &place, piece);
            let mut polled = (0..polls).map(|_| {
                let is_ready = poll_once(work.as_mut()).is_ready();
                std::thread::park_timeout(std::time::Duration::from_millis(1));
                is_ready
            });
            if polled.any(|is_ready| is_ready) {
                break;
            }
        }
        assert_eq!(block(begin(&cluster, &place, piece)), None, "{piece:?}");
    }
    assert_eq!(place.publish(&cluster), expected);
    // Directories go when what was begun is at its end.
    kato_test_needs::wait_until("no working files are left behind", || {
        std::fs::read_dir(place.scratch()).unwrap().next().is_none()
    });
}

#[test]
fn a_store_that_overwrites_is_refused() {
    let place = Place::new(false);
    let cluster = Cluster::new(Arc::new(crate::support::Overwriting::new()), "plan".into());
    let error = block(place.plan(&cluster, &PlanOptions::new(2))).unwrap_err();
    assert!(
        matches!(error, ClusterError::NoConditionalWrites),
        "{error:?}"
    );
}

#[test]
fn collecting_garbage_takes_no_store_away_from_somebody_who_plans() {
    let place = Place::new(false);
    let options = PlanOptions::new(2);
    for (seed, is_planned) in (0..10).flat_map(|seed| [(seed, false), (seed, true)]) {
        for n_steps in 1..14 {
            let store = Arc::new(Chaos::new(InMemory::new(), seed));
            let cluster = || {
                let (policy, pause) = retry();
                let store = Arc::clone(&store);
                Cluster::new(store, "plan".into()).with_retry(policy, pause)
            };
            let (one, other) = (cluster(), cluster());
            if is_planned {
                block(place.plan(&other, &options)).unwrap();
            }
            let mut planning = Box::pin(place.plan(&one, &options));
            let mut early = None;
            for _ in 0..n_steps {
                if let Poll::Ready(planned) = step(planning.as_mut()) {
                    early = Some(planned);
                    break;
                }
            }
            block(place.plan(&other, &options)).unwrap();
            // What it does not see in one listing it sees in another.
            for _ in 0..4 {
                block(other.gc(&GcOptions::default())).unwrap();
            }
            let planned = early.unwrap_or_else(|| block(planning));
            assert!(planned.is_ok(), "seed {seed}, {n_steps} steps: {planned:?}");
        }
    }
}

#[test]
fn tasks_and_ranges_of_any_number_give_one_result() {
    for with_positions in [false, true] {
        let place = Place::new(with_positions);
        let expected = place.train();
        for tasks in [1, 3, 7] {
            for ranges in [1, 4] {
                let cluster = Cluster::new(Arc::new(InMemory::new()), "plan".into());
                let mut options = PlanOptions::new(tasks);
                options.ranges = NameRanges::new(ranges).unwrap();
                let plan = block(place.plan(&cluster, &options)).unwrap().into_inner();
                assert_eq!(plan.is_cut_by_shards(), !with_positions);
                let error = block(cluster.seal(0, place.scratch())).unwrap_err();
                assert!(
                    error.to_string().contains("merges are not done: merged/0"),
                    "{error}"
                );
                let error = block(cluster.merge(0, 0, place.scratch())).unwrap_err();
                assert!(
                    error.to_string().contains("tasks are not done: 0"),
                    "{error}"
                );
                for task in 0..tasks {
                    assert!(block(place.learn(&cluster, task)).unwrap().by_this_call());
                    assert!(!block(place.learn(&cluster, task)).unwrap().by_this_call());
                }
                for level in 0..2 {
                    for range in 0..ranges {
                        let merged = block(cluster.merge(level, range, place.scratch()));
                        assert!(merged.unwrap().by_this_call());
                    }
                }
                let error = block(cluster.publish(&place.scratch().join("kb"))).unwrap_err();
                assert!(
                    error.to_string().contains("ranges are not done: 0"),
                    "{error}"
                );
                for range in 0..ranges {
                    assert!(
                        block(cluster.seal(range, place.scratch()))
                            .unwrap()
                            .by_this_call()
                    );
                    assert!(
                        !block(cluster.seal(range, place.scratch()))
                            .unwrap()
                            .by_this_call()
                    );
                }
                assert_eq!(
                    place.publish(&cluster),
                    expected,
                    "{tasks} tasks, {ranges} ranges"
                );
                let status = block(cluster.status()).unwrap();
                assert_eq!((status.tasks_done, status.tasks_open.len()), (tasks, 0));
                assert_eq!(status.merges_done, status.merges);
                assert_eq!((status.ranges_sealed, status.ranges), (ranges, ranges));
            }
        }
    }
}

#[test]
fn a_task_that_fails_is_listed_and_never_left_out() {
    let place = Place::new(false);
    let cluster = Cluster::new(Arc::new(InMemory::new()), "plan".into());
    block(place.plan(&cluster, &PlanOptions::new(3))).unwrap();
    place.damage();
    for task in 0..3 {
        block(place.learn(&cluster, task)).unwrap_err();
    }
    let status = block(cluster.status()).unwrap();
    assert_eq!((status.tasks_done, status.failures.len()), (0, 3));
    assert!(
        status.failures[0].error.contains("changed") || status.failures[0].error.contains("corpus"),
        "{status:?}"
    );
    let error = block(cluster.merge(0, 0, place.scratch())).unwrap_err();
    assert!(error.to_string().contains("task 0 failed"), "{error}");
}

#[test]
fn a_record_that_cannot_be_read_is_named_and_its_task_given_up_after_three_attempts() {
    let place = Place::new(false);
    place.add_bad_record();
    let cluster = Cluster::new(Arc::new(InMemory::new()), "plan".into());
    block(place.plan(&cluster, &PlanOptions::new(3))).unwrap();
    let failed: Vec<u32> = (0..3)
        .filter(|task| block(place.learn(&cluster, *task)).is_err())
        .collect();
    let [bad] = failed.as_slice() else {
        panic!("one file is bad, and these tasks failed: {failed:?}");
    };
    for attempts in 1..=GIVEN_UP_AFTER {
        let status = block(cluster.status()).unwrap();
        assert_eq!((status.tasks_done, status.tasks_failed), (2, 1));
        let failure = &status.failures[0];
        assert_eq!((failure.task, failure.attempts), (*bad, attempts));
        assert_eq!(failure.given_up, attempts == GIVEN_UP_AFTER);
        assert!(failure.error.contains("bad.txt"), "{failure}");
        assert!(failure.error.contains("byte 12"), "{failure}");
        let said = match attempts {
            1 => format!("task {bad} failed: "),
            2 => format!("task {bad} failed 2 times, at last: "),
            _ => format!("task {bad} failed 3 times, and will as long as nothing is changed"),
        };
        let refused = [
            block(cluster.merge(0, 0, place.scratch())).unwrap_err(),
            block(cluster.publish(&place.scratch().join("kb"))).unwrap_err(),
        ];
        for error in refused.map(|error| error.to_string()) {
            assert!(
                error.contains(&said) && error.contains("bad.txt"),
                "{error}"
            );
        }
        block(place.learn(&cluster, *bad)).unwrap_err();
    }
}
