//! Cuts a document into sections: one for plain text, one per heading for books and articles.

use std::borrow::Cow;
use std::iter::FusedIterator;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::heading::{self, Rule};
use super::option::UnknownOption;
use super::paragraph::Paragraphs;
use super::whitespace::strip;

/// The rule by which a document is cut into sections before it is cut into paragraphs.
///
/// Headings are recognised where a newline precedes them, so never on the first line, and of two in a
/// row the second only where a line break of its own is left; patterns are case-sensitive, as in the
/// original.
///
/// ```
/// use kato_learner::segment::Segmentation;
///
/// let text = "Preface.\nChapter 1:\nIt was night.";
/// let sections: Vec<_> = Segmentation::Book.sections(text).collect();
/// assert_eq!(sections[1].title, "Chapter 1");
/// assert_eq!(sections[1].text, "\nIt was night.");
/// assert_eq!(sections[1].n_heading_chars(), "Chapter 1:".len());
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Segmentation {
    /// One section with the whole document, titled `Main Content`.
    #[default]
    Simple,
    /// A section per markdown heading (`#`s and a blank), numbered item (`1.` and a blank) or
    /// `Section 1`, the last followed by a colon or the end of the line. Only what is named here is
    /// heading: the words after `# ` or `1. ` stay in the text.
    Article,
    /// A section per line that starts with `Chapter` or `CHAPTER` and a number (digits, roman
    /// numerals of I, V and X, or `One` to `Ten`), directly followed by a colon or the end of the
    /// line.
    Book,
}

impl Segmentation {
    const NAMES: &'static [&'static str] = &["simple", "article", "book"];

    /// Returns the sections of `text`, in order; there is always at least one, and any may be empty.
    ///
    /// **Complexity**: one search over the text for books and articles, none for simple text.
    #[must_use]
    pub fn sections(self, text: &str) -> Sections<'_> {
        Sections {
            kind: self,
            text,
            n_found: 0,
            at: Some((0, 0)),
        }
    }

    /// Returns the rule of the headings; `None` where there are none.
    fn heading(self) -> Option<Rule> {
        match self {
            Self::Simple => None,
            Self::Article => Some(heading::of_article),
            Self::Book => Some(heading::of_book),
        }
    }

    /// Returns the title of the section with this number.
    fn title(self, section_idx: usize) -> Cow<'static, str> {
        match self {
            Self::Simple => Cow::Borrowed("Main Content"),
            Self::Article => Cow::Owned(format!("Section {section_idx}")),
            Self::Book => Cow::Owned(format!("Chapter {section_idx}")),
        }
    }
}

impl FromStr for Segmentation {
    type Err = UnknownOption;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        match name {
            "simple" => Ok(Self::Simple),
            "article" => Ok(Self::Article),
            "book" => Ok(Self::Book),
            _ => Err(UnknownOption {
                option: "segmentation",
                given: name.to_owned(),
                expected: Self::NAMES,
            }),
        }
    }
}

/// One section of a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Section<'a> {
    /// `Main Content`, or `Chapter {i}` / `Section {i}` with `i` = 0 for the text before the first
    /// heading.
    pub title: Cow<'static, str>,
    /// The section's text, without its heading.
    pub text: &'a str,
    /// Position of the first byte of [`text`](Self::text), in bytes from the start of the
    /// document.
    pub offset: usize,
    /// The text that the heading rule took out of the document before this section, line breaks
    /// included; it is in no section's text. Empty for the first section.
    pub heading: &'a str,
}

impl<'a> Section<'a> {
    /// Returns the number of characters (code points) that the heading takes out of the document,
    /// not counting white space around it.
    #[must_use]
    pub fn n_heading_chars(&self) -> usize {
        strip(self.heading).chars().count()
    }

    /// Returns the section's paragraphs with at least `min_chars` characters; offsets count from
    /// the start of the document.
    #[must_use]
    pub fn paragraphs(&self, min_chars: usize) -> Paragraphs<'a> {
        Paragraphs::at_offset(self.text, self.offset, min_chars)
    }
}

/// An iterator over the sections of one document; created by [`Segmentation::sections`].
#[derive(Debug, Clone)]
pub struct Sections<'a> {
    kind: Segmentation,
    text: &'a str,
    /// Sections returned so far.
    n_found: usize,
    /// Start and end of the heading before the next section, or `None` after the last.
    at: Option<(usize, usize)>,
}

impl<'a> Iterator for Sections<'a> {
    type Item = Section<'a>;

    fn next(&mut self) -> Option<Self::Item> {
        let (heading_start, start) = self.at?;
        // The search begins behind the heading before, whose line break is used up: of two headings
        // in a row only the first is found, as when the text is split by the pattern.
        let next = self
            .kind
            .heading()
            .and_then(|rule| heading::find(rule, self.text, start));
        let end = next
            .as_ref()
            .map_or(self.text.len(), |heading| heading.start);
        self.at = next.map(|heading| (heading.start, heading.end));
        let title = self.kind.title(self.n_found);
        self.n_found += 1;
        Some(Section {
            title,
            text: &self.text[start..end],
            offset: start,
            heading: &self.text[heading_start..start],
        })
    }
}

