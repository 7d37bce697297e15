//! The rate of parsing JSON Lines, a usual form of datasets.

use std::borrow::Cow;
use std::hint::black_box;

use kato_random::SplitMix64;
use serde::Deserialize;

use super::text::Words;
use crate::Allowance;
use crate::figure::{Measured, MeasurementMethod, Unit};
use crate::meter::{Meter, figure, windows};

/// Documents in the input.
const N_DOCUMENTS: usize = 100;
/// Bytes of a document's text: about 500 tokens.
const DOCUMENT: usize = 2150;

#[derive(Deserialize)]
struct Document<'a> {
    #[serde(borrow)]
    text: Cow<'a, str>,
}

/// Measures the megabytes of JSON Lines a second that one core parses from `{"text": …}` to the
/// text.
pub(crate) fn measure(allowance: &Allowance, seed: u64) -> Measured {
    figure(allowance, |allowance| {
        let mut random = SplitMix64::from_seed(seed);
        let words = Words::new(&mut random);
        let lines: Vec<String> = (0..N_DOCUMENTS)
            .map(|number| {
                let text = words.text(DOCUMENT, &mut random);
                // Real documents have line ends, which JSON escapes, so their text cannot be
                // borrowed.
                let text = text.replace(". ", ".\n");
                serde_json::json!({"id": number, "text": text}).to_string()
            })
            .collect();
        // With the line ends, which are part of a file.
        let bytes: usize = lines.iter().map(|line| line.len() + 1).sum();
        let meter = Meter::start().note(format!("documents of {DOCUMENT} bytes"));
        let found = windows(allowance, || {
            for line in &lines {
                let document: Document<'_> =
                    serde_json::from_str(line).map_err(|error| error.to_string())?;
                black_box(document.text.len());
            }
            Ok::<_, String>(bytes as f64)
        })?;
        Ok(meter.rate(Unit::MegabytesPerSecond, MeasurementMethod::Direct, &found))
    })
}
