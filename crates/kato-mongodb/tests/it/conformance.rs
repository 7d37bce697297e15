//! The store keeps the contract under both guards.

use kato_mongodb::Guard;
use kato_store::conformance;

use crate::support::{OnServer, server};

#[test]
fn the_contract_is_kept_in_transactions() {
    let Some(uri) = server() else { return };
    conformance::run(&OnServer {
        uri,
        guard: Guard::Transaction,
    });
}

#[test]
fn the_contract_is_kept_with_a_journal() {
    let Some(uri) = server() else { return };
    conformance::run(&OnServer {
        uri,
        guard: Guard::Journal,
    });
}
