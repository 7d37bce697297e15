//! Damage: a file of the store that was changed is an error, and never another result.

use std::fs;
use std::path::{Path, PathBuf};

use kato_cluster::{Cluster, ClusterError, Plan, PlanGeneration, PlanOptions};
use kato_random::SplitMix64;
use kato_store::slice::NameRanges;
use kato_test_needs::is_thorough;

use crate::directory::files;
use crate::support::{Place, block};

/// Places of each file that are damaged at each stage, also where all cases are wanted.
const FLIPS: usize = 2;
const THOROUGH_FLIPS: usize = 6;

/// A plan of three tasks and two ranges, in a directory.
fn begin(place: &Place, store: &Path) -> Cluster {
    let cluster = Cluster::open(store.to_str().unwrap()).unwrap();
    let mut options = PlanOptions::new(3);
    options.ranges = NameRanges::new(2).unwrap();
    block(place.plan(&cluster, &options)).unwrap();
    cluster
}

/// The steps behind a plan, in order; each can be done again.
const STEPS: usize = 5;

fn step(place: &Place, cluster: &Cluster, number: usize, kb: &Path) -> Result<(), ClusterError> {
    match number {
        0 => (0..3).try_for_each(|task| block(place.learn(cluster, task)).map(drop)),
        1 => (0..4).try_for_each(|at| {
            block(cluster.merge(at / 2, u32::try_from(at % 2).unwrap(), place.scratch())).map(drop)
        }),
        2 => (0..2).try_for_each(|range| block(cluster.seal(range, place.scratch())).map(drop)),
        3 => block(cluster.publish(kb)).map(drop),
        _ => block(cluster.status()).map(drop),
    }
}

/// Copies all files of a directory.
fn copy(from: &Path, to: &Path) {
    for file in files(from) {
        let there = to.join(file.strip_prefix(from).unwrap());
        fs::create_dir_all(there.parent().unwrap()).unwrap();
        fs::copy(&file, &there).unwrap();
    }
}

/// Does all steps, and returns what is known in the end.
fn finish(place: &Place, store: &Path) -> Result<String, ClusterError> {
    let cluster = Cluster::open(store.to_str().unwrap()).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let kb = dir.path().join("kb");
    (0..STEPS).try_for_each(|number| step(place, &cluster, number, &kb))?;
    Ok(Place::published(&kb))
}

#[test]
fn a_flipped_bit_of_any_file_is_an_error_or_nothing() {
    let place = Place::new(true);
    let expected = place.train();
    let mut random = SplitMix64::from_seed(39);
    let root = tempfile::tempdir().unwrap();
    let whole = root.path().join("whole");
    let cluster = begin(&place, &whole);
    let (mut refused, mut harmless) = (0, 0);
    for done in 0..=4 {
        for file in files(&whole) {
            let bytes = fs::read(&file).unwrap();
            let name = file.strip_prefix(&whole).unwrap().to_owned();
            let n_flips = if is_thorough() { THOROUGH_FLIPS } else { FLIPS };
            for _ in 0..n_flips {
                let at = usize::try_from(random.next_u64() % bytes.len() as u64).unwrap();
                let store = root.path().join("damaged");
                copy(&whole, &store);
                let mut damaged = bytes.clone();
                damaged[at] ^= 1 << (random.next_u64() % 8);
                fs::write(store.join(&name), damaged).unwrap();
                match finish(&place, &store) {
                    Ok(found) => {
                        assert_eq!(found, expected, "{} at {at}, {done} steps", name.display());
                        // What nobody reads any more.
                        harmless += 1;
                    }
                    Err(error) => {
                        refused += 1;
                        assert!(!error.to_string().is_empty());
                    }
                }
                fs::remove_dir_all(&store).unwrap();
            }
        }
        if done < 4 {
            step(&place, &cluster, done, &root.path().join("kb")).unwrap();
        }
    }
    println!("{refused} refused, {harmless} harmless");
    assert!(refused > 0);
}

/// The plan of a directory with one of its files changed.
fn read(store: &Path) -> Result<Plan, ClusterError> {
    let cluster = Cluster::open(store.to_str().unwrap()).unwrap();
    block(cluster.read_plan())
}

