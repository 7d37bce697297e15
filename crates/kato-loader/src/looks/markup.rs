//! Tells markup and subtitles: text among whose words tags or time codes stand.

use memchr::{memchr, memchr_iter, memmem};

/// Bytes of a file that are looked at, at most.
const SAMPLE_BYTES: usize = 64 << 10;

/// Elements from tag to tag that make markup, at least, where no declaration and no name says so.
const LEAST_ELEMENTS: usize = 4;

/// Bytes that tell every kind of declaration.
const DECLARATION_BYTES: usize = b"<![CDATA[".len();

/// Bytes of a line of time codes, at most.
const TIMING_BYTES: usize = 200;

/// Lines of WebVTT behind its first one that the first time codes are looked for in.
const HEADER_LINES: usize = 10;

/// Elements that have no end in HTML; in XML, which has elements of any name, they have one.
const VOID: &[&str] = &[
    "area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source",
    "track", "wbr",
];

/// Elements that pages begin with, and those of subtitles in HTML: what is not closed in them does not matter.
const PAGES: &[&str] = &["body", "head", "html", "sami"];

/// Elements that parts of pages begin with: they are markup also where they hold words alone.
const BLOCKS: &[&str] = &[
    "article",
    "blockquote",
    "center",
    "div",
    "dl",
    "footer",
    "form",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "header",
    "main",
    "nav",
    "ol",
    "p",
    "pre",
    "section",
    "span",
    "table",
    "title",
    "ul",
];

/// Elements whose content is code: a file that begins with one is code as a whole.
const CODE: &[&str] = &["script", "style", "template"];

/// What text with tags or time codes looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Markup {
    Html,
    Xml,
    Subtitles,
}

impl Markup {
    /// Returns what it is, in words that follow "it looks like".
    pub(crate) const fn what(self) -> &'static str {
        match self {
            Self::Html => "HTML",
            Self::Xml => "XML",
            Self::Subtitles => "subtitles",
        }
    }
}

/// What a sample says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// More bytes are needed.
    Open,
    /// It is neither markup nor subtitles.
    Plain,
    Is(Markup),
}

/// The first bytes of a text, as far as they may be markup or subtitles.
///
/// Prose that tells of a tag has words outside of all elements, or elements that nothing closes. The
/// sample ends at a number of bytes and at nothing else, so that it is the same however the bytes
/// arrive; prose mostly shows in its first one.
#[derive(Default)]
pub(crate) struct MarkupSample {
    /// Bytes that were followed.
    at: usize,
    /// Names of the elements that are open, the outermost first.
    open: Vec<Vec<u8>>,
    n_elements: usize,
    /// What the beginning says that it is, unless words follow.
    begins_as: Option<Markup>,
    /// What the first of the outermost elements is of.
    is_of: Option<Markup>,
    /// Whether the outermost element that is open is more than a mark around words, such as `<s>`.
    is_rich: bool,
}

/// What the bytes behind a `<` are.
enum Step {
    /// The sample ends before it does.
    CutOff,
    /// No tag.
    Broken,
    /// A tag that says what all of it is.
    Told(Markup),
    /// Something of so many bytes.
    Passed(usize),
}

/// A tag that opens an element.
struct Opening {
    n_bytes: usize,
    name: Vec<u8>,
    has_attributes: bool,
    /// Whether an attribute is the name of a namespace, as only XML has it.
    has_namespace: bool,
    /// Whether the tag is the whole element.
    is_closed: bool,
}

impl MarkupSample {
    /// Follows a text, which is given from its first byte and grows from call to call; `is_whole` says
    /// that nothing is behind it.
    pub(crate) fn follow(&mut self, text: &[u8], is_whole: bool) -> Verdict {
        let is_cut = text.len() >= SAMPLE_BYTES;
        let text = &text[..text.len().min(SAMPLE_BYTES)];
        let is_end = is_cut || is_whole;
        match text.trim_ascii_start().first() {
            None if is_end => Verdict::Plain,
            None => Verdict::Open,
            Some(b'<') => match self.follow_tags(text) {
                Verdict::Open if is_end => self.at_end(!is_cut),
                verdict => verdict,
            },
            Some(_) => subtitles(text.trim_ascii_start(), is_end),
        }
    }

