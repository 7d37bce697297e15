//! A pattern that is retired in the middle of a request: what was learned before it counts once, and it is named.

use std::collections::BTreeSet;
use std::path::Path;

use kato_remote::RemoteError;
use kato_scheduler::TrainError;
use kato_stock_server::{Generation, StockOptions, StockServer};

use crate::run::{End, finished, train};
use crate::schedule::{Kind, Schedule, n_documents};

/// Learns before which a pattern is retired, and whether the answer tells that it is.
const LEARNS: [(u64, bool); 4] = [(1, false), (2, true), (11, false), (90, true)];

#[test]
fn what_is_retired_between_two_learns_of_a_request_is_named_and_nothing_counts_twice() {
    let program = Path::new(env!("CARGO_BIN_EXE_stock_server"));
    for (learn, is_told) in LEARNS {
        // Levels take turns as they come, so that a late learn may be of a pattern that nobody teaches again: then
        // nothing is refused, and another run is made.
        let is_met = (0..5).any(|_| meets_it(program, learn, is_told));
        assert!(is_met, "learn {learn}, told {is_told}: nobody met it");
    }
}

/// Trains while a pattern is retired before a learn, un-retires it, and goes on; returns whether the training met it.
fn meets_it(program: &Path, learn: u64, is_told: bool) -> bool {
    let dir = tempfile::tempdir().unwrap();
    let mut schedule = Schedule::new(Kind::Retired, Generation::V6_3, learn);
    // So that the number of a learn says which one it is.
    schedule.workers = 1;
    let options = StockOptions::quick()
        .generation(Generation::V6_3)
        .retire_at(learn)
        .tells_retired(is_told);
    let mut server = StockServer::start_program(program, options);
    let session = train(&schedule, &server.url(), dir.path(), n_documents());
    let how = format!("learn {learn}, told {is_told}");
    let Err(error) = session.outcome else {
        return false;
    };
    let TrainError::Backend(error) = error else {
        panic!("{how}: {error:?}");
    };
    let Some(RemoteError::Retired(found)) = error.get_ref().downcast_ref() else {
        panic!("{how}: {error:?}");
    };
    assert!(!found.documents.is_empty(), "{how}: {found:?}");
    server.unretire(&found.node, &[&found.pattern.to_string()]);
    let session = train(&schedule, &server.url(), dir.path(), n_documents());
    session
        .outcome
        .unwrap_or_else(|error| panic!("{how}: {error:?}"));
    finished(&schedule, &mut server, End::default(), &BTreeSet::new());
    true
}
