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
        let Err(TrainError::Backend(error)) = session.outcome else {
            panic!("{how}: {:?}", session.outcome);
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
    }
}
