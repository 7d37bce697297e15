//! Sets of characters: how Oniguruma names them, and a table that answers quickly whether a character is in one.

use regex_syntax::hir::{Class, ClassUnicode, ClassUnicodeRange, HirKind};

/// Returns the set of a single character.
pub(super) fn single(character: char) -> ClassUnicode {
    range(character, character)
}

/// Returns the set of the characters from `first` to `last`.
pub(super) fn range(first: char, last: char) -> ClassUnicode {
    ClassUnicode::new([ClassUnicodeRange::new(first, last)])
}

/// Returns the set without characters.
pub(in crate::huggingface) fn empty() -> ClassUnicode {
    ClassUnicode::empty()
}

/// Returns all characters but those of `set`.
pub(super) fn negated(mut set: ClassUnicode) -> ClassUnicode {
    set.negate();
    set
}

/// Returns what `\w` and `\p{Word}` are outside of sets: what they are inside and six characters of Latin-1.
pub(super) fn word_outside_sets() -> Option<ClassUnicode> {
    let more = ['²', '³', '¹', '¼', '½', '¾'].map(single);
    Some(union(&[word()?, union(&more)]))
}

/// Returns the set of an escape such as `\s`, if the letter is one of those.
pub(super) fn shorthand(letter: char) -> Option<ClassUnicode> {
    let set = match letter.to_ascii_lowercase() {
        'd' => named("gc=Nd"),
        's' => named("White_Space"),
        'w' => word(),
        'h' => Some(hexadecimal()),
        _ => None,
    }?;
    Some(if letter.is_ascii_uppercase() {
        negated(set)
    } else {
        set
    })
}

/// Returns the set of `[:name:]`.
pub(super) fn posix(name: &str) -> Option<ClassUnicode> {
    match name {
        "alpha" => named("Alphabetic"),
        "digit" => named("gc=Nd"),
        "alnum" => Some(union(&[named("Alphabetic")?, named("gc=Nd")?])),
        "upper" => named("Uppercase"),
        "lower" => named("Lowercase"),
        "space" => named("White_Space"),
        "punct" => Some(union(&[named("gc=P")?, named("gc=S")?])),
        "cntrl" => named("gc=Cc"),
        "blank" => Some(union(&[named("gc=Zs")?, single('\t')])),
        "xdigit" => Some(hexadecimal()),
        "word" => word(),
        "ascii" => Some(range('\0', '\u{7f}')),
        _ => None,
    }
}

/// Returns the set of `\p{name}`: a general category, a script, or one of a few properties.
pub(super) fn property(name: &str) -> Option<ClassUnicode> {
    // Anything else would be a query of its own to the parser behind `named`.
    let name: String = name
        .chars()
        .filter(|character| !matches!(character, ' ' | '_' | '-'))
        .collect::<String>()
        .to_ascii_lowercase();
    if name.is_empty() || !name.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
        return None;
    }
    match name.as_str() {
        "alpha" | "alphabetic" => named("Alphabetic"),
        "alnum" => posix("alnum"),
        "upper" | "uppercase" => named("Uppercase"),
        "lower" | "lowercase" => named("Lowercase"),
        "space" | "whitespace" => named("White_Space"),
        "blank" => posix("blank"),
        "xdigit" => Some(hexadecimal()),
        "word" => word(),
        "emoji" => named("Emoji"),
        "extendedpictographic" => named("Extended_Pictographic"),
        "ascii" => posix("ascii"),
        _ => named(&format!("gc={name}")).or_else(|| named(&format!("sc={name}"))),
    }
}

/// Returns the union of sets.
pub(super) fn union(sets: &[ClassUnicode]) -> ClassUnicode {
    let mut all = empty();
    sets.iter().for_each(|set| all.union(set));
    all
}

/// What `\w` is: letters, marks, decimal digits and connectors.
fn word() -> Option<ClassUnicode> {
    Some(union(&[
        named("Alphabetic")?,
        named("gc=M")?,
        named("gc=Nd")?,
        named("gc=Pc")?,
    ]))
}

fn hexadecimal() -> ClassUnicode {
    union(&[range('0', '9'), range('a', 'f'), range('A', 'F')])
}

