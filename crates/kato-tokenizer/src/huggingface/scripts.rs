//! The script of a character, as the pre-tokenizer `UnicodeScripts` knows it: that of Unicode 9, with Japanese as one.

use std::sync::LazyLock;

use super::regex::class;

/// A script, by number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Script(u16);

impl Script {
    /// What goes with every script: blanks, and characters that had no script then.
    pub(super) const ANY: Self = Self(u16::MAX);
}

/// The scripts of Unicode 9. Hiragana and Katakana are counted as the last one, Han.
#[rustfmt::skip]
const NAMES: [&str; 137] = [
    "adlam", "ahom", "anatolianhieroglyphs", "arabic", "armenian", "avestan", "balinese", "bamum",
    "bassavah", "batak", "bengali", "bhaiksuki", "bopomofo", "brahmi", "braille", "buginese", "buhid",
    "canadianaboriginal", "carian", "caucasianalbanian", "chakma", "cham", "cherokee", "common", "coptic",
    "cuneiform", "cypriot", "cyrillic", "deseret", "devanagari", "duployan", "egyptianhieroglyphs",
    "elbasan", "ethiopic", "georgian", "glagolitic", "gothic", "grantha", "greek", "gujarati", "gurmukhi",
    "hangul", "hanunoo", "hatran", "hebrew", "imperialaramaic", "inherited", "inscriptionalpahlavi",
    "inscriptionalparthian", "javanese", "kaithi", "kannada", "kayahli", "kharoshthi", "khmer", "khojki",
    "khudawadi", "lao", "latin", "lepcha", "limbu", "lineara", "linearb", "lisu", "lycian", "lydian",
    "mahajani", "malayalam", "mandaic", "manichaean", "marchen", "meeteimayek", "mendekikakui",
    "meroiticcursive", "meroitichieroglyphs", "miao", "modi", "mongolian", "mro", "multani", "myanmar",
    "nabataean", "newtailue", "newa", "nko", "ogham", "olchiki", "oldhungarian", "olditalic",
    "oldnortharabian", "oldpermic", "oldpersian", "oldsoutharabian", "oldturkic", "oriya", "osage",
    "osmanya", "pahawhhmong", "palmyrene", "paucinhau", "phagspa", "phoenician", "psalterpahlavi", "rejang",
    "runic", "samaritan", "saurashtra", "sharada", "shavian", "siddham", "signwriting", "sinhala",
    "sorasompeng", "sundanese", "sylotinagri", "syriac", "tagalog", "tagbanwa", "taile", "taitham",
    "taiviet", "takri", "tamil", "tangut", "telugu", "thaana", "thai", "tibetan", "tifinagh", "tirhuta",
    "ugaritic", "vai", "warangciti", "yi",
    "hiragana", "katakana", "han",
];

/// First and last character of every run that has a script, in order.
static RUNS: LazyLock<Vec<(char, char, Script)>> = LazyLock::new(|| {
    let then = class::named("age=9.0").unwrap_or_else(class::empty);
    let mut runs = Vec::new();
    for (number, name) in (0..).zip(NAMES) {
        let mut set = class::named(&format!("sc={name}")).unwrap_or_else(class::empty);
        set.intersect(&then);
        let number = match name {
            "hiragana" => number + 2,
            "katakana" => number + 1,
            _ => number,
        };
        runs.extend(
            set.iter()
                .map(|run| (run.start(), run.end(), Script(number))),
        );
    }
    runs.sort_unstable_by_key(|&(start, ..)| start);
    runs
});

/// Returns the script of a character.
pub(super) fn script(character: char) -> Script {
    let character = match character {
        // The long vowel mark is written with both kinds of Kana.
        '\u{30fc}' => '\u{4e00}',
        // Those that have another script since: they were common, and Devanagari.
        '\u{589}' | '\u{61c}' => '!',
        '\u{953}' | '\u{954}' => '\u{905}',
        _ => character,
    };
    if character == ' ' {
        return Script::ANY;
    }
    let at = RUNS.partition_point(|&(_, end, _)| end < character);
    match RUNS.get(at) {
        Some(&(start, _, script)) if start <= character => script,
        _ => Script::ANY,
    }
}

#[cfg(test)]
mod tests {
    use super::{Script, script};

    #[test]
    fn scripts_are_those_of_unicode_9() {
        let same = |one, other| assert_eq!(script(one), script(other), "{one} {other}");
        same('あ', '漢');
        same('カ', 'ー');
        same('a', 'é');
        same('1', '.');
        same('\u{589}', '!');
        same('\u{954}', 'अ');
        assert_ne!(script('a'), script('я'));
        assert_ne!(script('\u{301}'), script('a'));
        assert_eq!(script(' '), Script::ANY);
        // New in Unicode 10 and 15.
        assert_eq!(script('\u{1cf7}'), Script::ANY);
        assert_eq!(script('\u{31350}'), Script::ANY);
    }
}
