//! Run names, which are part of node ids on a server.

use std::fmt;
use std::str::FromStr;

/// Largest length: with a node's name it must stay below the length at which KATO shortens the
/// names of knowledge bases.
const MAX_LENGTH: usize = 32;

/// The name of a run: 1 to 32 ASCII letters, digits and underscores.
///
/// The run's node ids begin with it, so that runs on one server never mix; the characters are those
/// that KATO keeps apart in names of knowledge bases.
///
/// ```
/// use kato_model::RunName;
///
/// let run: RunName = "wikitext_1".parse()?;
/// assert_eq!(run.node_id("node0"), "wikitext_1_node0");
/// assert!("wiki-text".parse::<RunName>().is_err());
/// # Ok::<(), kato_model::naming::InvalidRunName>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct RunName(String);

/// The error for a text that is not the name of a run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{name:?} is no name of a run: use 1 to {MAX_LENGTH} ASCII letters, digits and underscores"
)]
pub struct InvalidRunName {
    name: String,
}

impl RunName {
    /// Creates the name `run_` and 12 hexadecimal digits, which no other run has if the bits are
    /// random.
    #[must_use]
    pub fn from_random(bits: u64) -> Self {
        Self(format!("run_{:012x}", bits & 0xffff_ffff_ffff))
    }

    /// Returns the id of one of the run's nodes on the server.
    #[must_use]
    pub fn node_id(&self, node: &str) -> String {
        format!("{}_{node}", self.0)
    }

    /// Returns the name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for RunName {
    type Err = InvalidRunName;

    fn from_str(name: &str) -> Result<Self, InvalidRunName> {
        // KATO turns most other characters into `_` (see `processor_id`), so two names that differ
        // in them alone would share their knowledge bases.
        let is_kept = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
        if (1..=MAX_LENGTH).contains(&name.len()) && name.bytes().all(is_kept) {
            Ok(Self(name.to_owned()))
        } else {
            Err(InvalidRunName {
                name: name.to_owned(),
            })
        }
    }
}

impl fmt::Display for RunName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
