//! Faults, and the requests that they happen to.

use std::time::Duration;

use sha2::{Digest as _, Sha256};

/// Fault of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fault {
    /// This status in place of the answer, with `Retry-After` if given.
    Status(u16, Option<String>),
    /// 429 in place of the answer, with this value of `RateLimit` and no `Retry-After`.
    Limit(String),
    /// The connection ends before the answer begins.
    ResetBeforeHead,
    /// The connection ends after the head.
    ResetAfterHead,
    /// The connection ends after this many bytes of the body.
    Truncate(usize),
    /// Chunks that end properly, but too early, after this many bytes.
    ShortChunks(usize),
    /// `Content-Range` and body are those of a range that begins one byte later.
    WrongRange,
    /// 200 and the whole file, whatever range was asked for.
    WholeFile,
    /// No answer, until the client gives up.
    Stall,
    /// This many bytes of the body, then nothing.
    StallAfter(usize),
    /// The body comes in pieces of 16 KiB with this pause between them.
    Slow(Duration),
    /// Another ETag, as if the file had changed.
    OtherEtag,
}

/// Choice among the requests that a fault is for, which are counted from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum When {
    /// All.
    Always,
    /// The first ones, as many as given.
    First(u64),
    /// The one with this number.
    Nth(u64),
    /// Each with a probability in percent, drawn from a seed.
    Chance(u8, u64),
}

/// Fault, the requests that it is for, and how many of them there were.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) path: String,
    pub(crate) when: When,
    pub(crate) fault: Fault,
    pub(crate) seen: u64,
}

impl Plan {
    /// Returns the fault, if it happens to this request.
    pub(crate) fn strike(&mut self, path: &str) -> Option<Fault> {
        if !path.contains(&self.path) {
            return None;
        }
        let n = self.seen;
        self.seen += 1;
        let strikes = match self.when {
            When::Always => true,
            When::First(count) => n < count,
            When::Nth(which) => n == which,
            // A function of seed and number, not of a generator's state, so that a run can be
            // repeated.
            When::Chance(percent, seed) => draw(seed, n) < percent,
        };
        strikes.then(|| self.fault.clone())
    }
}

/// Draws a number from 0 to 99.
fn draw(seed: u64, n: u64) -> u8 {
    let digest = Sha256::new()
        .chain_update(seed.to_le_bytes())
        .chain_update(n.to_le_bytes())
        .finalize();
    let wide = u16::from_le_bytes([digest[0], digest[1]]);
    // The 65,536 values are not a multiple of 100, which favours some by less than 0.2 %.
    u8::try_from(wide % 100).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn strikes(when: When) -> Vec<bool> {
        let mut plan = Plan {
            path: "x".to_owned(),
            when,
            fault: Fault::Stall,
            seen: 0,
        };
        assert_eq!(plan.strike("/other"), None);
        (0..200).map(|_| plan.strike("/x").is_some()).collect()
    }

    #[test]
    fn plans_strike_as_told() {
        assert!(strikes(When::Always).iter().all(|strikes| *strikes));
        assert_eq!(strikes(When::First(2))[..3], [true, true, false]);
        assert_eq!(strikes(When::Nth(1))[..3], [false, true, false]);
        let drawn = strikes(When::Chance(30, 1));
        assert_eq!(drawn, strikes(When::Chance(30, 1)));
        assert_ne!(drawn, strikes(When::Chance(30, 2)));
        let count = drawn.iter().filter(|strikes| **strikes).count();
        assert!((30..=90).contains(&count), "{count}");
    }
}
