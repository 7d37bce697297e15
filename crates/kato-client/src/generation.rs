//! Generations of KATO servers.

use std::fmt;

use kato_protocol::extension::Extensions;
use kato_protocol::session::Root;

/// A generation of KATO servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ServerGeneration {
    /// The MongoDB generation of October 2025, whose API says version 1.0.0.
    October2025,
    /// 3.10.x and compatible servers, kato-rs included.
    V3_10,
}

impl ServerGeneration {
    /// Returns the generation of a server that describes itself like this.
    pub(crate) fn from_root(root: &Root) -> Self {
        let major = root.version.split('.').next().unwrap_or_default();
        match major.parse::<u64>() {
            Ok(0..=2) => Self::October2025,
            // Also a version that cannot be parsed: what is unknown is taken for new.
            _ => Self::V3_10,
        }
    }
}

impl fmt::Display for ServerGeneration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::October2025 => "2025-10",
            Self::V3_10 => "3.10",
        })
    }
}

/// The facts about the server behind a pool of connections.
#[derive(Debug, Clone)]
pub(crate) struct Server {
    pub(crate) generation: ServerGeneration,
    pub(crate) extensions: Option<Extensions>,
}

impl Server {
    /// Returns whether the server honours idempotency keys.
    pub(crate) fn has_keys(&self) -> bool {
        self.extensions
            .as_ref()
            .is_some_and(|extensions| extensions.idempotency_keys)
    }
}