impl FusedIterator for Sections<'_> {}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(kind: Segmentation, text: &str, expected: &[(&str, &str, &str)]) {
        let sections: Vec<_> = kind.sections(text).collect();
        let found: Vec<_> = sections
            .iter()
            .map(|s| (s.title.as_ref(), s.heading, s.text))
            .collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn simple_text_is_one_section() {
        check(Segmentation::Simple, "", &[("Main Content", "", "")]);
        let text = "a\nChapter 1:\n# b\n";
        check(Segmentation::Simple, text, &[("Main Content", "", text)]);
    }

    #[test]
    fn books_split_at_chapter_headings() {
        let check = |text, expected: &[_]| check(Segmentation::Book, text, expected);
        check("", &[("Chapter 0", "", "")]);
        check(
            "Preface\n\n  Chapter 1:\nOne.\nCHAPTER\tIV\nFour.",
            &[
                ("Chapter 0", "", "Preface"),
                ("Chapter 1", "\n\n  Chapter 1:", "\nOne."),
                ("Chapter 2", "\nCHAPTER\tIV\n", "Four."),
            ],
        );
        check(
            "\nChapter Ten: x",
            &[("Chapter 0", "", ""), ("Chapter 1", "\nChapter Ten:", " x")],
        );
        check(
            "\nChapter ٣\nx",
            &[("Chapter 0", "", ""), ("Chapter 1", "\nChapter ٣\n", "x")],
        );
        check(
            "a\n\u{1c}Chapter\u{a0}2\nx",
            &[
                ("Chapter 0", "", "a"),
                ("Chapter 1", "\n\u{1c}Chapter\u{a0}2\n", "x"),
            ],
        );
    }

    #[test]
    fn what_the_book_rule_misses_in_the_original_it_misses_here() {
        for text in [
            "Chapter 1:\nno newline before it",
            "a\nChapter 1. The start\nb",
            "a\nChapter 1 :\nb",
            "a\nChapter Eleven\nb",
            "a\nchapter 1\nb",
            "a\nChapter XL\nb",
            "a\nChapter 1",
        ] {
            check(Segmentation::Book, text, &[("Chapter 0", "", text)]);
        }
        // The first heading takes the newline that the second one would need.
        check(
            Segmentation::Book,
            "a\nChapter 1\nChapter 2\nb",
            &[
                ("Chapter 0", "", "a"),
                ("Chapter 1", "\nChapter 1\n", "Chapter 2\nb"),
            ],
        );
    }

    #[test]
    fn articles_split_at_headings_numbered_items_and_sections() {
        let check = |text, expected: &[_]| check(Segmentation::Article, text, expected);
        check(
            "Intro\n## Methods\nText\n12. item\nSection 3:\nend\nSection 4\n",
            &[
                ("Section 0", "", "Intro"),
                ("Section 1", "\n## ", "Methods\nText"),
                ("Section 2", "\n12. ", "item"),
                ("Section 3", "\nSection 3:", "\nend"),
                ("Section 4", "\nSection 4\n", ""),
            ],
        );
        for text in [
            "# first line",
            "a\n#tag",
            "a\n1.5 b",
            "a\n 1. b",
            "a\nsection 1:\nb",
            "a\nSection 1 b",
        ] {
            check(text, &[("Section 0", "", text)]);
        }
    }

    #[test]
    fn paragraphs_of_a_section_are_placed_in_the_document() {
        let text = "Preface here.\nChapter 1:\n First page of it.\n\nSecond page.";
        let section = Segmentation::Book.sections(text).nth(1).unwrap();
        let found: Vec<_> = section.paragraphs(10).map(|p| (p.offset, p.text)).collect();
        assert_eq!(found, [(26, "First page of it."), (45, "Second page.")]);
        assert!(
            found
                .iter()
                .all(|&(offset, part)| text[offset..].starts_with(part))
        );
        assert_eq!(section.n_heading_chars(), 10);
    }

    #[test]
    fn names_parse() {
        assert_eq!("article".parse(), Ok(Segmentation::Article));
        for (name, kind) in Segmentation::NAMES.iter().zip([
            Segmentation::Simple,
            Segmentation::Article,
            Segmentation::Book,
        ]) {
            assert_eq!(name.parse(), Ok(kind));
        }
        let error = "poem".parse::<Segmentation>().unwrap_err();
        assert_eq!(
            error.to_string(),
            "unknown segmentation `poem`: expected one of simple, article, book"
        );
    }

    proptest! {
        #[test]
        fn sections_and_headings_partition_the_document(
            parts in prop::collection::vec(prop_oneof![
                Just("\n".to_owned()), Just("Chapter 1:".to_owned()), Just("# ".to_owned()), Just("7. ".to_owned()),
                Just("CHAPTER II\n".to_owned()), Just("Section 3\n".to_owned()), "[a é]{0,5}",
            ], 0..20),
            kind in prop_oneof![Just(Segmentation::Simple), Just(Segmentation::Article), Just(Segmentation::Book)],
        ) {
            let text = parts.concat();
            let mut rebuilt = String::new();
            for (i, section) in kind.sections(&text).enumerate() {
                rebuilt.push_str(section.heading);
                prop_assert_eq!(section.offset, rebuilt.len());
                rebuilt.push_str(section.text);
                prop_assert_eq!(section.title, kind.title(i));
            }
            prop_assert_eq!(&rebuilt, &text);
        }
    }
}
