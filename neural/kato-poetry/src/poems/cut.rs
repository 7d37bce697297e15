//! Cuts a text into poems.

use super::{PoemUnit, TextOptions};
use crate::poem::Poem;

/// A run of lines without a blank one.
struct Block<'a> {
    /// Number of its first line, from 1.
    line: usize,
    /// Blank lines in front of it.
    n_blank_before: usize,
    lines: Vec<&'a str>,
}

/// Cuts the text of a file into poems.
pub(super) fn cut(text: &str, file: &str, options: &TextOptions) -> Vec<Poem> {
    let begins_poem = |block: &Block<'_>| match options.unit {
        PoemUnit::Paragraph => true,
        PoemUnit::Gap => block.n_blank_before >= 2,
        PoemUnit::File => false,
    };
    let mut poems: Vec<Vec<Block<'_>>> = Vec::new();
    for block in blocks(text) {
        match poems.last_mut() {
            // With titles, a paragraph of one line waits for its poem.
            Some(poem) if !begins_poem(&block) || is_lone_title(poem, options) => poem.push(block),
            _ => poems.push(vec![block]),
        }
    }
    poems
        .into_iter()
        .map(|blocks| poem(&blocks, file, options))
        .collect()
}

/// Returns whether what was read of a poem is a title alone, so that the next paragraph is its text.
fn is_lone_title(poem: &[Block<'_>], options: &TextOptions) -> bool {
    options.titles
        && options.unit == PoemUnit::Paragraph
        && matches!(poem, [block] if block.lines.len() == 1)
}

/// Makes a poem out of its stanzas, the first of which may be the title.
fn poem(blocks: &[Block<'_>], file: &str, options: &TextOptions) -> Poem {
    let (title, stanzas) = match blocks {
        // A single line with nothing behind it is a poem of one line.
        [title, stanzas @ ..]
            if options.titles && title.lines.len() == 1 && !stanzas.is_empty() =>
        {
            (Some(title.lines[0].trim().to_owned()), stanzas)
        }
        all => (None, all),
    };
    let text: Vec<String> = stanzas
        .iter()
        .map(|stanza| stanza.lines.join("\n"))
        .collect();
    let line = stanzas.first().map_or(1, |stanza| stanza.line);
    let place = match file {
        "" => format!("line {line}"),
        file => format!("{file}, line {line}"),
    };
    let mut poem = Poem::new(text.join("\n\n")).with_place(place);
    poem.title = title;
    poem
}

/// Returns the runs of lines without a blank one.
fn blocks(text: &str) -> Vec<Block<'_>> {
    let mut blocks: Vec<Block<'_>> = Vec::new();
    let mut n_blank = 0;
    let mut is_inside = false;
    for (index, line) in text.lines().enumerate() {
        if line.trim().is_empty() {
            n_blank += 1;
            is_inside = false;
            continue;
        }
        if !is_inside {
            blocks.push(Block {
                line: index + 1,
                n_blank_before: n_blank,
                lines: Vec::new(),
            });
        }
        if let Some(block) = blocks.last_mut() {
            block.lines.push(line.trim_end());
        }
        is_inside = true;
        n_blank = 0;
    }
    blocks
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\n\nOne\n\na\nb\n\nc\n\n\nTwo\n\nd\n  \n\n\ne\r\nf\n";

    fn cut_as(unit: PoemUnit, titles: bool) -> Vec<(Option<String>, String, String)> {
        let options = TextOptions { unit, titles };
        let poems = cut(TEXT, "x", &options).into_iter();
        poems
            .map(|poem| (poem.title, poem.text, poem.place))
            .collect()
    }

    fn row(title: &str, text: &str, line: usize) -> (Option<String>, String, String) {
        let title = (!title.is_empty()).then(|| title.to_owned());
        (title, text.to_owned(), format!("x, line {line}"))
    }

    #[test]
    fn a_poem_is_what_the_unit_says() {
        assert_eq!(
            cut_as(PoemUnit::Paragraph, false),
            [
                row("", "One", 3),
                row("", "a\nb", 5),
                row("", "c", 8),
                row("", "Two", 11)
            ]
            .into_iter()
            .chain([row("", "d", 13), row("", "e\nf", 17)])
            .collect::<Vec<_>>()
        );
        assert_eq!(
            cut_as(PoemUnit::Gap, false),
            [
                row("", "One\n\na\nb\n\nc", 3),
                row("", "Two\n\nd", 11),
                row("", "e\nf", 17)
            ]
        );
        assert_eq!(
            cut_as(PoemUnit::File, false),
            [row("", "One\n\na\nb\n\nc\n\nTwo\n\nd\n\ne\nf", 3)]
        );
    }

    #[test]
    fn titles_are_single_lines_in_front() {
        // A paragraph of one line is the title of the next one, whatever that is.
        assert_eq!(
            cut_as(PoemUnit::Paragraph, true),
            [
                row("One", "a\nb", 5),
                row("c", "Two", 11),
                row("d", "e\nf", 17)
            ]
        );
        assert_eq!(
            cut_as(PoemUnit::Gap, true),
            [
                row("One", "a\nb\n\nc", 5),
                row("Two", "d", 13),
                row("", "e\nf", 17)
            ]
        );
        assert_eq!(
            cut("alone", "x", &TextOptions::default().with_titles())[0].title,
            None
        );
    }

    #[test]
    fn nothing_is_no_poem() {
        assert!(cut("", "x", &TextOptions::default()).is_empty());
        assert!(cut(" \n\t\n", "x", &TextOptions::default()).is_empty());
    }
}
