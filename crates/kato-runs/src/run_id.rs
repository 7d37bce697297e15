//! Ids of runs: unique, so that two runs of one name are two runs.

use std::fmt;
use std::str::FromStr;
use std::time::SystemTime;

use serde::{Deserialize, Serialize};

/// Characters of an id at most.
const MAX_LENGTH: usize = 64;

/// The id of a run: the time at which it was given and 64 random bits, as in
/// `20261121T180231Z-3f9c2ab41d7e0c55`; of a run that has none of its own, `unrecorded-` and a
/// digest of its place. It is never shortened; a unique beginning is enough to ask for a run.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct RunId(String);

/// A text that is no id of a run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is no id of a run: an id is 1 to {MAX_LENGTH} ASCII letters, digits and hyphens")]
pub struct InvalidRunId {
    text: String,
}

impl RunId {
    /// Creates the id of a run that begins at `now`, in UTC, with these random bits.
    ///
    /// ```
    /// use std::time::{Duration, UNIX_EPOCH};
    /// use kato_runs::RunId;
    ///
    /// let id = RunId::new(UNIX_EPOCH + Duration::from_secs(1_000_000_000), 255);
    /// assert_eq!(id.as_str(), "20010909T014640Z-00000000000000ff");
    /// ```
    #[must_use]
    pub fn new(now: SystemTime, random: u64) -> Self {
        // A clock that was never set may be before the epoch, which `humantime` does not format.
        let time = humantime::format_rfc3339_seconds(now.max(SystemTime::UNIX_EPOCH)).to_string();
        let time = time.replace(['-', ':'], "");
        Self(format!("{time}-{random:016x}"))
    }

    /// Creates an id that no other run has, from the system's clock and its random numbers.
    #[must_use]
    pub fn generate() -> Self {
        // Some bits of a random UUID say that it is one, but never the same bits of both halves.
        let (high, low) = uuid::Uuid::new_v4().as_u64_pair();
        Self::new(SystemTime::now(), high ^ low)
    }

    /// Returns the id of a run that has recorded none, made of its place: the same as long as it
    /// stays there.
    pub(crate) fn of_unrecorded(place: &str) -> Self {
        let digest = blake3::hash(place.as_bytes()).to_hex();
        Self(format!("unrecorded-{}", &digest[..16]))
    }

    /// Returns the id as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for RunId {
    type Err = InvalidRunId;

    fn from_str(text: &str) -> Result<Self, InvalidRunId> {
        let is_ours = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
        if (1..=MAX_LENGTH).contains(&text.len()) && text.bytes().all(is_ours) {
            Ok(Self(text.to_owned()))
        } else {
            Err(InvalidRunId {
                text: text.to_owned(),
            })
        }
    }
}

impl TryFrom<String> for RunId {
    type Error = InvalidRunId;

    fn try_from(text: String) -> Result<Self, InvalidRunId> {
        text.parse()
    }
}

impl From<RunId> for String {
    fn from(id: RunId) -> Self {
        id.0
    }
}

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_64_bits_are_random() {
        // A bit that is the same in 200 ids is no random one, but for one time in 2¹⁹³.
        let (mut ever, mut always) = (0, u64::MAX);
        for _ in 0..200 {
            let id = RunId::generate();
            let (_, bits) = id.as_str().split_once('-').unwrap();
            let bits = u64::from_str_radix(bits, 16).unwrap();
            ever |= bits;
            always &= bits;
        }
        assert_eq!((ever, always), (u64::MAX, 0));
    }
}
