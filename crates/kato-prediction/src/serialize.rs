//! The serialisation of predictions as the JSON objects of their generation of KATO.

use kato_model::Event;
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use crate::Prediction;
use crate::prediction::EnsembleMetrics;

impl Serialize for Prediction {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        match &self.ensemble {
            Some(ensemble) if self.generation.anomalies_are_flat() => {
                self.serialize_flat(ensemble, &mut map)?;
            }
            Some(ensemble) => {
                map.serialize_entry("type", "prototypical")?;
                self.serialize_common(&mut map)?;
                self.serialize_ensemble(ensemble, &mut map)?;
            }
            None => {
                self.serialize_common(&mut map)?;
                self.serialize_single_symbol(&mut map)?;
            }
        }
        map.end()
    }
}

impl Prediction {
    /// Writes the fields that both shapes have.
    fn serialize_common<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
        map.serialize_entry("name", &self.name.to_string())?;
        map.serialize_entry("frequency", &self.frequency)?;
        map.serialize_entry("emotives", &self.emotives)?;
        map.serialize_entry("matches", &self.matches)?;
        map.serialize_entry("anomalies", &self.anomalies)?;
        map.serialize_entry("potential", &self.potential)?;
        map.serialize_entry("evidence", &self.evidence)?;
        map.serialize_entry("similarity", &self.similarity)?;
        match self.ensemble {
            Some(_) => map.serialize_entry("fragmentation", &self.fragmentation)?,
            // KATO writes an integer here, and always this one: a state of one symbol matches
            // in a single block.
            None => map.serialize_entry("fragmentation", &0)?,
        }
        map.serialize_entry("snr", &self.snr)?;
        map.serialize_entry("confidence", &self.confidence)?;
        map.serialize_entry("weighted_similarity", &self.weighted.similarity)?;
        map.serialize_entry("weighted_evidence", &self.weighted.evidence)?;
        map.serialize_entry("weighted_confidence", &self.weighted.confidence)?;
        map.serialize_entry("weighted_snr", &self.weighted.snr)
    }

    /// Writes the fields of predictions of states of several symbols.
    fn serialize_ensemble<M: SerializeMap>(
        &self,
        ensemble: &EnsembleMetrics,
        map: &mut M,
    ) -> Result<(), M::Error> {
        map.serialize_entry("past", &self.past)?;
        map.serialize_entry("present", &self.present)?;
        map.serialize_entry("future", &self.future)?;
        map.serialize_entry("missing", &self.missing)?;
        map.serialize_entry("extras", &self.extras)?;
        map.serialize_entry("sequence", &self.sequence)?;
        // Taken apart, so that a new metric cannot be left out unnoticed.
        let EnsembleMetrics {
            entropy,
            normalized_entropy,
            global_normalized_entropy,
            itfdf_similarity,
            tfidf_score,
            confluence,
            predictive_information,
            pattern_probability,
            weighted_strength,
            bayesian_prior,
            bayesian_likelihood,
            bayesian_posterior,
        } = ensemble;
        map.serialize_entry("entropy", entropy)?;
        map.serialize_entry("normalized_entropy", normalized_entropy)?;
        map.serialize_entry("global_normalized_entropy", global_normalized_entropy)?;
        map.serialize_entry("itfdf_similarity", itfdf_similarity)?;
        map.serialize_entry("tfidf_score", tfidf_score)?;
        map.serialize_entry("confluence", confluence)?;
        map.serialize_entry("predictive_information", predictive_information)?;
        map.serialize_entry("pattern_probability", pattern_probability)?;
        map.serialize_entry("weighted_strength", weighted_strength)?;
        map.serialize_entry("bayesian_prior", bayesian_prior)?;
        map.serialize_entry("bayesian_likelihood", bayesian_likelihood)?;
        map.serialize_entry("bayesian_posterior", bayesian_posterior)?;
        if let Some(pre_potential) = self.pre_potential {
            map.serialize_entry("_pre_potential", &pre_potential)?;
        }
        Ok(())
    }

    /// Writes the fields of KATO from 5.x on, in its order.
    fn serialize_flat<M: SerializeMap>(
        &self,
        ensemble: &EnsembleMetrics,
        map: &mut M,
    ) -> Result<(), M::Error> {
        map.serialize_entry("type", "prototypical")?;
        map.serialize_entry("name", &self.name.to_string())?;
        map.serialize_entry("frequency", &self.frequency)?;
        map.serialize_entry("emotives", &self.emotives)?;
        map.serialize_entry("matches", &self.matches)?;
        map.serialize_entry("past", &self.past)?;
        map.serialize_entry("present", &self.present)?;
        map.serialize_entry("missing", &self.missing)?;
        map.serialize_entry("extras", &self.extras)?;
        map.serialize_entry("fuzzy_matches", &self.anomalies)?;
        map.serialize_entry("anomalies", &self.flat_anomalies())?;
        map.serialize_entry("potential", &self.potential)?;
        map.serialize_entry("evidence", &self.evidence)?;
        map.serialize_entry("similarity", &self.similarity)?;
        map.serialize_entry("fragmentation", &self.fragmentation)?;
        map.serialize_entry("snr", &self.snr)?;
        map.serialize_entry("confluence", &ensemble.confluence)?;
        map.serialize_entry("predictive_information", &ensemble.predictive_information)?;
        map.serialize_entry("sequence", &self.sequence)?;
        map.serialize_entry("future", &self.future)?;
        map.serialize_entry("confidence", &self.confidence)?;
        map.serialize_entry("weighted_similarity", &self.weighted.similarity)?;
        map.serialize_entry("weighted_evidence", &self.weighted.evidence)?;
        map.serialize_entry("weighted_confidence", &self.weighted.confidence)?;
        map.serialize_entry("weighted_snr", &self.weighted.snr)?;
        // Taken apart, so that a new metric cannot be left out unnoticed.
        let EnsembleMetrics {
            entropy,
            normalized_entropy,
            global_normalized_entropy,
            itfdf_similarity,
            tfidf_score,
            confluence: _,
            predictive_information: _,
            pattern_probability,
            weighted_strength,
            bayesian_prior,
            bayesian_likelihood,
            bayesian_posterior,
        } = ensemble;
        map.serialize_entry("entropy", entropy)?;
        map.serialize_entry("normalized_entropy", normalized_entropy)?;
        map.serialize_entry("global_normalized_entropy", global_normalized_entropy)?;
        map.serialize_entry("itfdf_similarity", itfdf_similarity)?;
        map.serialize_entry("tfidf_score", tfidf_score)?;
        map.serialize_entry("pattern_probability", pattern_probability)?;
        map.serialize_entry("weighted_strength", weighted_strength)?;
        map.serialize_entry("bayesian_posterior", bayesian_posterior)?;
        map.serialize_entry("bayesian_prior", bayesian_prior)?;
        map.serialize_entry("bayesian_likelihood", bayesian_likelihood)?;
        if let Some(pre_potential) = self.pre_potential {
            map.serialize_entry("_pre_potential", &pre_potential)?;
        }
        Ok(())
    }

    /// Writes the fields of predictions of states of one symbol, whose lists are flat.
    fn serialize_single_symbol<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
        fn flat(events: &[Event]) -> Vec<&str> {
            let symbols = events.iter().flat_map(Event::symbols);
            symbols.map(String::as_str).collect()
        }
        let length: usize = self.sequence.iter().map(Event::len).sum();
        map.serialize_entry("pattern_data", &self.sequence)?;
        map.serialize_entry("length", &length)?;
        map.serialize_entry("missing", &self.missing)?;
        map.serialize_entry("present", &flat(&self.present))?;
        map.serialize_entry("past", &flat(&self.past))?;
        map.serialize_entry("future", &flat(&self.future))?;
        map.serialize_entry("extras", &self.extras)
    }
}