/// Expects an error about a file, with a word of why.
fn assert_damaged<T: std::fmt::Debug>(result: Result<T, ClusterError>, file: &str, word: &str) {
    match result {
        Err(ClusterError::Damaged { key, reason }) => {
            assert_eq!(key, file);
            assert!(reason.contains(word), "{reason}");
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn an_edited_number_of_the_plan_is_an_error_before_anything_is_done() {
    let place = Place::new(false);
    let dir = tempfile::tempdir().unwrap();
    let cluster = begin(&place, dir.path());
    let path = dir.path().join("plan.json");
    let text = fs::read_to_string(&path).unwrap();
    let edited = text.replace("\"tasks\": 3", "\"tasks\": 4000000000");
    assert_ne!(edited, text);
    fs::write(&path, edited).unwrap();
    assert_damaged(read(dir.path()), "plan.json", "seal");
    let before = files(dir.path());
    assert_damaged(block(place.learn(&cluster, 0)), "plan.json", "seal");
    for number in 1..STEPS {
        let kb = dir.path().join("kb");
        step(&place, &cluster, number, &kb).unwrap_err();
    }
    assert_eq!(files(dir.path()), before, "something was done");
}

#[test]
fn another_plans_file_is_an_error() {
    let place = Place::new(false);
    let (dir, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    begin(&place, dir.path());
    let elsewhere = Cluster::open(other.path().to_str().unwrap()).unwrap();
    block(place.plan(&elsewhere, &PlanOptions::new(2))).unwrap();
    fs::copy(other.path().join("plan.json"), dir.path().join("plan.json")).unwrap();
    assert_damaged(read(dir.path()), "plan.json", "another plan");
    // Its markers as well.
    block(place.learn(&elsewhere, 1)).unwrap();
    begin_again(&place, dir.path());
    let marker = PathBuf::from("tasks/00000001.json");
    fs::create_dir_all(dir.path().join("tasks")).unwrap();
    fs::copy(other.path().join(&marker), dir.path().join(&marker)).unwrap();
    let cluster = Cluster::open(dir.path().to_str().unwrap()).unwrap();
    let learned = block(place.learn(&cluster, 1));
    assert_damaged(learned, "tasks/00000001.json", "another plan");
    assert_damaged(
        block(cluster.status()),
        "tasks/00000001.json",
        "another plan",
    );
}

/// Puts the plan back as it was.
fn begin_again(place: &Place, dir: &Path) {
    fs::remove_file(dir.join("plan.json")).unwrap();
    begin(place, dir);
    read(dir).unwrap();
}

#[test]
fn a_plan_whose_making_was_cut_off_is_made_again() {
    let place = Place::new(false);
    let dir = tempfile::tempdir().unwrap();
    let cluster = begin(&place, dir.path());
    fs::remove_file(dir.path().join("plan-digest.json")).unwrap();
    assert_damaged(read(dir.path()), "plan.json", "again");
    let named = Cluster::open(dir.path().to_str().unwrap())
        .unwrap()
        .with_generation(PlanGeneration::Number(0));
    assert_damaged(block(named.read_plan()), "plan.json", "again");
    let mut options = PlanOptions::new(3);
    options.ranges = NameRanges::new(2).unwrap();
    let plan = block(place.plan(&cluster, &options)).unwrap();
    assert_eq!(read(dir.path()).unwrap(), plan.into_inner());
}

#[test]
fn numbers_beyond_reason_are_refused_before_anything_is_read() {
    let place = Place::new(false);
    let dir = tempfile::tempdir().unwrap();
    let cluster = Cluster::open(dir.path().to_str().unwrap()).unwrap();
    let mut options = PlanOptions::new(u32::MAX);
    let refused = block(place.plan(&cluster, &options));
    assert!(matches!(refused, Err(ClusterError::Unplannable { .. })));
    options.tasks = 1;
    options.ranges = NameRanges::new(u32::MAX).unwrap();
    let refused = block(place.plan(&cluster, &options));
    assert!(matches!(refused, Err(ClusterError::Unplannable { .. })));
}
