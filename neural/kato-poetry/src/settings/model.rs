//! The shape of the model.

use kato_neural::layers::Cell;
use kato_neural::run::check_setting;
use serde::{Deserialize, Serialize};

use crate::error::PoetryError;

/// What the decoder rebuilds a chunk from.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum DecoderKind {
    /// The code alone. The default.
    #[default]
    Code,
    /// The code, and at each step what it attends to among the encoder's states. Codes are no
    /// bottleneck then.
    Attention,
}

/// The shape of the autoencoder.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct ModelOptions {
    /// The recurrent cell: `vanilla`, `gru` or `lstm`, the default.
    pub cell: Cell,
    /// Numbers of a recurrent state; 512 by default.
    pub hidden: usize,
    /// Recurrent layers of encoder and decoder each; 2 by default.
    pub layers: usize,
    /// Numbers of a chunk's code, the bottleneck; 64 by default.
    pub bottleneck: usize,
    /// Probability of dropout between layers, before the bottleneck and before the output; 0.2 by
    /// default.
    pub dropout: f64,
    /// Whether the bottleneck is normalised over the batch; it is by default.
    pub batch_norm: bool,
    /// What the decoder rebuilds from: `code`, the default, or `attention`.
    pub decoder: DecoderKind,
    /// Heads of a decoder with attention, which share its state; 4 by default.
    pub heads: usize,
}

impl Default for ModelOptions {
    fn default() -> Self {
        Self {
            cell: Cell::Lstm,
            hidden: 512,
            layers: 2,
            bottleneck: 64,
            dropout: 0.2,
            batch_norm: true,
            decoder: DecoderKind::default(),
            heads: 4,
        }
    }
}

impl ModelOptions {
    /// Checks the shape.
    ///
    /// # Errors
    ///
    /// When a size is 0 or beyond what this program holds, the heads of a decoder with attention do not
    /// divide its state, or dropout is no share below 1.
    pub fn check(&self) -> Result<(), PoetryError> {
        let sizes = [
            ("model.hidden", self.hidden, 16_384, "from 1 to 16,384"),
            ("model.layers", self.layers, 8, "from 1 to 8"),
            (
                "model.bottleneck",
                self.bottleneck,
                16_384,
                "from 1 to 16,384",
            ),
        ];
        for (name, size, most, expected) in sizes {
            check_setting((1..=most).contains(&size), name, &size, expected)?;
        }
        check_setting(
            !self.attends() || (self.heads > 0 && self.hidden.is_multiple_of(self.heads)),
            "model.heads",
            &self.heads,
            "a number that divides `model.hidden`",
        )?;
        check_setting(
            (0.0..1.0).contains(&self.dropout),
            "model.dropout",
            &self.dropout,
            "at least 0 and below 1",
        )?;
        Ok(())
    }

    /// Returns whether the decoder attends to the encoder's states.
    #[must_use]
    pub fn attends(&self) -> bool {
        self.decoder == DecoderKind::Attention
    }

    /// Returns the number of trained numbers, for vectors of `dims` numbers.
    ///
    /// The recurrent layers with two biases each, as PyTorch counts; bottleneck and batch norm; the
    /// projections of the decoder's first states; start vector and output layer; four projections of
    /// a decoder with attention.
    #[must_use]
    pub fn n_parameters(&self, dims: usize) -> usize {
        let (hidden, layers, code) = (self.hidden, self.layers, self.bottleneck);
        let layer = |n_in: usize| self.cell.n_gates() * hidden * (n_in + hidden + 2);
        let recurrent = layer(dims) + (layers - 1) * layer(hidden);
        let bottleneck = (hidden + 1) * code + if self.batch_norm { 2 * code } else { 0 };
        let n_states = if self.cell.has_memory() { 2 } else { 1 };
        let projection = n_states * layers * hidden * (code + 1);
        let attention = if self.attends() {
            4 * hidden * (hidden + 1)
        } else {
            0
        };
        2 * recurrent + bottleneck + projection + dims + (hidden + 1) * dims + attention
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_full_size_has_as_many_parameters_as_are_known() {
        let full = ModelOptions {
            batch_norm: false,
            ..ModelOptions::default()
        };
        // Counted by PyTorch for 300 → 512 → 64 with two LSTM layers: about 7.86 million.
        assert_eq!(full.n_parameters(300) / 10_000, 785);
        let small = ModelOptions {
            hidden: 128,
            layers: 1,
            bottleneck: 16,
            batch_norm: false,
            ..ModelOptions::default()
        };
        assert_eq!(small.n_parameters(50) / 1000, 197);
    }

    #[test]
    fn impossible_shapes_are_named() {
        let error = |change: fn(&mut ModelOptions)| {
            let mut options = ModelOptions::default();
            change(&mut options);
            options.check().unwrap_err().to_string()
        };
        assert!(error(|options| options.layers = 0).contains("`model.layers` is 0"));
        assert!(error(|options| options.hidden = 0).contains("`model.hidden`"));
        let uneven = error(|options| {
            options.decoder = DecoderKind::Attention;
            options.heads = 5;
        });
        assert!(uneven.contains("`model.heads` is 5"), "{uneven}");
        assert!(error(|options| options.dropout = 1.0).contains("`model.dropout` is 1"));
    }
}
