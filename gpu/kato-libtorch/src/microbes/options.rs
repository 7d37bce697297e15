//! The shape of the transformer, and how it is computed.

use crate::Error;

/// The number format of matrix products.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Precision {
    /// Single precision.
    F32,
    /// bfloat16 where PyTorch's autocast takes it; weights stay `f32`.
    Bf16,
}

/// The shape of the transformer, and how it is computed.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct MicrobesOptions {
    /// Numbers of a token's vector, 128 by default.
    pub width: i64,
    /// Heads of attention, 4 by default.
    pub heads: i64,
    /// Blocks of each of the three stacks, 4 by default.
    pub layers: i64,
    /// Tokens of a sequence at most, 151 by default.
    pub length: i64,
    /// Sequences of a sample at most, 1,024 by default.
    pub sequences: i64,
    /// Probability of dropout behind attention and behind the inner layers, 0.1 by default.
    pub dropout: f64,
    /// Sequences that are computed at a time, 256 by default.
    pub chunk: i64,
    /// The number format of products.
    pub precision: Precision,
    /// Whether LibTorch's fused attention is used; it is by default.
    pub fused: bool,
    /// Whether only the inputs of blocks are kept, and the backward pass runs them again.
    pub recompute: bool,
}

impl Default for MicrobesOptions {
    fn default() -> Self {
        Self {
            width: 128,
            heads: 4,
            layers: 4,
            length: 151,
            sequences: 1024,
            dropout: 0.1,
            chunk: 256,
            precision: Precision::F32,
            fused: true,
            recompute: false,
        }
    }
}

impl MicrobesOptions {
    /// Sets width, heads and blocks of a stack.
    #[must_use]
    pub const fn with_shape(mut self, width: i64, heads: i64, layers: i64) -> Self {
        (self.width, self.heads, self.layers) = (width, heads, layers);
        self
    }

    /// Sets how many sequences a sample has, and tokens a sequence, at most.
    #[must_use]
    pub const fn with_limits(mut self, sequences: i64, length: i64) -> Self {
        (self.sequences, self.length) = (sequences, length);
        self
    }

    /// Sets the probability of dropout.
    #[must_use]
    pub const fn with_dropout(mut self, dropout: f64) -> Self {
        self.dropout = dropout;
        self
    }

    /// Sets how many sequences are computed at a time.
    #[must_use]
    pub const fn with_chunk(mut self, chunk: i64) -> Self {
        self.chunk = chunk;
        self
    }

    /// Sets the number format of products.
    #[must_use]
    pub const fn with_precision(mut self, precision: Precision) -> Self {
        self.precision = precision;
        self
    }

    /// Sets whether attention is fused.
    #[must_use]
    pub const fn with_fused(mut self, fused: bool) -> Self {
        self.fused = fused;
        self
    }

    /// Sets whether blocks are computed again in the backward pass.
    #[must_use]
    pub const fn with_recompute(mut self, recompute: bool) -> Self {
        self.recompute = recompute;
        self
    }

    /// Checks the shape.
    ///
    /// # Errors
    ///
    /// When a size is below 1, heads do not divide the width, or dropout is no share below 1.
    pub fn check(&self) -> Result<(), Error> {
        let sizes = [
            ("the width", self.width),
            ("the number of heads", self.heads),
            ("the number of blocks", self.layers),
            ("the length", self.length),
            ("the number of sequences", self.sequences),
            ("the chunk", self.chunk),
        ];
        for (name, size) in sizes {
            if size < 1 {
                return Err(Error::setting(name, &size, "at least 1"));
            }
        }
        if self.width % self.heads != 0 {
            return Err(Error::setting(
                "the width",
                &self.width,
                "a multiple of the heads",
            ));
        }
        if !(0.0..1.0).contains(&self.dropout) {
            return Err(Error::setting(
                "dropout",
                &self.dropout,
                "at least 0 and below 1",
            ));
        }
        Ok(())
    }
}
