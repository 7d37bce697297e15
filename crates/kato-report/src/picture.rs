//! A drawing: a file of its own, or a part of a page.

use std::fmt::Write;

use crate::color::Color;
use crate::escape::escaped;
use crate::scale::{Axis, Scale};

/// Width of every drawing and its margins, in units that a browser scales to the page.
pub(crate) const WIDTH: f64 = 420.0;
pub(crate) const LEFT: f64 = 62.0;
pub(crate) const RIGHT: f64 = 16.0;
pub(crate) const TOP: f64 = 10.0;
/// Where the area of a drawing with two axes ends; numbers and label of the axis are below.
pub(crate) const BOTTOM: f64 = 218.0;
/// Width of a letter, about: nothing measures fonts, so that every machine draws the same.
pub(crate) const LETTER: f64 = 6.8;
/// Rows above and below the drawing in a file of its own.
const TITLE: f64 = 32.0;
const ROW: f64 = 18.0;

/// The colours of light and of dark pages.
pub(crate) const COLORS: &str = include_str!("colors.css");
/// How the parts of a drawing look.
pub(crate) const MARKS: &str = include_str!("marks.css");

/// What was drawn, with its title and its words for whoever does not see it.
#[derive(Debug, Clone)]
pub struct Picture {
    title: String,
    /// Where its area ends, and all of it.
    bottom: f64,
    height: f64,
    /// The elements of the drawing.
    svg: String,
    words: String,
    legend: Vec<(Color, String)>,
}

impl Picture {
    /// Begins a drawing whose area ends at `bottom`, with the label of the axis below it.
    pub(crate) fn new(title: &str, bottom: f64, x_label: &str) -> Self {
        let below = if x_label.is_empty() { 24.0 } else { 42.0 };
        let mut picture = Self {
            title: title.to_owned(),
            bottom,
            height: bottom + below,
            svg: String::new(),
            words: String::new(),
            legend: Vec::new(),
        };
        let middle = (LEFT + WIDTH - RIGHT) / 2.0;
        if !x_label.is_empty() {
            picture.text((middle, bottom + 34.0), "tick mid", x_label);
        }
        picture
    }

    /// Returns a file of SVG, with title and legend, that needs nothing beside it.
    #[must_use]
    pub fn to_svg(&self) -> String {
        let height = TITLE + self.height + ROW * self.legend.len() as f64;
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"chart\" viewBox=\"0 0 {WIDTH} {height}\" \
             width=\"{:.0}\" height=\"{:.0}\" {}<style>{COLORS}{MARKS}</style>\
             <rect class=\"paper\" width=\"{WIDTH}\" height=\"{height}\"/>",
            1.5 * WIDTH,
            1.5 * height,
            self.described(),
        );
        // A long title is drawn as narrow as it must be.
        let room = WIDTH - 2.0 * RIGHT;
        let fits = match 1.2 * width(&self.title) > room {
            true => format!(" textLength=\"{room}\" lengthAdjust=\"spacingAndGlyphs\""),
            false => String::new(),
        };
        let _ = write!(
            svg,
            "<text class=\"title\" x=\"{RIGHT}\" y=\"21\"{fits}>{}</text><g transform=\"translate(0 {TITLE})\">{}",
            escaped(&self.title),
            self.svg
        );
        for (row, (color, name)) in self.legend.iter().enumerate() {
            let top = self.height + ROW * row as f64;
            let _ = write!(
                svg,
                "<rect class=\"area {}\" x=\"{LEFT}\" y=\"{top:.1}\" width=\"10\" height=\"10\"/>\
                 <text class=\"tick\" x=\"{:.1}\" y=\"{:.1}\">{}</text>",
                color.class(),
                LEFT + 16.0,
                top + 9.0,
                escaped(name)
            );
        }
        svg + "</g></svg>\n"
    }

    /// Returns the drawing as part of a page.
    pub(crate) fn to_figure(&self) -> String {
        format!(
            "<figure><figcaption>{}</figcaption><svg class=\"chart\" viewBox=\"0 0 {WIDTH} {:.0}\" {}{}</svg>{}</figure>",
            escaped(&self.title),
            self.height,
            self.described(),
            self.svg,
            legend(&self.legend)
        )
    }

    /// Returns the end of the opening tag, with title and words.
    fn described(&self) -> String {
        let title = escaped(&self.title);
        format!(
            "role=\"img\" aria-label=\"{title}\"><title>{title}</title><desc>{}</desc>",
            escaped(self.words.trim_end())
        )
    }

    /// Adds a sentence to the words.
    pub(crate) fn say(&mut self, sentence: &str) {
        let _ = write!(self.words, "{sentence}. ");
    }

    /// Adds an entry to the legend.
    pub(crate) fn name(&mut self, color: Color, name: &str) {
        self.legend.push((color, name.to_owned()));
    }

    /// Adds an element.
    pub(crate) fn draw(&mut self, element: std::fmt::Arguments<'_>) {
        // Writing to a string does not fail.
        let _ = self.svg.write_fmt(element);
    }

    /// Adds a text.
    pub(crate) fn text(&mut self, (x, y): (f64, f64), class: &str, text: &str) {
        let text = escaped(text);
        self.draw(format_args!(
            "<text class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\">{text}</text>"
        ));
    }

    /// Draws lines and numbers of the horizontal axis.
    pub(crate) fn x_axis(&mut self, axis: &Axis, scale: &Scale) {
        let bottom = self.bottom;
        let mut free_from = 0.0;
        for tick in scale.ticks() {
            let x = scale.place(tick);
            self.draw(format_args!(
                "<path class=\"grid\" d=\"M{x:.1} {TOP}V{bottom:.1}\"/>"
            ));
            let number = (axis.format)(tick);
            let width = width(&number);
            // A number at an end of the axis must not leave the drawing.
            let (class, left) = match x {
                _ if x + width / 2.0 > WIDTH => ("tick end", x - width),
                _ if x < width / 2.0 => ("tick", x),
                _ => ("tick mid", x - width / 2.0),
            };
            // Nor may it run into the one before it.
            if left >= free_from {
                self.text((x, bottom + 15.0), class, &number);
                free_from = left + width + 0.5 * LETTER;
            }
        }
    }

    /// Draws lines, numbers and label of the vertical axis.
    pub(crate) fn y_axis(&mut self, axis: &Axis, scale: &Scale) {
        for tick in scale.ticks() {
            let y = scale.place(tick);
            let right = WIDTH - RIGHT;
            self.draw(format_args!(
                "<path class=\"grid\" d=\"M{LEFT} {y:.1}H{right:.1}\"/>"
            ));
            self.text((LEFT - 5.0, y + 4.0), "tick end", &(axis.format)(tick));
        }
        self.y_label(&axis.label);
    }

    pub(crate) fn y_label(&mut self, label: &str) {
        let middle = (TOP + self.bottom) / 2.0;
        let label = escaped(label);
        self.draw(format_args!(
            "<text class=\"tick mid\" transform=\"translate(11 {middle:.1}) rotate(-90)\">{label}</text>"
        ));
    }

    /// Draws as much of a name as there is room for, in the middle below the axis.
    pub(crate) fn column_name(&mut self, middle: f64, room: f64, name: &str) {
        let shown = shortened(name, room);
        self.text((middle, self.bottom + 15.0), "tick mid", &shown);
    }
}

