//! The backends, each with its schedules.

use kato_stock_server::Generation;

use crate::campaign::Campaign;

/// What a run trains into.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Backend {
    Embedded,
    /// A server of ours.
    Kato,
    /// A server of ours that shows what a stock KATO shows, and is as quick and as atomic as ours.
    Plain,
    /// A stand-in that is as bad as a real KATO 3.10.
    Stock,
    /// The same for a KATO of October 2025.
    October,
    Mongodb,
}

impl Backend {
    pub(crate) const ALL: [Self; 6] = [
        Self::Embedded,
        Self::Kato,
        Self::Plain,
        Self::Stock,
        Self::October,
        Self::Mongodb,
    ];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Embedded => "embedded",
            Self::Kato => "kato",
            Self::Plain => "plain",
            Self::Stock => "stock",
            Self::October => "october",
            Self::Mongodb => "mongodb",
        }
    }

    /// Whether it is the program `serve`.
    pub(crate) const fn is_ours(self) -> bool {
        matches!(self, Self::Kato | Self::Plain)
    }

    /// Which KATO the stand-in is, where it is one.
    pub(crate) const fn generation(self) -> Option<Generation> {
        match self {
            Self::Stock => Some(Generation::V3_10),
            Self::October => Some(Generation::October2025),
            _ => None,
        }
    }

    /// Whether it is reached over KATO's HTTP interface.
    pub(crate) const fn is_served(self) -> bool {
        self.is_ours() || self.generation().is_some()
    }

    /// Whether it forgets which requests it has carried out.
    pub(crate) const fn is_forgetful(self) -> bool {
        matches!(self, Self::Plain | Self::Stock | Self::October)
    }

    /// Whether what it needs is there; if not, a line says how to get it.
    pub(crate) fn is_installed(self) -> bool {
        self != Self::Mongodb || kato_mongo_server::is_installed()
    }

    /// Records of the corpus: as many as take about a second, or some where a learn takes its time.
    pub(crate) const fn n_records(self) -> u64 {
        match self {
            Self::Embedded => 700,
            Self::Kato => 260,
            Self::Plain => 100,
            Self::Stock | Self::October => 14,
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
    check(Backend::Embedded, 16, 1);
}

#[test]
fn kato_rs_server() {
    check(Backend::Kato, 8, 1);
}

/// Without idempotency keys: what arrived is asked for. The server is killed as well; it is one of
/// ours, so what it acknowledged it keeps.
#[test]
fn kato_rs_server_without_extensions() {
    check(Backend::Plain, 4, 2);
}

/// A learn takes its time, nothing is atomic, and what was sent goes on: slow, killed, abandoned,
/// and all of it.
#[test]
fn stock_server() {
    check(Backend::Stock, 4, 4);
}

#[test]
fn stock_server_of_october_2025() {
    check(Backend::October, 4, 4);
}

#[test]
fn mongodb() {
    check(Backend::Mongodb, 4, 1);
}
