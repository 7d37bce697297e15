//! Plans that are extended: every generation is what one machine learns of all that it holds, and
//! stays that.

use std::sync::Arc;

use kato_cluster::marker::Publication;
use kato_cluster::{Cluster, ClusterError, Completed, ExtendOptions, PlanGeneration, PlanOptions};
use kato_store::slice::NameRanges;
use object_store::memory::InMemory;

use crate::support::{Place, block};

const RANGES: u32 = 2;
const LEVELS: usize = 2;

/// Learns, merges and seals the last generation.
fn work(place: &Place, cluster: &Cluster, tasks: u32) {
    for task in 0..tasks {
        assert!(block(place.learn(cluster, task)).unwrap().by_this_call());
    }
    for level in 0..LEVELS {
        for range in 0..RANGES {
            assert!(
                block(cluster.merge(level, range, place.scratch()))
                    .unwrap()
                    .by_this_call()
            );
        }
    }
    for range in 0..RANGES {
        assert!(
            block(cluster.seal(range, place.scratch()))
                .unwrap()
                .by_this_call()
        );
    }
}

/// Plans and works off the first generation.
fn first(place: &Place) -> Cluster {
    let cluster = Cluster::new(Arc::new(InMemory::new()), "plan".into());
    let mut options = PlanOptions::new(3);
    options.ranges = NameRanges::new(RANGES).unwrap();
    block(place.plan(&cluster, &options)).unwrap();
    work(place, &cluster, 3);
    cluster
}

#[test]
fn a_generation_is_what_one_machine_learns_of_all_corpora_one_after_the_other() {
    for with_positions in [false, true] {
        let place = Place::new(with_positions);
        let expected = [0, 1, 2].map(|additions| place.train_with(additions));
        for tasks in [1, 2, 5] {
            let mut cluster = first(&place);
            assert_eq!(place.publish(&cluster), expected[0]);
            for generation in 0..2 {
                let options = ExtendOptions::new(tasks);
                let plan = block(place.extend(&cluster, generation, &options)).unwrap();
                assert!(plan.by_this_call());
                let plan = plan.into_inner();
                assert_eq!(plan.is_cut_by_shards(), !with_positions);
                assert_eq!(plan.generation() as usize, generation + 1);
                // The same again is not another.
                let again = block(place.extend(&cluster, generation, &options)).unwrap();
                assert_eq!(again, Completed::Before(plan));
                let error = block(cluster.merge(0, 0, place.scratch())).unwrap_err();
                assert!(error.to_string().contains("tasks are not done"), "{error}");
                work(&place, &cluster, tasks);
                assert_eq!(
                    place.publish(&cluster),
                    expected[generation + 1],
                    "{tasks} tasks"
                );
            }
            // Those before are what they were.
            for (number, expected) in (0..).zip(&expected) {
                cluster = cluster.with_generation(PlanGeneration::Number(number));
                assert_eq!(&place.publish(&cluster), expected);
            }
        }
    }
}

#[test]
fn generations_are_found_by_number_digest_and_tag() {
    let place = Place::new(false);
    let mut cluster = first(&place);
    let error = block(cluster.tag("v1")).unwrap_err();
    assert!(
        matches!(error, ClusterError::NotPublished { generation: 0 }),
        "{error:?}"
    );
    cluster = cluster.with_generation(PlanGeneration::Newest);
    let error = block(cluster.read_plan()).unwrap_err();
    assert!(
        matches!(error, ClusterError::NotPublished { .. }),
        "{error:?}"
    );
    cluster = cluster.with_generation(PlanGeneration::Last);
    place.publish(&cluster);
    assert!(block(cluster.tag("v1")).unwrap().by_this_call());
    assert!(!block(cluster.tag("v1")).unwrap().by_this_call());
    let extended = block(place.extend(&cluster, 0, &ExtendOptions::new(2))).unwrap();
    let digest = extended.into_inner().digest();
    for (word, number) in [
        ("last", 1),
        ("newest", 0),
        ("0", 0),
        ("1", 1),
        ("v1", 0),
        (&digest[..8], 1),
        (&digest, 1),
        (&digest.to_uppercase(), 1),
    ] {
        cluster = cluster.with_generation(PlanGeneration::from_word(word));
        let plan = block(cluster.read_plan()).unwrap();
        assert_eq!(plan.generation(), number, "{word}");
    }
    for word in ["2", "v2", "00000000", "a/b"] {
        cluster = cluster.with_generation(PlanGeneration::from_word(word));
        let error = block(cluster.read_plan()).unwrap_err();
        assert!(
            matches!(error, ClusterError::UnknownGeneration { .. }),
            "{word}: {error:?}"
        );
    }
    // A name stays where it is.
    cluster = cluster.with_generation(PlanGeneration::Last);
    work(&place, &cluster, 2);
    place.publish(&cluster);
    let error = block(cluster.tag("v1")).unwrap_err();
    assert!(
        matches!(error, ClusterError::TagTaken { generation: 0, .. }),
        "{error:?}"
    );
    let error = block(cluster.tag("1")).unwrap_err();
    assert!(matches!(error, ClusterError::TagName { .. }), "{error:?}");
    block(cluster.tag("v2")).unwrap();
    let generations = block(cluster.generations()).unwrap();
    let tags: Vec<_> = generations.iter().map(|it| it.tags.join(" ")).collect();
    assert_eq!(tags, ["v1", "v2"]);
    assert!(generations.iter().all(|generation| generation.published));
}