/// Returns the set of a Unicode property as the tables of `regex-syntax` have it.
pub(in crate::huggingface) fn named(property: &str) -> Option<ClassUnicode> {
    let parsed = regex_syntax::parse(&format!(r"\p{{{property}}}")).ok()?;
    match parsed.into_kind() {
        HirKind::Class(Class::Unicode(set)) => Some(set),
        // A set of a single character.
        HirKind::Literal(literal) => {
            let text = str::from_utf8(&literal.0).ok()?;
            Some(single(text.chars().next()?))
        }
        _ => None,
    }
}

/// A set that is asked often.
#[derive(Debug)]
pub(in crate::huggingface) struct Table {
    ascii: u128,
    /// Bits of 256 characters each, the page of a character named by `pages`.
    bits: Vec<[u64; 4]>,
    pages: Vec<u16>,
}

impl Table {
    /// Returns what `\w` is outside of Oniguruma: to the pre-tokenizer `Whitespace` and to added tokens.
    pub(in crate::huggingface) fn word() -> Self {
        let parsed = regex_syntax::parse(r"\w").map(regex_syntax::hir::Hir::into_kind);
        match parsed {
            Ok(HirKind::Class(Class::Unicode(set))) => Self::new(&set),
            _ => unreachable!("`\\w` is a set of characters"),
        }
    }

    pub(super) fn new(set: &ClassUnicode) -> Self {
        let mut table = Self {
            ascii: 0,
            bits: vec![[0; 4]],
            pages: Vec::new(),
        };
        let mut page = [0u64; 4];
        let mut ranges = set.iter().peekable();
        for number in 0..0x1100u32 {
            let (first, last) = (number << 8, (number << 8) | 0xFF);
            page.fill(0);
            while let Some(range) = ranges.peek() {
                let (start, end) = (u32::from(range.start()), u32::from(range.end()));
                if start > last {
                    break;
                }
                for code in start.max(first)..=end.min(last) {
                    page[(code >> 6 & 3) as usize] |= 1 << (code & 63);
                }
                if end > last {
                    break;
                }
                ranges.next();
            }
            if number == 0 {
                table.ascii = u128::from(page[0]) | u128::from(page[1]) << 64;
            }
            // Neighbouring pages are often the same, and most are empty or full.
            let known =
                (table.bits.iter().rposition(|known| *known == page)).unwrap_or_else(|| {
                    table.bits.push(page);
                    table.bits.len() - 1
                });
            table
                .pages
                .push(u16::try_from(known).expect("there are 4,352 pages"));
        }
        let used = table.pages.iter().rposition(|&page| page != 0);
        table.pages.truncate(used.map_or(0, |last| last + 1));
        table
    }

    #[inline]
    pub(in crate::huggingface) fn contains(&self, character: char) -> bool {
        let code = u32::from(character);
        if code < 128 {
            return self.ascii >> code & 1 == 1;
        }
        let Some(&page) = self.pages.get((code >> 8) as usize) else {
            return false;
        };
        self.bits[usize::from(page)][(code >> 6 & 3) as usize] >> (code & 63) & 1 == 1
    }
}

/// The first bytes of the characters of a set in UTF-8.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FirstBytes([u64; 4]);

impl FirstBytes {
    pub(super) const NONE: Self = Self([0; 4]);
    pub(super) const ALL: Self = Self([u64::MAX; 4]);

    pub(super) fn of(set: &ClassUnicode) -> Self {
        let first = |character: char| character.encode_utf8(&mut [0; 4]).as_bytes()[0];
        let mut all = Self::NONE;
        for range in set.iter() {
            // The first byte never falls from one character to the next.
            for byte in first(range.start())..=first(range.end()) {
                all.0[usize::from(byte >> 6)] |= 1 << (byte & 63);
            }
        }
        all
    }

    pub(super) fn union(mut self, other: Self) -> Self {
        (self.0.iter_mut().zip(other.0)).for_each(|(bits, other)| *bits |= other);
        self
    }

    /// Returns whether the byte, if there is one, is among them.
    #[inline]
    pub(super) fn contains(&self, byte: Option<u8>) -> bool {
        match byte {
            Some(byte) => self.0[usize::from(byte >> 6)] >> (byte & 63) & 1 == 1,
            None => *self == Self::ALL,
        }
    }
}
