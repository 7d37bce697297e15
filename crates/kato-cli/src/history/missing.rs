//! The stand-in for a history in builds without it: it cannot be opened, and saying so is all that
//! there is to do.

use std::convert::Infallible;
use std::path::Path;

use anyhow::{Result, bail};
use kato_planner::Forecast;
use kato_scheduler::TrainingReport;

use super::RunFacts;

/// A recorder, of which this build has none.
#[derive(Debug)]
pub(crate) struct Recorder(Infallible);

impl Recorder {
    /// Refuses to record.
    ///
    /// # Errors
    ///
    /// Always.
    pub(crate) fn open(_: &Path) -> Result<Self> {
        missing()
    }

    /// Returns the forecast by runs of the history.
    pub(crate) fn forecast(&self, _: &RunFacts) -> Result<Option<Forecast>> {
        // No value of the type exists, so this cannot be reached, and the compiler knows it.
        match self.0 {}
    }

    /// Corrects a forecast and keeps it.
    pub(crate) fn foretell(&mut self, _: &RunFacts, _: Forecast) -> Result<Forecast> {
        match self.0 {}
    }

    /// Records a run.
    pub(crate) fn record(
        &mut self,
        _: &RunFacts,
        _: Option<&Forecast>,
        _: &TrainingReport,
        _: Option<u64>,
        _: &str,
    ) -> Result<String> {
        match self.0 {}
    }
}

/// Says what to build instead.
///
/// # Errors
///
/// Always.
pub(crate) fn missing<T>() -> Result<T> {
    bail!("this build of kato keeps no history: build it with `--features history`")
}
