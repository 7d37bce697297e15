//! The contract of [`PatternStore`] as tests that every implementation passes.
//!
//! Write a [`Fixture`] for the store and call [`run`] from a test. Every function panics with what
//! was found when the store breaks the contract; they can be called one by one, too. For random
//! input, create [`Lessons`] and pass them to [`teaches_the_same`], which compares a store with
//! [`MemoryStore`](crate::MemoryStore) over any grouping and order.
//!
//! Failures below the store are not part of these tests, because only its crate can cause them. It
//! maps them to [`StoreErrorKind`](crate::StoreErrorKind)s and tests that itself: an operation that
//! may succeed later is `Transient`, a writer that was replaced gets `Fenced`.
//!
//! Not stable: functions may be added and changed in any release.
//!
//! ```
//! use kato_model::AttributeLimits;
//! use kato_store::{MemoryStore, conformance};
//! use serde_json::Value;
//!
//! struct InMemory;
//!
//! impl conformance::Fixture for InMemory {
//!     type Store = MemoryStore;
//!
//!     fn create(&self, nodes: &[&str], configuration: Value, limits: AttributeLimits) -> MemoryStore {
//!         MemoryStore::with_limits(nodes, configuration, limits)
//!     }
//! }
//!
//! conformance::run(&InMemory);
//! ```
#![expect(
    clippy::missing_panics_doc,
    reason = "every function here panics when the store breaks the contract"
)]

mod attributes;
mod commits;
mod content;
mod forgetting;
mod lessons;
mod merging;
mod symbols;
mod tombstones;
mod vectors;
mod visits;

use kato_model::{AttributeLimits, PatternName, SealedBatch};
use serde_json::{Value, json};

pub use self::attributes::{
    affinities_add_up, documents_are_found_by_sample, emotives_keep_the_latest,
    emotives_that_no_file_keeps_are_refused, first_sightings_are_the_earliest,
    imported_frequencies_count, metadata_is_united_within_limits,
};
pub use self::commits::{
    a_new_store_is_empty, a_scan_sees_the_commits_before_it, abandoned_batches_do_no_harm,
    an_empty_commit_moves_only_the_checkpoint, batches_of_other_stores_are_refused,
    batches_with_other_nodes_are_refused, clearing_forgets_everything,
    staged_batches_are_invisible, threads_stage_at_once, unknown_nodes_are_refused,
    what_was_committed_survives_reopening,
};
pub use self::content::{NodeContent, assert_same_content, content};
pub use self::forgetting::{
    a_forgotten_pattern_begins_anew, a_scan_goes_on_over_what_is_forgotten,
    batches_staged_before_forgetting_still_count, forgets_the_same,
    forgetting_for_other_nodes_changes_nothing, forgetting_is_durable_and_one_commit,
    forgotten_patterns_take_their_counts_along, names_of_the_forgotten_stay_as_references,
    unknown_names_are_passed_over,
};
pub use self::lessons::{CallSymbol, LearnCall, Lessons};
pub use self::merging::{
    order_and_grouping_do_not_show, repeated_patterns_add_up, teaches_the_same,
};
pub use self::symbols::{children_are_names, events_keep_their_bounds, every_text_is_a_symbol};
pub use self::tombstones::tombstones_belong_to_a_commit;
pub use self::vectors::{
    of_vectors_with_one_name_the_smallest_is_kept, vectors_come_back_bit_for_bit,
};
pub use self::visits::a_visitor_may_break_off_and_use_the_store;
use crate::contract::StagedBatch;
use crate::{PatternStore, StoredPattern};

/// A factory of the stores under test.
pub trait Fixture {
    /// The implementation.
    type Store: PatternStore;

    /// Creates a new, empty store; earlier ones keep working beside it.
    fn create(&self, nodes: &[&str], configuration: Value, limits: AttributeLimits) -> Self::Store;

    /// Closes the store and opens it again. A store that is not durable stays as it is.
    fn reopen(&self, store: Self::Store) -> Self::Store {
        store
    }
}

/// Checks that a store keeps the contract: runs all tests but those that take [`Lessons`].
pub fn run(fixture: &impl Fixture) {
    a_new_store_is_empty(fixture);
    staged_batches_are_invisible(fixture);
    abandoned_batches_do_no_harm(fixture);
    an_empty_commit_moves_only_the_checkpoint(fixture);
    batches_with_other_nodes_are_refused(fixture);
    batches_of_other_stores_are_refused(fixture);
    unknown_nodes_are_refused(fixture);
    what_was_committed_survives_reopening(fixture);
    a_scan_sees_the_commits_before_it(fixture);
    clearing_forgets_everything(fixture);
    forgotten_patterns_take_their_counts_along(fixture);
    names_of_the_forgotten_stay_as_references(fixture);
    forgetting_is_durable_and_one_commit(fixture);
    forgetting_for_other_nodes_changes_nothing(fixture);
    unknown_names_are_passed_over(fixture);
    a_forgotten_pattern_begins_anew(fixture);
    batches_staged_before_forgetting_still_count(fixture);
    a_scan_goes_on_over_what_is_forgotten(fixture);
    tombstones_belong_to_a_commit(fixture);
    threads_stage_at_once(fixture);
    repeated_patterns_add_up(fixture);
    order_and_grouping_do_not_show(fixture);
    children_are_names(fixture);
    every_text_is_a_symbol(fixture);
    events_keep_their_bounds(fixture);
    metadata_is_united_within_limits(fixture);
    emotives_keep_the_latest(fixture);
    affinities_add_up(fixture);
    emotives_that_no_file_keeps_are_refused(fixture);
    first_sightings_are_the_earliest(fixture);
    documents_are_found_by_sample(fixture);
    imported_frequencies_count(fixture);
    vectors_come_back_bit_for_bit(fixture);
    of_vectors_with_one_name_the_smallest_is_kept(fixture);
    a_visitor_may_break_off_and_use_the_store(fixture);
}

/// Creates a store with default limits.
fn create<F: Fixture>(fixture: &F, nodes: &[&str]) -> F::Store {
    fixture.create(
        nodes,
        json!({"run": "conformance"}),
        AttributeLimits::default(),
    )
}

/// Stages a batch that the store has to accept.
fn stage(store: &dyn PatternStore, batch: SealedBatch) -> StagedBatch {
    store
        .stage(batch)
        .expect("a batch for this store can be staged")
}

/// Commits batches that the store staged itself.
fn commit(store: &dyn PatternStore, staged: Vec<StagedBatch>, checkpoint: Value) {
    store
        .commit(staged, checkpoint)
        .expect("what a store staged it can commit");
}

/// Commits one batch of all lessons.
fn teach(store: &dyn PatternStore, lessons: &Lessons) {
    let all: Vec<usize> = (0..lessons.len()).collect();
    commit(store, vec![stage(store, lessons.batch(&all))], Value::Null);
}

/// Returns a pattern that was learned.
fn learned(store: &dyn PatternStore, node_idx: usize, name: PatternName) -> StoredPattern {
    let found = store
        .pattern(node_idx, &name)
        .expect("patterns can be looked up");
    found.expect("the pattern was learned")
}
