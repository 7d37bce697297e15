//! Every store keeps the contract, whatever its options.

use kato_store::conformance;
use kato_store::embedded::EmbeddedOptions;

use crate::support::{Embedded, InMemory, always_merging, merging_beside, never_rewriting};

#[test]
fn the_store_in_memory_keeps_the_contract() {
    conformance::run(&InMemory);
}

#[test]
fn the_embedded_store_keeps_the_contract() {
    conformance::run(&Embedded::default());
}

#[test]
fn the_embedded_store_keeps_the_contract_while_it_merges_all_the_time() {
    conformance::run(&Embedded::new(always_merging()));
}

#[test]
fn the_embedded_store_keeps_the_contract_while_it_merges_beside_commits() {
    conformance::run(&Embedded::new(merging_beside()));
}

#[test]
fn the_embedded_store_keeps_the_contract_while_what_is_deleted_stays_in_its_segments() {
    for options in [
        EmbeddedOptions::default(),
        always_merging(),
        merging_beside(),
    ] {
        conformance::run(&Embedded::new(never_rewriting(options)));
    }
}