    /// Follows tags as far as they are whole.
    fn follow_tags(&mut self, text: &[u8]) -> Verdict {
        loop {
            let rest = &text[self.at..];
            let tag_at = memchr(b'<', rest);
            let words = &rest[..tag_at.unwrap_or(rest.len())];
            if !words.trim_ascii().is_empty() {
                if self.n_open() == 0 {
                    return Verdict::Plain;
                }
                self.begins_as = None;
            }
            let Some(tag_at) = tag_at else {
                return Verdict::Open;
            };
            if is_markdown(words) {
                return Verdict::Plain;
            }
            let tag = &rest[tag_at..];
            match (self.begins_as, tag.get(1)) {
                (_, None) => return Verdict::Open,
                (Some(markup), Some(b'!' | b'?' | b'/' | b'A'..=b'Z' | b'a'..=b'z')) => {
                    return Verdict::Is(markup);
                }
                _ => {}
            }
            match self.step(tag) {
                Step::CutOff => return Verdict::Open,
                Step::Broken => return Verdict::Plain,
                Step::Told(markup) => return Verdict::Is(markup),
                Step::Passed(n_bytes) => self.at += tag_at + n_bytes,
            }
        }
    }

    /// Passes what a `<` begins.
    fn step(&mut self, tag: &[u8]) -> Step {
        match tag.get(1) {
            Some(b'!' | b'?') if tag.len() < DECLARATION_BYTES => Step::CutOff,
            Some(b'!') => self.declaration(tag),
            Some(b'?') => self.instruction(tag),
            Some(b'/') => self.closing(tag),
            _ => self.opening(tag),
        }
    }

    /// Passes a comment, a type of document, or marked text.
    fn declaration(&mut self, tag: &[u8]) -> Step {
        if tag.starts_with(b"<!--") {
            return behind(tag, 4, b"-->");
        }
        if tag.starts_with(b"<![CDATA[") && self.n_open() > 0 {
            return behind(tag, DECLARATION_BYTES, b"]]>");
        }
        let (start, rest) = tag.split_at(DECLARATION_BYTES);
        if !start.eq_ignore_ascii_case(b"<!DOCTYPE") || self.n_elements > 0 {
            return Step::Broken;
        }
        let Some(end) = rest.iter().position(|byte| matches!(byte, b'>' | b'[')) else {
            return Step::CutOff;
        };
        let name = rest[..end].trim_ascii_start();
        if name.len() == end || !name.first().is_some_and(u8::is_ascii_alphabetic) {
            return Step::Broken;
        }
        let is_html = name.len() >= 4 && name[..4].eq_ignore_ascii_case(b"html");
        self.begins_as = Some(if is_html { Markup::Html } else { Markup::Xml });
        // Behind a bracket stand declarations, each of which begins as a tag does.
        Step::Passed(DECLARATION_BYTES + end + 1)
    }

    /// Passes an instruction for a program; what PHP begins is code.
    fn instruction(&mut self, tag: &[u8]) -> Step {
        let is_code = tag[2..].starts_with(b"php") || !tag[2].is_ascii_alphabetic();
        if is_code {
            return Step::Broken;
        }
        let step = behind(tag, 2, b"?>");
        let is_xml = tag.starts_with(b"<?xml") && tag[5].is_ascii_whitespace();
        if is_xml && self.n_elements == 0 && matches!(step, Step::Passed(_)) {
            self.begins_as = Some(Markup::Xml);
        }
        step
    }

    /// Closes the innermost element.
    fn closing(&mut self, tag: &[u8]) -> Step {
        let Some(end) = memchr(b'>', tag) else {
            return Step::CutOff;
        };
        let name = tag[2..end].trim_ascii_end().to_ascii_lowercase();
        if self.open.last().is_some_and(|open| *open != name) {
            self.drop_void();
        }
        let is_open = self.open.pop().is_some_and(|open| open == name);
        match is_open && (self.is_rich || self.n_open() > 0) {
            true => Step::Passed(end + 1),
            false => Step::Broken,
        }
    }

