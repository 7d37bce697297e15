//! Rules of the servers: endpoints, forms of answers, names of knowledge bases.

use super::KatoGeneration;

impl KatoGeneration {
    /// Returns whether a server tells the number of a node's patterns (`GET /patterns/count`).
    #[must_use]
    pub fn counts_patterns(self) -> bool {
        self >= Self::V5
    }


    /// Returns whether health and the event stream tell the process that answers (`worker_pid`).
    #[must_use]
    pub fn tells_worker(self) -> bool {
        self >= Self::V5
    }

    /// Returns whether a server's own failures are objects with a code under `error`, and not a
    /// `detail`.
    #[must_use]
    pub fn failures_have_codes(self) -> bool {
        self >= Self::V5
    }

    /// Returns whether pages of other origins may send credentials.
    #[must_use]
    pub fn allows_credentials(self) -> bool {
        self < Self::V5
    }

    /// Returns whether the message of a learn tells the events that were learned, and not those
    /// that are left.
    #[must_use]
    pub fn learn_tells_events(self) -> bool {
        self >= Self::V6
    }

    /// Returns whether the answer to an observation has a place for what the search for vectors
    /// found (`vector_search`), which is null unless the session asks for it.
    // Documents leave open whether it is there when nobody asks; the recorded server has it.
    #[must_use]
    pub fn answers_vector_search(self) -> bool {
        self >= Self::V6
    }

    /// Returns whether the name of a knowledge base keeps nothing but ASCII letters, digits and `_`
    /// of the ids that it is made of.
    #[must_use]
    pub fn processor_ids_are_words(self) -> bool {
        self >= Self::V5
    }
}
