//! Texts to encode: real ones where they are available, and seeded nonsense that looks for trouble.

use std::path::Path;

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

    fn of<'a>(&mut self, choices: &[&'a str]) -> &'a str {
        choices[self.below(choices.len())]
    }
}

/// Appends up to `pieces` pieces: words, digits, contractions, runs, control characters, any Unicode.
pub(crate) fn nonsense(random: &mut Seeded, pieces: usize, text: &mut String) {
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
            _ => text.extend(
                (0..=random.below(3))
                    .filter_map(|_| char::from_u32(random.below(0x11_0000) as u32)),
            ),
        }
    }
}

/// Every `.txt` below the folder named by `KATO_CORPUS_DIR`; empty, with a note, when it is unset.
pub(crate) fn corpus() -> Vec<String> {
    let Some(folder) = std::env::var_os("KATO_CORPUS_DIR") else {
        println!("skipped: KATO_CORPUS_DIR is not set");
        return Vec::new();
    };
    let mut texts = Vec::new();
    collect(Path::new(&folder), &mut texts);
    assert!(!texts.is_empty(), "no .txt in {}", folder.display());
    texts
}

fn collect(folder: &Path, texts: &mut Vec<String>) {
    for entry in std::fs::read_dir(folder).expect("KATO_CORPUS_DIR names a folder") {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, texts);
        } else if path.extension().is_some_and(|extension| extension == "txt") {
            texts.push(std::fs::read_to_string(path).unwrap());
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