    /// Opens an element.
    fn opening(&mut self, tag: &[u8]) -> Step {
        let opening = match opening(tag) {
            Ok(opening) => opening,
            Err(step) => return step,
        };
        let is = |names: &[&str]| names.iter().any(|name| opening.name == name.as_bytes());
        let is_outermost = self.n_open() == 0;
        let (is_code, is_block) = (is(CODE), is(BLOCKS));
        let is_link = opening.name == b"a" && opening.has_attributes;
        let is_of = match is_block || is_link || is(PAGES) || is(VOID) {
            true => Markup::Html,
            false => Markup::Xml,
        };
        if self.n_elements == 0 && opening.has_namespace {
            return Step::Told(is_of);
        }
        if self.n_elements == 0 && is(PAGES) {
            self.begins_as = Some(is_of);
        }
        if self.n_elements == 0 && is_code {
            return Step::Broken;
        }
        match is_outermost {
            true => self.is_rich = is_block || is_code || opening.has_attributes,
            false => self.is_rich = true,
        }
        self.is_of.get_or_insert(is_of);
        let mut n_bytes = opening.n_bytes;
        if is_code && !opening.is_closed {
            // What looks like a tag in code is none.
            match end_of_code(&tag[n_bytes..], &opening.name) {
                Some(n_behind) => n_bytes += n_behind,
                None => return Step::CutOff,
            }
        }
        self.n_elements += usize::from(!is(VOID));
        // What has no end has no elements in it.
        self.drop_void();
        if !opening.is_closed {
            self.open.push(opening.name);
        }
        Step::Passed(n_bytes)
    }

    /// Returns how many elements are open, but for those that may have no end.
    fn n_open(&self) -> usize {
        self.open.len() - usize::from(self.ends_in_void())
    }

    /// Returns whether the innermost element that is open may have no end.
    fn ends_in_void(&self) -> bool {
        let innermost = self.open.last();
        innermost.is_some_and(|name| VOID.iter().any(|void| void.as_bytes() == name))
    }

    /// Takes the innermost element for closed where it may have no end.
    fn drop_void(&mut self) {
        if self.ends_in_void() {
            self.open.pop();
        }
    }

    /// Returns what the sample says where nothing behind it matters; `is_whole` says that nothing is there.
    fn at_end(&self, is_whole: bool) -> Verdict {
        let n_open = self.n_open();
        let is_complete = n_open == 0 || (!is_whole && self.is_rich);
        // Names in angle brackets, which nothing closes, are no elements.
        let n_closed = self.n_elements.saturating_sub(n_open);
        let is_closed = n_closed >= LEAST_ELEMENTS && n_closed > n_open;
        match self.is_of {
            Some(markup) if is_complete && is_closed => Verdict::Is(markup),
            _ => Verdict::Plain,
        }
    }
}

/// Reads a tag that opens an element.
fn opening(tag: &[u8]) -> Result<Opening, Step> {
    let is_end = |byte: &u8| byte.is_ascii_whitespace() || matches!(byte, b'/' | b'>');
    let of_name = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_.:".contains(byte);
    let n_name = tag[1..].iter().take_while(|byte| of_name(byte)).count();
    let mut at = 1 + n_name;
    let begins = tag[1].is_ascii_alphabetic() || tag[1] == b'_';
    match tag.get(at) {
        _ if !begins => return Err(Step::Broken),
        Some(byte) if !is_end(byte) => return Err(Step::Broken),
        _ => {}
    }
    let mut opening = Opening {
        n_bytes: 0,
        name: tag[1..at].to_ascii_lowercase(),
        has_attributes: false,
        has_namespace: false,
        is_closed: false,
    };
    loop {
        at += blanks(&tag[at..]);
        match tag.get(at).ok_or(Step::CutOff)? {
            b'>' => break,
            b'/' => match tag.get(at + 1).ok_or(Step::CutOff)? {
                b'>' => {
                    opening.is_closed = true;
                    at += 1;
                    break;
                }
                _ => return Err(Step::Broken),
            },
            b'<' | b'"' | b'\'' | b'=' => return Err(Step::Broken),
            _ => {}
        }
        let of_name = |byte: &u8| !is_end(byte) && !b"<\"'=".contains(byte);
        let name = &tag[at..];
        let name = &name[..name.iter().take_while(|byte| of_name(byte)).count()];
        at += name.len();
        let n_blanks = blanks(&tag[at..]);
        if tag.get(at + n_blanks) == Some(&b'=') {
            opening.has_attributes = true;
            opening.has_namespace |= name == b"xmlns" || name.starts_with(b"xmlns:");
            at += n_blanks + 1;
            at += blanks(&tag[at..]);
            at += match tag.get(at).ok_or(Step::CutOff)? {
                quote @ (b'"' | b'\'') => 2 + memchr(*quote, &tag[at + 1..]).ok_or(Step::CutOff)?,
                _ => {
                    let of_value = |byte: &&u8| !byte.is_ascii_whitespace() && **byte != b'>';
                    tag[at..].iter().take_while(of_value).count()
                }
            };
        }
    }
    opening.n_bytes = at + 1;
    Ok(opening)
}