#[test]
fn generations_are_compared_pattern_by_pattern() {
    let place = Place::new(false);
    let cluster = first(&place);
    block(place.extend(&cluster, 0, &ExtendOptions::new(2))).unwrap();
    let sides = (PlanGeneration::Number(0), PlanGeneration::Number(1));
    let error = block(cluster.diff(&sides.0, &sides.1, place.scratch())).unwrap_err();
    assert!(error.to_string().contains("merges are not done"), "{error}");
    work(&place, &cluster, 2);
    let difference = block(cluster.diff(&sides.0, &sides.1, place.scratch())).unwrap();
    assert_eq!((difference.left, difference.right), (0, 1));
    for level in &difference.levels {
        let patterns = &level.patterns;
        assert_eq!(patterns.only_left, 0, "{level:?}");
        assert!(patterns.only_right > 0 && patterns.equal > 0, "{level:?}");
        assert!(patterns.right_learns > patterns.left_learns, "{level:?}");
    }
    // What both corpora have is counted more often.
    assert!(difference.levels[0].patterns.changed > 0, "{difference:?}");
    let same = block(cluster.diff(&sides.1, &sides.1, place.scratch())).unwrap();
    for level in &same.levels {
        let patterns = &level.patterns;
        assert_eq!(
            (patterns.only_left, patterns.only_right, patterns.changed),
            (0, 0, 0)
        );
    }
}

#[test]
fn what_cannot_be_extended_is_refused() {
    let place = Place::new(false);
    let cluster = Cluster::new(Arc::new(InMemory::new()), "plan".into());
    let extend = |tasks| block(place.extend(&cluster, 0, &ExtendOptions::new(tasks)));
    assert!(matches!(extend(2).unwrap_err(), ClusterError::NotPlanned));
    let plan = || block(place.plan(&cluster, &PlanOptions::new(2))).unwrap();
    assert!(plan().by_this_call());
    assert!(!plan().by_this_call());
    // What the first counts is part of the second's plan.
    let error = extend(2).unwrap_err();
    assert!(
        matches!(error, ClusterError::Unfinished { what: "tasks", .. }),
        "{error:?}"
    );
    for task in 0..2 {
        block(place.learn(&cluster, task)).unwrap();
    }
    assert!(matches!(
        extend(0).unwrap_err(),
        ClusterError::Unplannable { .. }
    ));
    assert!(extend(2).unwrap().by_this_call());
    // The same corpus otherwise.
    let error = extend(3).unwrap_err();
    assert!(matches!(error, ClusterError::OtherExtension), "{error:?}");
    // Two extensions at once cannot become two generations of one number, and a corpus that has
    // changed since is no base.
    for task in 0..2 {
        block(place.learn(&cluster, task)).unwrap();
    }
    place.damage();
    let error = block(place.extend(&cluster, 1, &ExtendOptions::new(2))).unwrap_err();
    assert!(
        matches!(error, ClusterError::Unplannable { .. }),
        "{error:?}"
    );
    let limited = Cluster::new(Arc::new(InMemory::new()), "plan".into());
    let mut options = PlanOptions::new(1);
    options.max_documents = Some(3);
    block(place.plan(&limited, &options)).unwrap();
    block(place.learn(&limited, 0)).unwrap();
    let error = block(place.extend(&limited, 0, &ExtendOptions::new(2))).unwrap_err();
    assert!(error.to_string().contains("limits"), "{error}");
}

#[test]
fn a_publication_is_read_under_its_former_name() {
    let former = r#"{"plan":"p","levels":[],"samples":3,"tokens":7,"segments":[]}"#;
    let publication: Publication = serde_json::from_str(former).unwrap();
    assert_eq!((publication.documents, publication.tokens), (3, 7));
}
