//! Text made from a seed, with words as frequent as in real text, the same on every machine.

use kato_random::SplitMix64;

/// Frequent English words; they make up about half of a text, as in real ones.
const COMMON: &str = "the of and to in a is that for it as was with be by on not he his but at are this have from or had an \
    they which one you were all her she there would their we him been has when who will no more if out so up said what its \
    about than into them can only other time new some could these two may first then do any like my now over such our man me \
    even most made after also did many must before see through way where get much go well your know should down work year \
    because come people just say each those take day good how long little use own still great here both between life being \
    under never day same another while last might us left end since against right came house world school during without \
    place around however home small found number part late water less public put think almost hand enough far took head yet \
    government system better set told nothing night going find look city point general state high war second";
/// Parts of the words that are made up.
const SYLLABLES: [&str; 32] = [
    "the", "an", "er", "in", "re", "on", "st", "al", "en", "ti", "es", "or", "te", "ar", "is",
    "ve", "con", "de", "com", "pro", "ra", "li", "ma", "ing", "ed", "ly", "ment", "ous", "ko",
    "sa", "mi", "lu",
];
/// Number of words, most of them made of syllables; some are made more than once.
const N_WORDS: usize = 50_000;
/// Words between two full stops.
const SENTENCE: u64 = 18;

/// Words of a seed, the first ones the most frequent.
#[derive(Debug)]
pub(crate) struct Words {
    words: Vec<String>,
}

impl Words {
    /// Makes the words.
    pub(crate) fn new(random: &mut SplitMix64) -> Self {
        let mut words: Vec<String> = COMMON.split_whitespace().map(str::to_owned).collect();
        words.extend((words.len()..N_WORDS).map(|_| random_word(1, random)));
        Self { words }
    }

    #[cfg(feature = "store")]
    /// Returns all words.
    pub(crate) fn all(&self) -> &[String] {
        &self.words
    }

    /// Draws the rank of a word, from 0, by Zipf's law with exponent 1.
    pub(crate) fn draw(&self, random: &mut SplitMix64) -> usize {
        // n^u has the distribution function ln r / ln n, which is that of frequencies 1/r.
        let rank = (self.words.len() as f64).powf(random.unit());
        // Rounding of the power may leave the range by one.
        (rank as usize).clamp(1, self.words.len()) - 1
    }

    /// Makes a text of at least so many bytes.
    pub(crate) fn text(&self, bytes: usize, random: &mut SplitMix64) -> String {
        let mut text = String::with_capacity(bytes + 64);
        let mut n = 0;
        while text.len() < bytes {
            if n > 0 {
                text.push_str(if n % SENTENCE == 0 { ". " } else { " " });
            }
            // Of a hundred words of real text some are numbers, or names that did not occur before,
            // and ten begin a name.
            let word = &self.words[self.draw(random)];
            match random.below(100) {
                0..3 => text.push_str(&random.below(3000).to_string()),
                3..9 => text.push_str(&random_word(2, random)),
                9..19 => {
                    // Words are ASCII, so the first letter is one byte.
                    let (first, rest) = word.split_at(1);
                    text.push_str(&first.to_uppercase());
                    text.push_str(rest);
                }
                19..27 => {
                    text.push_str(word);
                    text.push(',');
                }
                _ => text.push_str(word),
            }
            n += 1;
        }
        text.push('.');
        text
    }
}

/// Makes a word of at least so many syllables, and at most two more.
fn random_word(min_syllables: usize, random: &mut SplitMix64) -> String {
    let n = min_syllables + random.below(3);
    (0..n)
        .map(|_| SYLLABLES[random.below(SYLLABLES.len())])
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_the_same_text_and_another_another() {
        let text = |seed| {
            let mut random = SplitMix64::from_seed(seed);
            Words::new(&mut random).text(1000, &mut random)
        };
        assert_eq!(text(1), text(1));
        assert_ne!(text(1), text(2));
        assert!((1000..1100).contains(&text(1).len()));
    }

    #[test]
    fn low_ranks_are_drawn_most_often() {
        let mut random = SplitMix64::from_seed(3);
        let words = Words::new(&mut random);
        let draws: Vec<usize> = (0..10_000).map(|_| words.draw(&mut random)).collect();
        // Of 50,000 words with exponent 1 the first hundred have ln(100)/ln(50,000) = 42.6 % of the
        // draws.
        let low = draws.iter().filter(|rank| **rank < 100).count() as f64 / 10_000.0;
        assert!((low - 0.426).abs() < 0.03, "{low}");
    }
}
