//! Clocks: the source of the time by which sessions and keys end.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// A source of the time of day.
pub trait Clock: Send + Sync + fmt::Debug {
    /// Returns the present time.
    fn now(&self) -> SystemTime;
}

/// The machine's clock as it was when this one was made, going on evenly from there: setting the
/// machine's clock while a service runs neither ends sessions nor makes it forget keys. Services
/// that are opened later go by the machine's clock of that time.
///
/// Where the system stands still, as in a machine that is suspended, so does this clock.
#[derive(Debug, Clone, Copy)]
pub struct SystemClock {
    start: SystemTime,
    since: Instant,
}

impl SystemClock {
    /// Creates a clock that starts at the time of the machine's clock, which is read once.
    #[must_use]
    pub fn new() -> Self {
        Self::starting_at(SystemTime::now())
    }

    /// Creates a clock that shows this time now.
    ///
    /// ```
    /// use std::time::{Duration, UNIX_EPOCH};
    ///
    /// use kato_service::clock::{Clock, SystemClock};
    ///
    /// let clock = SystemClock::starting_at(UNIX_EPOCH);
    /// assert!(clock.now() < UNIX_EPOCH + Duration::from_secs(3600));
    /// ```
    #[must_use]
    pub fn starting_at(start: SystemTime) -> Self {
        Self {
            start,
            since: Instant::now(),
        }
    }
}

impl Default for SystemClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for SystemClock {
    fn now(&self) -> SystemTime {
        // A start near the end of what the system can represent: time stands still.
        let now = self.start.checked_add(self.since.elapsed());
        now.unwrap_or(self.start)
    }
}

/// A clock that moves only when it is moved, for programs that must not depend on when they run.
///
/// ```
/// use std::time::{Duration, UNIX_EPOCH};
///
/// use kato_service::clock::{Clock, ManualClock};
///
/// let clock = ManualClock::at(UNIX_EPOCH + Duration::from_secs(1_000));
/// clock.advance(Duration::from_secs(5));
/// assert_eq!(clock.now(), UNIX_EPOCH + Duration::from_secs(1_005));
/// ```
#[derive(Debug, Default)]
pub struct ManualClock(AtomicU64);

impl ManualClock {
    /// Creates a clock that stands at a time; earlier than 1970 counts as 1970.
    #[must_use]
    pub fn at(time: SystemTime) -> Self {
        Self(AtomicU64::new(Micros::from_system_time(time).0))
    }

    /// Moves the clock on.
    pub fn advance(&self, by: Duration) {
        let micros = u64::try_from(by.as_micros()).unwrap_or(u64::MAX);
        let add = |now: u64| Some(now.saturating_add(micros));
        // Never `Err`: the closure always returns a value.
        let _ = self.0.fetch_update(Ordering::SeqCst, Ordering::SeqCst, add);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> SystemTime {
        Micros(self.0.load(Ordering::SeqCst)).into()
    }
}

/// Microseconds since 1970: the form in which times are kept, so that arithmetic cannot overflow
/// and files are small.
#[derive(
    Debug,
    Clone,
    Copy,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    serde::Serialize,
    serde::Deserialize,
)]
pub(crate) struct Micros(pub(crate) u64);

/// The end of the year 9999: later times have no usual text form.
const LATEST: u64 = 253_402_300_799_999_999;

impl Micros {
    /// Converts a time of the system: 1970 at the earliest, the end of 9999 at the latest.
    pub(crate) fn from_system_time(time: SystemTime) -> Self {
        let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
        Self(u64::try_from(since.as_micros()).map_or(LATEST, |micros| micros.min(LATEST)))
    }

    /// Returns the time so many seconds later.
    pub(crate) fn plus_seconds(self, seconds: u64) -> Self {
        self.plus(Duration::from_secs(seconds))
    }

    /// Returns the time so much later; the end of 9999 at the latest.
    pub(crate) fn plus(self, duration: Duration) -> Self {
        let micros = u64::try_from(duration.as_micros()).unwrap_or(LATEST);
        Self(self.0.saturating_add(micros).min(LATEST))
    }

    /// Returns the time so many seconds earlier; 1970 at the earliest.
    pub(crate) fn minus_seconds(self, seconds: u64) -> Self {
        self.minus(Duration::from_secs(seconds))
    }

    /// Returns the time so much earlier; 1970 at the earliest.
    pub(crate) fn minus(self, duration: Duration) -> Self {
        let micros = u64::try_from(duration.as_micros()).unwrap_or(u64::MAX);
        Self(self.0.saturating_sub(micros))
    }

    /// Returns how long this is after another time; zero if before.
    pub(crate) fn since(self, other: Self) -> Duration {
        Duration::from_micros(self.0.saturating_sub(other.0))
    }
}

impl From<Micros> for SystemTime {
    fn from(micros: Micros) -> Self {
        // No overflow: systems that Rust runs on represent the year 9999. Times read from a file
        // may be later.
        UNIX_EPOCH + Duration::from_micros(micros.0.min(LATEST))
    }
}