/// Returns how many blanks bytes begin with.
fn blanks(bytes: &[u8]) -> usize {
    bytes.len() - bytes.trim_ascii_start().len()
}

/// Passes what ends with some bytes.
fn behind(tag: &[u8], start: usize, end: &[u8]) -> Step {
    match memmem::find(&tag[start..], end) {
        Some(at) => Step::Passed(start + at + end.len()),
        None => Step::CutOff,
    }
}

/// Returns where the tag begins that closes an element of code.
fn end_of_code(code: &[u8], name: &[u8]) -> Option<usize> {
    memmem::find_iter(code, b"</").find(|at| {
        let closing = code[at + 2..].get(..name.len());
        closing.is_some_and(|closing| closing.eq_ignore_ascii_case(name))
    })
}

/// Returns whether a line of Markdown is among words: much of it stands in elements, too.
fn is_markdown(words: &[u8]) -> bool {
    let mut lines = words.split(|byte| *byte == b'\n').skip(1);
    lines.any(|line| {
        let n_marks = line.iter().take_while(|byte| **byte == b'#').count();
        let is_heading = (1..=6).contains(&n_marks) && line.get(n_marks) == Some(&b' ');
        is_heading || line.starts_with(b"```")
    })
}

/// Tells subtitles by their first lines; `is_end` says that no more bytes come.
fn subtitles(text: &[u8], is_end: bool) -> Verdict {
    let told = |is_subtitles| match is_subtitles {
        true => Verdict::Is(Markup::Subtitles),
        false => Verdict::Plain,
    };
    let may_be = text[0].is_ascii_digit() || matches!(text[0], b'W' | b'[');
    if !may_be {
        return Verdict::Plain;
    }
    let mut lines = Lines { text, is_end };
    let Some(first) = lines.next() else {
        return Verdict::Open;
    };
    if first.iter().all(u8::is_ascii_digit) {
        return match lines.next() {
            Some(second) => told(is_timing(second)),
            None => Verdict::Open,
        };
    }
    match first.strip_prefix(b"WEBVTT") {
        None => return told(first == b"[Script Info]" || is_timing(first)),
        Some([]) => return told(true),
        Some([b' ' | b'\t', ..]) => {}
        Some(_) => return Verdict::Plain,
    }
    // Words may follow in the line, as they do in prose.
    for _ in 0..HEADER_LINES {
        match lines.next() {
            Some(line) if is_timing(line) => return told(true),
            Some(_) => {}
            None => return Verdict::Open,
        }
    }
    Verdict::Plain
}

/// The lines of a text, of which only short ones matter.
struct Lines<'a> {
    text: &'a [u8],
    is_end: bool,
}

impl<'a> Lines<'a> {
    /// Returns the next line, empty behind the last one; `None` where more bytes may belong to it.
    fn next(&mut self) -> Option<&'a [u8]> {
        let end = match memchr(b'\n', self.text) {
            Some(end) => end,
            None if self.is_end || self.text.len() > TIMING_BYTES => self.text.len(),
            None => return None,
        };
        let (line, rest) = self.text.split_at(end);
        self.text = rest.strip_prefix(b"\n").unwrap_or(rest);
        Some(line[..line.len().min(TIMING_BYTES)].trim_ascii())
    }
}

