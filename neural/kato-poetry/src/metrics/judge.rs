//! Collects figures of held-out chunks.

use super::{Judgement, cosine};

/// Standard deviation over chunks from which a unit of the code counts as alive.
const ALIVE: f64 = 1e-2;

/// Collects what a [`Judgement`] is made of, chunk by chunk. All sums are of `f64`, in the order of
/// the chunks.
#[derive(Debug, Clone)]
pub struct Judge {
    n_tokens: u64,
    loss: f64,
    row_loss: f64,
    n_right: Option<u64>,
    cosine: f64,
    mse: f64,
    texts: Moments,
    rebuilt: Moments,
    codes: Moments,
}

impl Judge {
    /// Creates a judge of vectors of `dims` numbers and codes of `code` numbers.
    #[must_use]
    pub fn new(dims: usize, code: usize) -> Self {
        Self {
            n_tokens: 0,
            loss: 0.0,
            row_loss: 0.0,
            n_right: None,
            cosine: 0.0,
            mse: 0.0,
            texts: Moments::new(dims),
            rebuilt: Moments::new(dims),
            codes: Moments::new(code),
        }
    }

    /// Adds the training loss of chunks: its sum over their tokens, and that over the chunks.
    pub fn add_loss(&mut self, of_tokens: f64, of_rows: f64) {
        self.loss += of_tokens;
        self.row_loss += of_rows;
    }

    /// Adds the number of tokens whose word came back.
    pub fn add_right(&mut self, n_right: u64) {
        *self.n_right.get_or_insert(0) += n_right;
    }

    /// Adds a chunk: the vectors of its tokens, what was rebuilt of them, and its code.
    ///
    /// # Panics
    ///
    /// When there are not as many rebuilt numbers as true ones: a mistake of the caller.
    pub fn add_chunk(&mut self, text: &[f32], rebuilt: &[f32], code: &[f32]) {
        assert_eq!(text.len(), rebuilt.len(), "as many vectors as tokens");
        let dims = self.texts.sums.len();
        for (text, rebuilt) in text.chunks_exact(dims).zip(rebuilt.chunks_exact(dims)) {
            self.n_tokens += 1;
            self.cosine += cosine(text, rebuilt);
            let squares = text
                .iter()
                .zip(rebuilt)
                .map(|(a, b)| (f64::from(*a) - f64::from(*b)).powi(2));
            self.mse += squares.sum::<f64>() / dims as f64;
            self.texts.add(text);
            self.rebuilt.add(rebuilt);
        }
        self.codes.add(code);
    }

    /// Returns the judgement on all that was added; all zeros of nothing.
    #[must_use]
    pub fn judgement(&self) -> Judgement {
        let n_tokens = self.n_tokens.max(1) as f64;
        let text_variance: f64 = self.texts.variances().sum();
        let rebuilt_variance: f64 = self.rebuilt.variances().sum();
        let n_units = self.codes.sums.len().max(1) as f64;
        let n_alive = self
            .codes
            .variances()
            .filter(|variance| variance.sqrt() > ALIVE)
            .count();
        Judgement {
            n_tokens: self.n_tokens,
            loss: self.loss / n_tokens + self.row_loss / self.codes.n.max(1.0),
            cosine: self.cosine / n_tokens,
            mse: self.mse / n_tokens,
            variance_ratio: if text_variance > 0.0 {
                rebuilt_variance / text_variance
            } else {
                0.0
            },
            live_units: n_alive as f64 / n_units,
            code_square: self.codes.squares.iter().sum::<f64>() / (n_units * self.codes.n.max(1.0)),
            token_accuracy: self.n_right.map(|n_right| n_right as f64 / n_tokens),
        }
    }
}

/// Sums of rows and of their squares, number by number.
#[derive(Debug, Clone)]
struct Moments {
    n: f64,
    sums: Vec<f64>,
    squares: Vec<f64>,
}

impl Moments {
    fn new(n_columns: usize) -> Self {
        Self {
            n: 0.0,
            sums: vec![0.0; n_columns],
            squares: vec![0.0; n_columns],
        }
    }

    fn add(&mut self, row: &[f32]) {
        self.n += 1.0;
        for ((sum, square), value) in self.sums.iter_mut().zip(&mut self.squares).zip(row) {
            *sum += f64::from(*value);
            *square += f64::from(*value).powi(2);
        }
    }

    /// Returns the variance of each column.
    fn variances(&self) -> impl Iterator<Item = f64> + '_ {
        let n = self.n.max(1.0);
        let columns = self.sums.iter().zip(&self.squares);
        // Rounding may bring what is constant a little below nothing.
        columns.map(move |(sum, square)| (square / n - (sum / n).powi(2)).max(0.0))
    }
}
