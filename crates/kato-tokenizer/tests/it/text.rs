//! Texts to encode: real ones where they are available, and seeded nonsense that looks for trouble.

use std::path::{Path, PathBuf};

/// Letters and digits that Unicode 17 added: the oracle still has Unicode 16.
const NEW_IN_UNICODE_17: [(u32, u32); 26] = [
    (0x088F, 0x088F),
    (0x0C5C, 0x0C5C),
    (0x0CDC, 0x0CDC),
    (0xA7CE, 0xA7CF),
    (0xA7D2, 0xA7D2),
    (0xA7D4, 0xA7D4),
    (0xA7F1, 0xA7F1),
    (0x10940, 0x10959),
    (0x10EC5, 0x10EC7),
    (0x11DB0, 0x11DDB),
    (0x11DE0, 0x11DE9),
    (0x16EA0, 0x16EB8),
    (0x16EBB, 0x16ED3),
    (0x16FF2, 0x16FF6),
    (0x187F8, 0x187FF),
    (0x18D09, 0x18D1E),
    (0x18D80, 0x18DF2),
    (0x1E6C0, 0x1E6DE),
    (0x1E6E0, 0x1E6E2),
    (0x1E6E4, 0x1E6E5),
    (0x1E6E7, 0x1E6ED),
    (0x1E6F0, 0x1E6F4),
    (0x1E6FE, 0x1E6FF),
    (0x2B73A, 0x2B73F),
    (0x2CEA2, 0x2CEAD),
    (0x323B0, 0x33479),
];

/// Whether tokenizer and oracle must agree on what kind of character this is.
pub(crate) fn is_settled(character: char) -> bool {
    let code = u32::from(character);
    !NEW_IN_UNICODE_17
        .iter()
        .any(|&(first, last)| (first..=last).contains(&code))
}

/// SplitMix64: the same numbers for a seed on every machine and in every version.
pub(crate) struct Seeded(pub(crate) u64);

impl Seeded {
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) % bound as u64) as usize
    }

    fn character(&mut self) -> Option<char> {
        // Half from the scripts in use, half from everywhere.
        let bound = [0x3000, 0x11_0000][self.below(2)];
        char::from_u32(self.below(bound) as u32)
    }

    fn of<'a>(&mut self, choices: &[&'a str]) -> &'a str {
        choices[self.below(choices.len())]
    }
}

/// Appends up to `pieces` pieces: words, digits, contractions, runs, control characters, any
/// Unicode on which the oracle agrees.
pub(crate) fn nonsense(random: &mut Seeded, pieces: usize, text: &mut String) {
    any_nonsense(random, pieces, text);
    text.retain(is_settled);
}

/// Appends the same with all of Unicode.
pub(crate) fn any_nonsense(random: &mut Seeded, pieces: usize, text: &mut String) {
    const WORDS: [&str; 12] = [
        "the",
        " the",
        " House",
        "iPhone",
        "don",
        "naïve",
        " Größe",
        "привет",
        " 東京",
        "नमस्ते",
        "안녕",
        "Ġcat",
    ];
    const CONTRACTIONS: [&str; 12] = [
        "'s", "'t", "'re", "'ve", "'m", "'ll", "'d", "'S", "'", "’s", "''", "'x",
    ];
    const BLANKS: [&str; 12] = [
        " ", "  ", "\n", "\n\n", "\t", "\r\n", "\u{a0}", "\u{2003}", "\u{3000}", "\u{85}",
        "\u{200b}", "\u{feff}",
    ];
    const MARKS: [&str; 12] = [
        ".",
        ",",
        "!?",
        "...",
        "-",
        "@-@",
        "<unk>",
        "<|endoftext|>",
        "<|endo",
        "=",
        "\\",
        "\"",
    ];
    for _ in 0..=random.below(pieces) {
        match random.below(12) {
            0..=2 => text.push_str(random.of(&WORDS)),
            3 => text.push_str(random.of(&CONTRACTIONS)),
            4..=5 => text.push_str(random.of(&BLANKS)),
            6 => text.push_str(random.of(&MARKS)),
            7 => text.push_str(&random.below(1_000_000).to_string()),
            8 => (0..=random.below(9))
                .for_each(|_| text.push(char::from(b'a' + random.below(26) as u8))),
            9 => {
                let run = random.of(&[" ", "a", "\n", "-", "é", "0"]);
                (0..=random.below(40)).for_each(|_| text.push_str(run));
            }
            10 => text.push(char::from(random.below(128) as u8)),
            _ => text.extend(random.character()),
        }
    }
}

/// The folder named by `KATO_CORPUS_DIR`; prints a note when it is unset.
#[expect(clippy::print_stdout, reason = "a skipped test says so")]
pub(crate) fn corpus_dir() -> Option<PathBuf> {
    let folder = std::env::var_os("KATO_CORPUS_DIR").map(PathBuf::from);
    if folder.is_none() {
        println!("skipped: KATO_CORPUS_DIR is not set");
    }
    folder
}

/// Every `.txt` below the folder named by `KATO_CORPUS_DIR`; empty when it is unset.
pub(crate) fn corpus() -> Vec<String> {
    let Some(folder) = corpus_dir() else {
        return Vec::new();
    };
    let mut texts = Vec::new();
    collect(&folder, &mut texts);
    assert!(!texts.is_empty(), "no .txt in {}", folder.display());
    texts
}

fn collect(folder: &Path, texts: &mut Vec<String>) {
    for entry in std::fs::read_dir(folder).expect("KATO_CORPUS_DIR names a folder") {
        let path = entry.expect("the folder can be listed").path();
        if path.is_dir() {
            collect(&path, texts);
        } else if path.extension().is_some_and(|extension| extension == "txt") {
            texts.push(std::fs::read_to_string(path).expect("corpus files are UTF-8"));
        }
    }
}

/// `text` cut into pieces of about `bytes` bytes.
pub(crate) fn pieces(text: &str, bytes: usize) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let (piece, tail) = rest.split_at(rest.ceil_char_boundary(bytes));
        rest = tail;
        (!piece.is_empty()).then_some(piece)
    })
}
