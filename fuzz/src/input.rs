//! Turns bytes into input: small numbers, odd numbers, hostile texts, events.

use arbitrary::Unstructured;
use kato_model::Event;

/// Texts that have broken somebody's parser, query or name.
const ODD: [&str; 16] = [
    "",
    "'",
    "\"",
    "'\"\\",
    "\\",
    "\0",
    "\u{7f}\u{85}\u{ad}",
    "\u{2028}\u{fffe}\u{10ffff}",
    "😀",
    "e\u{301}",
    " ",
    "], ['",
    "PTRN|",
    "PTRN|b98534b32c1d7489d4ce1a48724aa65aeecbdba9",
    "PTRN|B98534B32C1D7489D4CE1A48724AA65AEECBDBA9",
    "VCTR|b98534b32c1d7489d4ce1a48724aa65aeecbdba9",
];

/// Numbers at the edges of what doubles can be.
const NUMBERS: [f64; 12] = [
    0.0,
    1.0,
    0.1,
    -0.0,
    -1.0,
    1e-320,
    1e100,
    -1e100,
    f64::MAX,
    f64::NAN,
    f64::INFINITY,
    f64::NEG_INFINITY,
];

/// Choices made by bytes. Behind the last byte it is always the first choice.
pub(crate) struct Input<'a>(Unstructured<'a>);

impl<'a> Input<'a> {
    /// Creates the choices that some bytes make.
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self(Unstructured::new(bytes))
    }

    /// Returns whether all bytes were used.
    pub(crate) fn is_at_end(&self) -> bool {
        self.0.is_empty()
    }

    /// Chooses a number below `n`, or 0 if `n` is 0.
    pub(crate) fn below(&mut self, n: usize) -> usize {
        self.0
            .int_in_range(0..=n.saturating_sub(1))
            .unwrap_or_default()
    }

    /// Chooses yes once in `n`.
    pub(crate) fn is_one_in(&mut self, n: usize) -> bool {
        // The last choice means yes, so that input which has ended says no.
        self.below(n) == n - 1
    }

    /// Chooses one of some values.
    pub(crate) fn choose<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len())]
    }

    /// Makes up to `most` items.
    pub(crate) fn list<T>(&mut self, most: usize, mut item: impl FnMut(&mut Self) -> T) -> Vec<T> {
        let n = self.below(most + 1);
        (0..n).map(|_| item(self)).collect()
    }

    /// Makes any double, often one at an edge.
    pub(crate) fn number(&mut self) -> f64 {
        match self.below(4) {
            0 => self.choose(&NUMBERS),
            1 => self.below(100) as f64 / 100.0,
            2 => self.below(2000) as f64 - 1000.0,
            _ => self.0.arbitrary().unwrap_or_default(),
        }
    }

    /// Makes any text.
    pub(crate) fn text(&mut self) -> String {
        match self.below(4) {
            0 => self.choose(&ODD).to_owned(),
            1 => self.list(6, |input| input.choose(&ODD)).concat(),
            2 => {
                let letter =
                    |input: &mut Self| input.choose(&['a', 'b', '\'', '"', '\\', '\n', 'é', '|']);
                self.list(80, letter).into_iter().collect()
            }
            _ => {
                let any = |input: &mut Self| input.0.arbitrary().unwrap_or_default();
                self.list::<char>(12, any).into_iter().collect()
            }
        }
    }

    /// Makes a symbol, mostly one of `n_frequent` letters, so that patterns have something in
    /// common.
    pub(crate) fn symbol(&mut self, n_frequent: usize) -> String {
        match self.below(16) {
            15 => self.text(),
            14 => self.choose(&ODD).to_owned(),
            _ => {
                // The lesser of two draws: early letters are frequent, as some words are in text.
                let letter = self.below(n_frequent).min(self.below(n_frequent));
                char::from(b'a' + (letter % 26) as u8).to_string()
            }
        }
    }

    /// Makes any bytes, mostly few.
    pub(crate) fn bytes(&mut self) -> Vec<u8> {
        let most = if self.is_one_in(8) { 600 } else { 12 };
        self.list(most, |input| input.0.arbitrary().unwrap_or_default())
    }

    /// Makes mostly short lists of events, mostly of one symbol each.
    pub(crate) fn events(&mut self, n_frequent: usize) -> Vec<Event> {
        let most = match self.below(24) {
            23 => 150,
            20..23 => 40,
            _ => 7,
        };
        self.list(most, |input| {
            let n = match input.below(12) {
                11 => input.below(4),
                9..11 => 2,
                _ => 1,
            };
            Event::in_given_order((0..n).map(|_| input.symbol(n_frequent)).collect())
        })
    }
}
