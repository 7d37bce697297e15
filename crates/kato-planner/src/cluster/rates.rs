//! What machines and stores do in a second, and for how much.

use serde::Serialize;

use crate::PlanError;
use crate::error::{above_zero, at_least_zero};

/// What learning and merging take, as measured.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ClusterRates {
    /// Tokens that one thread learns in a second, from text to slices.
    pub learn_tokens_a_second: f64,
    /// Patterns of merged slices that one thread writes in a second.
    pub merge_patterns_a_second: f64,
    /// Distinct patterns of all levels for each token; falls as corpora grow, so that of a smaller
    /// one is too high.
    pub patterns_a_token: f64,
    /// Bytes of the corpus that are read for each token.
    pub corpus_bytes_a_token: f64,
    /// Bytes of slices that tasks write, and merges read, for each token.
    pub slice_bytes_a_token: f64,
    /// Bytes that merges write, and seals read, for each token.
    pub merged_bytes_a_token: f64,
    /// Patterns of segments that one thread seals in a second.
    pub seal_patterns_a_second: f64,
    /// Bytes of segments for each token.
    pub segment_bytes_a_token: f64,
}

impl ClusterRates {
    /// Bytes a token of text that is stored compressed, such as Parquet with zstd.
    pub const COMPRESSED_BYTES_A_TOKEN: f64 = 1.7;

    /// Creates rates; bytes are those of text that is stored compressed, 10 a token of slices and 13 of
    /// segments. Sealing is as fast as merging.
    #[must_use]
    pub fn new(
        learn_tokens_a_second: f64,
        merge_patterns_a_second: f64,
        patterns_a_token: f64,
    ) -> Self {
        Self {
            learn_tokens_a_second,
            merge_patterns_a_second,
            patterns_a_token,
            corpus_bytes_a_token: Self::COMPRESSED_BYTES_A_TOKEN,
            slice_bytes_a_token: 10.0,
            merged_bytes_a_token: 10.0,
            seal_patterns_a_second: merge_patterns_a_second,
            segment_bytes_a_token: 13.0,
        }
    }

    /// Sets the bytes that are read of the corpus, and those of slices before and after merging, for
    /// each token.
    #[must_use]
    pub fn with_bytes(mut self, corpus: f64, slices: f64, merged: f64) -> Self {
        self.corpus_bytes_a_token = corpus;
        self.slice_bytes_a_token = slices;
        self.merged_bytes_a_token = merged;
        self
    }

    /// Sets the patterns that one thread seals in a second, and the bytes of segments for each token.
    #[must_use]
    pub fn with_sealing(mut self, patterns_a_second: f64, bytes_a_token: f64) -> Self {
        self.seal_patterns_a_second = patterns_a_second;
        self.segment_bytes_a_token = bytes_a_token;
        self
    }

    pub(super) fn check(&self) -> Result<(), PlanError> {
        above_zero("learn_tokens_a_second", self.learn_tokens_a_second)?;
        above_zero("merge_patterns_a_second", self.merge_patterns_a_second)?;
        at_least_zero("patterns_a_token", self.patterns_a_token)?;
        at_least_zero("corpus_bytes_a_token", self.corpus_bytes_a_token)?;
        at_least_zero("slice_bytes_a_token", self.slice_bytes_a_token)?;
        at_least_zero("merged_bytes_a_token", self.merged_bytes_a_token)?;
        above_zero("seal_patterns_a_second", self.seal_patterns_a_second)?;
        at_least_zero("segment_bytes_a_token", self.segment_bytes_a_token)?;
        Ok(())
    }
}

/// A machine of the cluster.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ClusterMachine {
    /// Threads that run at once.
    pub threads: u64,
    /// Bytes a second that its network carries.
    pub network_bytes_a_second: f64,
    /// Price of an hour, in USD.
    pub usd_an_hour: f64,
}

impl ClusterMachine {
    /// Creates a machine.
    #[must_use]
    pub fn new(threads: u64, network_bytes_a_second: f64, usd_an_hour: f64) -> Self {
        Self {
            threads,
            network_bytes_a_second,
            usd_an_hour,
        }
    }

    pub(super) fn check(&self) -> Result<(), PlanError> {
        above_zero("threads", self.threads as f64)?;
        above_zero("network_bytes_a_second", self.network_bytes_a_second)?;
        at_least_zero("usd_an_hour", self.usd_an_hour)?;
        Ok(())
    }
}

/// An object store, with limits for all machines together.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ObjectStore {
    /// Bytes that it gives and takes in a second.
    pub bytes_a_second: f64,
    /// Requests that it answers in a second.
    pub requests_a_second: f64,
    /// Seconds until a request begins to be answered.
    pub request_seconds: f64,
    /// Bytes of a request.
    pub part_bytes: f64,
    /// Price of a million requests that read, in USD.
    pub usd_a_million_reads: f64,
    /// Price of a million requests that write, in USD.
    pub usd_a_million_writes: f64,
    /// Price of keeping a GB for a month, in USD.
    pub usd_a_gb_month: f64,
}

impl ObjectStore {
    /// Creates a store such as S3 was in 2026: 5,500 reads a second and prefix, of which a plan has
    /// a few; 30 ms a request; 0.40 and 5 USD a million reads and writes, 0.023 USD a GB and month. How many
    /// bytes a second it carries is not published: 100 GB are taken.
    #[must_use]
    pub fn new() -> Self {
        Self {
            bytes_a_second: 100e9,
            requests_a_second: 10_000.0,
            request_seconds: 0.03,
            part_bytes: 10e6,
            usd_a_million_reads: 0.4,
            usd_a_million_writes: 5.0,
            usd_a_gb_month: 0.023,
        }
    }

    /// Sets the bytes and the requests that it answers in a second, from all machines together.
    #[must_use]
    pub fn with_limits(mut self, bytes_a_second: f64, requests_a_second: f64) -> Self {
        self.bytes_a_second = bytes_a_second;
        self.requests_a_second = requests_a_second;
        self
    }

    pub(super) fn check(&self) -> Result<(), PlanError> {
        above_zero("bytes_a_second", self.bytes_a_second)?;
        above_zero("requests_a_second", self.requests_a_second)?;
        above_zero("part_bytes", self.part_bytes)?;
        for (what, value) in [
            ("request_seconds", self.request_seconds),
            ("usd_a_million_reads", self.usd_a_million_reads),
            ("usd_a_million_writes", self.usd_a_million_writes),
            ("usd_a_gb_month", self.usd_a_gb_month),
        ] {
            at_least_zero(what, value)?;
        }
        Ok(())
    }
}

impl Default for ObjectStore {
    fn default() -> Self {
        Self::new()
    }
}