/// Returns how wide a text is, about.
pub(crate) fn width(text: &str) -> f64 {
    text.chars().count() as f64 * LETTER
}

/// Returns as much of a text as there is room for.
pub(crate) fn shortened(text: &str, room: f64) -> String {
    let letters = (room / LETTER).floor().max(2.0) as usize;
    match text.chars().count() > letters {
        true => text.chars().take(letters - 1).chain(['…']).collect(),
        false => text.to_owned(),
    }
}

/// Returns a legend as part of a page; none without an entry.
pub(crate) fn legend(entries: &[(Color, String)]) -> String {
    if entries.is_empty() {
        return String::new();
    }
    let mut html = "<ul class=\"legend\">".to_owned();
    for (color, name) in entries {
        let (class, name) = (color.class(), escaped(name));
        let _ = write!(html, "<li><i class=\"{class}\"></i>{name}</li>");
    }
    html + "</ul>"
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers below a horizontal axis: where each begins and ends.
    fn numbers(svg: &str) -> Vec<(f64, f64)> {
        let texts = svg.split("<text class=\"tick").skip(1);
        texts
            .map(|text| {
                let (head, rest) = text.split_once('>').unwrap();
                let (_, x) = head.split_once("x=\"").unwrap();
                let x: f64 = x.split('"').next().unwrap().parse().unwrap();
                let width = width(rest.split('<').next().unwrap());
                match head.split('"').next().unwrap() {
                    " mid" => (x - width / 2.0, x + width / 2.0),
                    " end" => (x - width, x),
                    _ => (x, x + width),
                }
            })
            .collect()
    }

    #[test]
    fn numbers_of_an_axis_stay_in_the_drawing_and_apart_from_each_other() {
        let long = |value: f64| format!("{value:.0} of something");
        for (ends, format) in [
            ((0.0, WIDTH), long as fn(f64) -> String),
            ((LEFT, WIDTH - RIGHT), long),
            ((LEFT, WIDTH), crate::figures::count),
        ] {
            let axis = Axis::logarithmic("").with_format(format);
            let scale = axis.scale([1.0, 1e6].into_iter(), ends);
            let mut picture = Picture::new("t", BOTTOM, "");
            picture.x_axis(&axis, &scale);
            let numbers = numbers(&picture.svg);
            assert!(numbers.len() >= 2, "{numbers:?}");
            for (left, right) in &numbers {
                assert!(*left >= -0.1 && *right <= WIDTH + 0.1, "{numbers:?}");
            }
            assert!(
                numbers.windows(2).all(|pair| pair[0].1 < pair[1].0),
                "{numbers:?}"
            );
        }
    }

    #[test]
    fn a_name_is_cut_where_there_is_no_room() {
        assert_eq!(shortened("name", 4.0 * LETTER), "name");
        assert_eq!(shortened("abcde", 4.0 * LETTER), "abc…");
        assert_eq!(shortened("ñámes", 0.0), "ñ…");
    }

    #[test]
    fn a_file_has_title_words_and_legend() {
        let mut picture = Picture::new("Time & place", BOTTOM, "x");
        picture.name(Color::Good, "a <b>");
        picture.say("All is well");
        let svg = picture.to_svg();
        assert!(svg.contains("<title>Time &amp; place</title><desc>All is well.</desc>"));
        assert!(svg.contains("a &lt;b&gt;</text>") && svg.contains("prefers-color-scheme: dark"));
        assert!(
            picture
                .to_figure()
                .contains("<figcaption>Time &amp; place</figcaption>")
        );
    }
}
