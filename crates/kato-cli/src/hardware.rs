//! The view of a machine's profile, with predictions of trainings on it.

use kato_hardware::HardwareProfile;
use kato_hardware::prediction::SpeedForecast;
use kato_hardware::step::StepEvent;
use serde::Serialize;

use crate::inspect::View;
use crate::meter::Meter;

/// The profile of a machine with predictions of trainings on it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Analysis {
    /// Equipment of the machine, and its measurements.
    #[serde(flatten)]
    pub(crate) profile: HardwareProfile,
    /// A training into each of the stores that were measured.
    pub(crate) predictions: Vec<SpeedForecast>,
}

impl View for Analysis {
    fn text(&self, _width: usize) -> String {
        let mut text = format!("{}\n", self.profile);
        for prediction in &self.predictions {
            text += &format!("\n{prediction}\n");
        }
        text
    }
}

/// Shows the step of an analysis that begins; `done` of `total` have ended.
pub(crate) fn show_step(meter: &mut Meter, event: StepEvent, done: u64, total: u64) {
    if let StepEvent::Started { step, limit } = event {
        meter.update(done, Some(total), || {
            vec![format!(
                "{step}: {:.0} s at most",
                limit.as_secs_f64().ceil()
            )]
        });
    }
}
