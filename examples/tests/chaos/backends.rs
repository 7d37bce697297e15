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
    check(Backend::Embedded, 110, 1);
}

#[test]
fn kato_rs_server() {
    check(Backend::Kato, 50, 1);
}

/// A stock server promises nothing about what it acknowledged when it dies itself, so it is not what fails here: the trainer and
/// the network are. See `Schedule`.
#[test]
fn stock_server() {
    check(Backend::Stock, 20, 2);
}

#[test]
fn mongodb() {
    check(Backend::Mongodb, 30, 1);
}
