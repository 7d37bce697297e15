//! The backends, each with its schedules.

use crate::campaign::Campaign;

/// What a run trains into.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Backend {
    Embedded,
    /// A server of ours.
    Kato,
    /// A server of ours that shows what a stock KATO shows.
    Stock,
    Mongodb,
}

impl Backend {
    pub(crate) const ALL: [Self; 4] = [Self::Embedded, Self::Kato, Self::Stock, Self::Mongodb];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Embedded => "embedded",
            Self::Kato => "kato",
            Self::Stock => "stock",
            Self::Mongodb => "mongodb",
        }
    }

    /// Whether it is the program `serve`.
    pub(crate) const fn is_served(self) -> bool {
        matches!(self, Self::Kato | Self::Stock)
    }

    /// Whether what it needs is there; if not, a line says how to get it.
    pub(crate) fn is_installed(self) -> bool {
        self != Self::Mongodb || kato_mongo_server::is_installed()
    }

    /// Records of the corpus: as many as take about a second.
    pub(crate) const fn n_records(self) -> u64 {
        match self {
            Self::Embedded => 700,
            Self::Kato | Self::Stock => 260,
            // The test's server takes some hundred documents a second.
            Self::Mongodb => 38,
        }
    }

    /// Whether it keeps where a pattern was first seen.
    pub(crate) const fn keeps_sightings(self) -> bool {
        !self.is_served()
    }
}

fn check(backend: Backend, n_schedules: u64, n_threads: usize) {
    Campaign::new(backend, n_schedules, n_threads).run();
}

#[test]
fn embedded_store() {
    check(Backend::Embedded, 140, 1);
}

#[test]
fn kato_rs_server() {
    check(Backend::Kato, 50, 1);
}

/// Without idempotency keys: what arrived is asked for. The server is killed as well; it is one of ours, so what it acknowledged it
/// keeps.
#[test]
fn stock_server() {
    check(Backend::Stock, 20, 2);
}

#[test]
fn mongodb() {
    check(Backend::Mongodb, 20, 1);
}
