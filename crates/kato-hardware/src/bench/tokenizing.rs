//! The rate of converting text to GPT-2 tokens.

#[cfg(feature = "tokenizer")]
pub(crate) use measured::measure;

#[cfg(not(feature = "tokenizer"))]
pub(crate) fn measure(_: &crate::Allowance, _: u64) -> crate::figure::Measured {
    crate::figure::Finding::unknown("built without the feature `tokenizer`: build with it")
}

#[cfg(feature = "tokenizer")]
mod measured {
    use std::hint::black_box;
    use std::time::Instant;

    use kato_random::SplitMix64;
    use kato_tokenizer::{Tokenizer, gpt2};

    use crate::Allowance;
    use crate::bench::text::Words;
    use crate::figure::{Measured, MeasurementMethod, Unit};
    use crate::meter::{Meter, WINDOW, figure};

    /// Bytes of text of a call: one document.
    const DOCUMENT: usize = 2150;
    /// Documents that are made together, and then tokenized together.
    const BATCH: usize = 200;

    /// Measures the megabytes of text a second that one core converts with GPT-2.
    ///
    /// Bytes and not tokens, because made words have more tokens than real ones.
    pub(crate) fn measure(allowance: &Allowance, seed: u64) -> Measured {
        figure(allowance, |allowance| {
            let tokenizer = gpt2();
            let mut random = SplitMix64::from_seed(seed);
            let words = Words::new(&mut random);
            let mut ids = Vec::new();
            let mut encode = |document: &str| {
                ids.clear();
                let encoded = tokenizer.encode_into(document, &mut ids);
                encoded.map_err(|error| error.to_string())?;
                black_box(&ids);
                Ok::<_, String>(())
            };
            // The tokenizer keeps words that it has seen. Over a run the frequent ones are always
            // there, so they are before the measurement begins.
            for _ in 0..BATCH {
                encode(&words.text(DOCUMENT, &mut random))?;
            }
            let meter =
                Meter::start().note("made text, every document new; the frequent words met before");
            let mut windows: Vec<(f64, f64)> = Vec::new();
            while windows.is_empty() || !allowance.is_over() {
                // New documents each time, because one that comes again would be looked up and not
                // tokenized. They are made outside the time measured.
                let documents: Vec<String> = (0..BATCH)
                    .map(|_| words.text(DOCUMENT, &mut random))
                    .collect();
                let start = Instant::now();
                for document in &documents {
                    encode(document)?;
                }
                let seconds = start.elapsed().as_secs_f64();
                let bytes = documents.iter().map(String::len).sum::<usize>() as f64;
                match windows.last_mut() {
                    Some(window) if window.1 < WINDOW.as_secs_f64() => {
                        *window = (window.0 + bytes, window.1 + seconds);
                    }
                    _ => windows.push((bytes, seconds)),
                }
            }
            Ok(meter.rate(Unit::MegabytesPerSecond, MeasurementMethod::Warm, &windows))
        })
    }
}
