//! Values of options: times, generations, ways of serving.

use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;

use clap::ValueEnum;

/// Which KATO the server plays.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum Generation {
    /// 3.10.1: sessions have their own time, emotives and settings.
    #[default]
    #[value(name = "3.10")]
    V3_10,
    /// 2025-10: the sessions of a node share them.
    #[value(name = "2025-10")]
    October2025,
    /// 6.3.2: as 3.10, and patterns can be retired.
    #[value(name = "6.3")]
    V6_3,
}

impl Generation {
    /// Returns whether patterns can be retired, and failures are JSON with a code.
    pub(crate) fn is_newest(self) -> bool {
        self == Self::V6_3
    }
}

/// How the one event loop is shared.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum Serving {
    /// One chunk of a request at a time, in turns.
    #[default]
    Turns,
    /// A request keeps the loop until it is done.
    Whole,
}

/// Range of milliseconds, both ends included: `5..25`, or `7`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Millis {
    pub(crate) from: u64,
    pub(crate) to: u64,
}

impl From<u64> for Millis {
    fn from(millis: u64) -> Self {
        Self {
            from: millis,
            to: millis,
        }
    }
}

impl From<RangeInclusive<u64>> for Millis {
    fn from(millis: RangeInclusive<u64>) -> Self {
        Self {
            from: *millis.start(),
            to: *millis.end().max(millis.start()),
        }
    }
}

impl fmt::Display for Millis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}..{}", self.from, self.to)
    }
}

impl FromStr for Millis {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number = |text: &str| {
            text.parse::<u64>()
                .map_err(|_| format!("{text:?} is no number of milliseconds"))
        };
        let (from, to) = text.split_once("..").unwrap_or((text, text));
        let (from, to) = (number(from)?, number(to)?);
        if from > to {
            return Err(format!("{from} is more than {to}"));
        }
        Ok(Self { from, to })
    }
}

/// Every so many learns one takes longer, as by a garbage collection or a slow disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stall {
    pub(crate) every: u64,
    pub(crate) millis: u64,
}

impl fmt::Display for Stall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{},{}", self.every, self.millis)
    }
}

impl FromStr for Stall {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let numbers = text
            .split_once(',')
            .and_then(|(every, millis)| Some((every.parse().ok()?, millis.parse().ok()?)));
        match numbers {
            Some((every, millis)) if every > 0 => Ok(Self { every, millis }),
            _ => Err("give two numbers, as in 50,400: every 50th learn takes 400 ms more".into()),
        }
    }
}