/// Returns whether a line is two times with an arrow between them, and settings perhaps.
fn is_timing(line: &[u8]) -> bool {
    let Some(arrow) = memmem::find(line, b"-->") else {
        return false;
    };
    let (from, to) = (line[..arrow].trim_ascii(), line[arrow + 3..].trim_ascii());
    let to = to.split(u8::is_ascii_whitespace).next().unwrap_or_default();
    is_time(from) && is_time(to)
}

/// Returns whether bytes are hours, minutes and seconds, of which hours and parts of seconds may be missing.
fn is_time(bytes: &[u8]) -> bool {
    let is_number =
        |part: &[u8]| (1..=9).contains(&part.len()) && part.iter().all(u8::is_ascii_digit);
    let n_colons = memchr_iter(b':', bytes).count();
    (1..=2).contains(&n_colons) && bytes.split(|byte| b":,.".contains(byte)).all(is_number)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Follows a text in pieces of a size, and tells what it is.
    fn followed(text: &[u8], piece: usize) -> Verdict {
        let mut sample = MarkupSample::default();
        for end in (0..text.len()).step_by(piece) {
            let verdict = sample.follow(&text[..end], false);
            if verdict != Verdict::Open {
                return verdict;
            }
        }
        sample.follow(text, true)
    }

    /// Returns what a text is, which no cut of the bytes changes.
    fn markup(text: &str) -> Option<&'static str> {
        let all = [1, 7, 4096].map(|piece| followed(text.as_bytes(), piece));
        assert!(all.iter().all(|it| *it == all[0]), "{text:.80}: {all:?}");
        match all[0] {
            Verdict::Open => panic!("{text:.80}"),
            Verdict::Plain => None,
            Verdict::Is(markup) => Some(markup.what()),
        }
    }

    fn lines(n: usize, line: impl Fn(usize) -> String) -> String {
        (0..n).map(line).collect()
    }

    #[test]
    fn tags_tell_pages_and_parts_of_them() {
        for page in [
            "<!DOCTYPE html>\n<p>It was.",
            "\n <!doctype HTML PUBLIC '-//W3C'>\n<TITLE>It was</TITLE>",
            "<!-- by hand -->\n<html lang=en>\n<body>It was <br> so <p> it is",
            "<a href=a>It<br>was</a><h2>so<wbr></h2><rustdoc-bar><i>so</i></rustdoc-bar><hr><p>a</p>",
            "<HTML><p>unclosed<p>unclosed",
            "<head><title>It was</title></head>",
            "<SAMI>\n<BODY><SYNC Start=25><P>It was",
            "<body>It <b>was</b> <i>so</i>, and <a href=x>it</a> is. <u>Yes</u>.</body>",
            "<div class='a b'>\n<h1>It was</h1><img src=a><p>so</p><br/><hr>\n<p>yes</p></div>\n",
            "<h1>a</h1><script>if (a < b) { \"</p>\" }</script><p>b</p> <p>c</p>",
            &lines(4, |n| format!("<p>It was {n}.</p>\n")),
            &(lines(9_999, |n| format!("<p>It was {n}.</p>\n")) + "And so on."),
        ] {
            assert_eq!(markup(page), Some("HTML"), "{page:.80}");
        }
        for text in [
            "<?xml version=\"1.0\"?>\n<poem>It was</poem>",
            "<?xml version='1.0' encoding='UTF-8'?><!-- a --><html/>",
            "<svg xmlns=\"http://www.w3.org/2000/svg\"/>",
            "<TEI\n xml:lang='en' xmlns:a = 'b'>It was",
            "<!DOCTYPE lewis SYSTEM \"lewis.dtd\">\n<REUTERS>",
            "<!DOCTYPE a [\n<!ENTITY b \"c > d\">]>\n<a/>",
            "<rss version=\"2.0\"><channel><item><title>a > b</title><link>b</link></item></channel></rss>",
            "<DOC>\n<NO> 1 </NO>\n<TEXT>\nIt was.\n</TEXT>\n</DOC>\n<DOC><NO>2</NO></DOC>\n",
            &lines(9, |n| {
                format!("<doc id=\"{n}\" title='<a>'>\nIt was.\n</doc>\n")
            }),
            "<r><b/><c/><d/><e><![CDATA[ <x> ]]></e></r>",
        ] {
            assert_eq!(markup(text), Some("XML"), "{text:.80}");
        }
    }

    #[test]
    fn time_codes_tell_subtitles() {
        for text in [
            "1\n00:00:01,000 --> 00:00:04,000\nIt was.\n\n2\n",
            "\r\n1\r\n00:00:01,000 --> 00:00:04,000 X1:1 X2:2\r\nIt was.\r\n",
            "WEBVTT\n\n00:01.000 --> 00:04.000\nIt was.\n",
            "WEBVTT",
            "WEBVTT - It was\n\nNOTE by hand\n\n1\n00:01.000 --> 01:00:04.000 line:0\nIt was.\n",
            "00:01.000 --> 00:04.000\nIt was.\n",
            "[Script Info]\n; by hand\nTitle: It was\n\n[Events]\n",
        ] {
            assert_eq!(markup(text), Some("subtitles"), "{text:.80}");
        }
    }

    #[test]
    fn text_with_tags_in_it_is_none() {
        let long = lines(9_999, |n| format!("<alice> It was, {n}.\n<bob> Yes.\n"));
        let sentences = lines(50, |n| format!("<s> it was {n} </s>\n"));
        let turns = lines(50, |n| {
            format!("<user>Was it {n}?</user>\n<bot>It was.</bot>\n")
        });
        for text in [
            "",
            "\n \n",
            "It was <b>the</b> best <br /><br /> of <i>times</i>, <u>it</u> <p>was</p>.",
            "<html> and <body> are tags, and <p> and </p> too.",
            "<!DOCTYPE html> is the first line of a page.\n<p>",
            "<?xml version=\"1.0\"?> is the first line of XML.",
            "<p>a</p><p>b</p><p>c</p><p>d</p>\n\nSo pages are written.\n",
            "<p align=\"center\">\n<img src=a>\n<a href=b><img src=c></a>\n</p>\n\n# Name\n\nIt was.\n",
            "<div align=center>\n<h1>Name</h1>\n<p>a</p>\n<p>b</p>\n\n## Use\n\n```sh\nname\n```\n</div>\n",
            "<!-- by hand -->\n# Name\n<p>a</p><p>b</p><p>c</p><p>d</p>\n",
            "<br>It <p>was</p> <p>a</p><p>b</p><p>c</p><p>d</p>",
            "<b>Note:</b> it was.\n",
            "<name> <place> <time> <way>",
            "<me@example.com> wrote: <p>a</p><p>b</p><p>c</p><p>d</p>",
            "<https://example.com>\n<p>a</p><p>b</p><p>c</p><p>d</p>",
            "<3 <p>a</p><p>b</p><p>c</p><p>d</p>",
            "<|system|>\n<p>a</p><p>b</p><p>c</p><p>d</p>",
            "<?php\nfoo();\n?>\n<p>a</p><p>b</p><p>c</p><p>d</p>\n",
            "<% if a %>\n<p>a</p><p>b</p><p>c</p><p>d</p>\n",
            "<template>\n<p>a</p><p>b</p><p>c</p><p>d</p>\n</template>\n",
            "<script>\na < b\n</script>\n<p>a</p><p>b</p><p>c</p><p>d</p>\n",
            "<a><b></a></b><p>a</p><p>b</p><p>c</p><p>d</p>",
            &long,
            &sentences,
            &turns,
            "1984\n\nIt was a bright cold day --> in April.\n",
            "1\nIt was.\n",
            "12",
            "It was\n00:01 --> 00:02\n",
            "WEBVTT is a format.\n\nIts times are 00:01 --> 00:02.\n",
            "WEBVTTs",
            "[Script] Info",
            "a --> b\n",
            "1 --> 2\n",
            "00:01 -> 00:02\n",
        ] {
            assert_eq!(markup(text), None, "{text:.80}");
        }
    }
}
