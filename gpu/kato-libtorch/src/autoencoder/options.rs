//! The shape of the autoencoder.

use crate::Error;
use crate::parameters::Arrays;

/// Which recurrent cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Cell {
    /// Elman's net with tanh.
    Vanilla,
    /// Gated recurrent unit, the reset gate behind the product.
    Gru,
    /// Long short-term memory.
    Lstm,
}

impl Cell {
    /// How many blocks of `hidden` rows the weights have.
    #[must_use]
    pub const fn n_gates(self) -> i64 {
        match self {
            Self::Vanilla => 1,
            Self::Gru => 3,
            Self::Lstm => 4,
        }
    }
}

/// The shape of the autoencoder; sizes as LibTorch counts. The defaults are those of the original at
/// full size.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct AutoencoderOptions {
    /// The recurrent cell, `lstm` by default.
    pub cell: Cell,
    /// Numbers of a vector, 300 by default.
    pub width: i64,
    /// Numbers of a recurrent state, 512 by default.
    pub hidden: i64,
    /// Numbers of a code, 64 by default.
    pub code: i64,
    /// Recurrent layers of encoder and decoder each, 2 by default.
    pub layers: i64,
    /// Probability of dropout between layers, before the bottleneck and before the output; 0.2 by
    /// default.
    pub dropout: f64,
    /// Whether the code is normalised over the batch; it is by default.
    pub batch_norm: bool,
}

impl Default for AutoencoderOptions {
    fn default() -> Self {
        Self {
            cell: Cell::Lstm,
            width: 300,
            hidden: 512,
            code: 64,
            layers: 2,
            dropout: 0.2,
            batch_norm: true,
        }
    }
}

impl AutoencoderOptions {
    /// Sets the cell.
    #[must_use]
    pub const fn with_cell(mut self, cell: Cell) -> Self {
        self.cell = cell;
        self
    }

    /// Sets the numbers of a vector, of a state and of a code.
    #[must_use]
    pub const fn with_sizes(mut self, width: i64, hidden: i64, code: i64) -> Self {
        (self.width, self.hidden, self.code) = (width, hidden, code);
        self
    }

    /// Sets how many recurrent layers encoder and decoder have each.
    #[must_use]
    pub const fn with_layers(mut self, layers: i64) -> Self {
        self.layers = layers;
        self
    }

    /// Sets the probability of dropout.
    #[must_use]
    pub const fn with_dropout(mut self, dropout: f64) -> Self {
        self.dropout = dropout;
        self
    }

    /// Sets whether the code is normalised.
    #[must_use]
    pub const fn with_batch_norm(mut self, batch_norm: bool) -> Self {
        self.batch_norm = batch_norm;
        self
    }

    /// Checks the shape.
    ///
    /// # Errors
    ///
    /// When a size is below 1, or dropout is no share below 1.
    pub fn check(&self) -> Result<(), Error> {
        let sizes = [
            ("the width", self.width),
            ("the hidden size", self.hidden),
            ("the code", self.code),
            ("the number of layers", self.layers),
        ];
        for (name, size) in sizes {
            if size < 1 {
                return Err(Error::setting(name, &size, "at least 1"));
            }
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

    /// Reads the shape off weights; dropout, which leaves no trace in them, is 0.
    pub(crate) fn of_weights(arrays: &Arrays) -> Result<Self, Error> {
        let matrix = |name: &str| {
            let size = arrays.get(name).map(tch::Tensor::size);
            let pair = size.and_then(|size| <[i64; 2]>::try_from(size).ok());
            pair.ok_or_else(|| Error::Mismatch(format!("they have no matrix {name}")))
        };
        let [n_rows, width] = matrix("encoder.weight_ih_l0")?;
        let [_, hidden] = matrix("encoder.weight_hh_l0")?;
        let [code, _] = matrix("bottleneck.linear.weight")?;
        let cells = [Cell::Vanilla, Cell::Gru, Cell::Lstm];
        let cell = cells
            .into_iter()
            .find(|cell| cell.n_gates() * hidden == n_rows);
        let reason = || format!("{n_rows} rows are no cell's of {hidden}");
        let layers =
            (0_i64..).find(|layer| !arrays.contains_key(&format!("encoder.weight_ih_l{layer}")));
        Ok(Self {
            cell: cell.ok_or_else(|| Error::Mismatch(reason()))?,
            width,
            hidden,
            code,
            layers: layers.unwrap_or(1),
            dropout: 0.0,
            batch_norm: arrays.contains_key("bottleneck.norm.weight"),
        })
    }
}
