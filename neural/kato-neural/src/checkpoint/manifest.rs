//! The manifest of a checkpoint: where the run stands, and what its files hold.

use std::path::Path;

use kato_gradient::scaler::LossScalerState;
use kato_gradient::stop::EarlyStopState;
use serde::{Deserialize, Serialize};

use crate::{AdamOptions, Error};

/// The newest version of a checkpoint's layout that this crate writes and reads: 1, and 2 where each replica has written
/// its share.
pub const SCHEMA_VERSION: u32 = 2;

/// Where a run stands. All that is random is a function of the seed and of these positions.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub struct TrainerProgress {
    /// The seed of dropout and of all other draws.
    pub seed: u64,
    /// How many optimiser steps were taken, those skipped by the loss scale included.
    pub step: u64,
    /// The epoch that the next batch belongs to, from 0.
    pub epoch: u64,
    /// The next batch within the epoch, from 0.
    pub batch: u64,
    /// Sum over the steps of this epoch of their loss, as the bits of an `f64`.
    pub epoch_loss_bits: u64,
    /// How many steps of this epoch were taken.
    pub epoch_steps: u64,
    /// What the early stop has seen, if there is one.
    pub early_stop: Option<EarlyStopState>,
    /// The loss scale, in half precision.
    pub scaler: Option<LossScalerState>,
}

/// One file of a checkpoint.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FileEntry {
    pub(crate) name: String,
    pub(crate) n_bytes: u64,
    pub(crate) blake3: String,
}

/// What the manifest says.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Body {
    pub(crate) schema: u32,
    pub(crate) program: String,
    pub(crate) progress: TrainerProgress,
    pub(crate) adam: AdamOptions,
    pub(crate) adam_steps: u64,
    pub(crate) notes: serde_json::Value,
    pub(crate) files: Vec<FileEntry>,
}

/// The manifest's file is `{"blake3":"…","body":{…}}`, with the checksum of the body's text.
const BEFORE_HASH: &str = "{\"blake3\":\"";
const BEFORE_BODY: &str = "\",\"body\":";
const AFTER_BODY: &str = "}";

/// The version alone, which every later layout keeps.
#[derive(Deserialize)]
struct Version {
    schema: u32,
}

impl Body {
    pub(crate) fn to_bytes(&self) -> Result<Vec<u8>, serde_json::Error> {
        let body = serde_json::to_string(self)?;
        // Of the text as it is written, so that reading needs no canonical form.
        let hash = blake3::hash(body.as_bytes()).to_hex();
        Ok([BEFORE_HASH, hash.as_str(), BEFORE_BODY, &body, AFTER_BODY]
            .concat()
            .into_bytes())
    }

    /// Reads and checks a manifest.
    pub(crate) fn from_file(path: &Path) -> Result<Self, Error> {
        let text = std::fs::read_to_string(path).map_err(Error::file("cannot read", path))?;
        let damaged = |reason: String| Error::Damaged {
            path: path.to_owned(),
            reason,
        };
        // By hand: what the checksum guards is not parsed before it is checked.
        let parts = text
            .strip_prefix(BEFORE_HASH)
            .and_then(|rest| rest.split_once(BEFORE_BODY))
            .and_then(|(hash, rest)| Some((hash, rest.strip_suffix(AFTER_BODY)?)));
        let (hash, text) = parts.ok_or_else(|| damaged("it is no manifest".to_owned()))?;
        if blake3::hash(text.as_bytes()).to_hex().as_str() != hash {
            return Err(damaged("its checksum differs".to_owned()));
        }
        // Before all else: a later layout may have fields that this one cannot read.
        let version: Version =
            serde_json::from_str(text).map_err(|error| damaged(error.to_string()))?;
        if version.schema > SCHEMA_VERSION {
            let (found, known) = (version.schema, SCHEMA_VERSION);
            return Err(Error::Version {
                path: path.to_owned(),
                found,
                known,
            });
        }
        serde_json::from_str(text).map_err(|error| damaged(error.to_string()))
    }
}
