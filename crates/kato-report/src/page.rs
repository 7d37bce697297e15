//! Pages of HTML that need nothing beside them: no script, no font, no picture from elsewhere.

use std::fmt::Write;

use crate::color::Color;
use crate::escape::escaped;
use crate::picture::{COLORS, MARKS, Picture, legend};

const LAYOUT: &str = include_str!("page.css");

/// A page, written from the top to the bottom.
///
/// ```
/// use kato_report::{Page, PageTable};
///
/// let mut page = Page::new("Jobs <today>");
/// page.heading("Queues");
/// let mut table = PageTable::new(["queue", "jobs"]);
/// table.row("mail", ["7".to_owned()]);
/// page.table(&table);
/// let html = page.into_html();
/// assert!(html.contains("<h1>Jobs &lt;today&gt;</h1>") && html.contains(">7</td>"));
/// ```
#[derive(Debug, Clone)]
pub struct Page {
    html: String,
}

/// What a reader has to know first.
#[derive(Debug, Clone, Default)]
pub struct Callout {
    /// The answer in a sentence.
    pub title: String,
    /// What to do; may be empty.
    pub text: String,
    /// Why; may be empty.
    pub points: Vec<String>,
    /// Figures about it: name and value.
    pub facts: Vec<(String, String)>,
}

/// A table, whose rows have a name each. On narrow screens a row becomes a block of lines; roles say
/// that it is a table all the same.
#[derive(Debug, Clone)]
pub struct PageTable {
    columns: Vec<String>,
    rows: String,
}

/// A cell of a table.
#[derive(Debug, Clone)]
pub enum Cell {
    /// A text.
    Text(String),
    /// Parts of a whole: colour, share of 1, and words.
    Bar(Vec<(Color, f64, String)>),
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl PageTable {
    /// Creates an empty table; the first column is that of the names.
    #[must_use]
    pub fn new<S: Into<String>>(columns: impl IntoIterator<Item = S>) -> Self {
        Self {
            columns: columns.into_iter().map(Into::into).collect(),
            rows: String::new(),
        }
    }

    /// Adds a row.
    pub fn row<C: Into<Cell>>(&mut self, name: &str, cells: impl IntoIterator<Item = C>) {
        self.add(name, cells, "");
    }

    /// Adds a row that stands out.
    pub fn marked_row<C: Into<Cell>>(&mut self, name: &str, cells: impl IntoIterator<Item = C>) {
        self.add(name, cells, " class=\"marked\"");
    }

    fn add<C: Into<Cell>>(&mut self, name: &str, cells: impl IntoIterator<Item = C>, class: &str) {
        let _ = write!(
            self.rows,
            "<tr role=\"row\"{class}><th scope=\"row\" role=\"rowheader\">{}</th>",
            escaped(name)
        );
        // The name of the column comes along for the narrow form, in which there is no head.
        let columns = self.columns.iter().skip(1).map(String::as_str);
        for (cell, column) in cells.into_iter().zip(columns.chain(std::iter::repeat(""))) {
            let _ = write!(
                self.rows,
                "<td role=\"cell\" data-label=\"{}\">{}</td>",
                escaped(column),
                cell.into().html()
            );
        }
        self.rows.push_str("</tr>");
    }
}

impl Cell {
    fn html(&self) -> String {
        let parts = match self {
            Self::Text(text) => return escaped(text),
            Self::Bar(parts) => parts,
        };
        // Narrower parts would not be visible.
        let parts = || parts.iter().filter(|(_, share, _)| *share > 0.002);
        let words: Vec<&str> = parts().map(|(_, _, words)| words.as_str()).collect();
        let mut bar = format!(
            "<div class=\"bar\" role=\"img\" aria-label=\"{}\">",
            escaped(&words.join(", "))
        );
        for (color, share, words) in parts() {
            let (class, words) = (color.class(), escaped(words));
            let _ = write!(
                bar,
                "<i class=\"{class}\" style=\"width:{:.1}%\" title=\"{words}\"></i>",
                100.0 * share.min(1.0)
            );
        }
        bar + "</div>"
    }
}

impl Page {
    /// Begins a page.
    #[must_use]
    pub fn new(title: &str) -> Self {
        let title = escaped(title);
        // An empty icon, or a browser would ask a server for one.
        let html = format!(
            "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
             <link rel=\"icon\" href=\"data:,\"><title>{title}</title>\
             <style>{COLORS}{MARKS}{LAYOUT}</style></head><body><main>\n<h1>{title}</h1>"
        );
        Self { html }
    }

    /// Adds a line below the title.
    pub fn lead(&mut self, text: &str) {
        self.element("p class=\"lead\"", text);
    }

    /// Adds the heading of what follows.
    pub fn heading(&mut self, text: &str) {
        self.element("h2", text);
    }

    /// Adds a paragraph.
    pub fn paragraph(&mut self, text: &str) {
        self.element("p", text);
    }

    /// Adds a paragraph in small letters.
    pub fn note(&mut self, text: &str) {
        self.element("p class=\"note\"", text);
    }

    /// Adds words for a shell, which are copied as they are. Lines end between words, never at the
    /// hyphens of an option.
    pub fn command(&mut self, text: &str) {
        self.html.push_str("<pre class=\"card command\">");
        for (at, word) in text.split(' ').enumerate() {
            self.html.push_str(if at > 0 { " " } else { "" });
            self.element("span", word);
        }
        self.html.push_str("</pre>\n");
    }

    /// Adds a list.
    pub fn list<S: AsRef<str>>(&mut self, items: impl IntoIterator<Item = S>) {
        self.html.push_str("<ul>");
        for item in items {
            self.element("li", item.as_ref());
        }
        self.html.push_str("</ul>\n");
    }

    /// Adds what a reader has to know first.
    pub fn callout(&mut self, callout: &Callout) {
        self.html.push_str("<section class=\"card callout\">");
        self.element("h2", &callout.title);
        if !callout.text.is_empty() {
            self.element("p class=\"advice\"", &callout.text);
        }
        if !callout.points.is_empty() {
            self.list(&callout.points);
        }
        self.html.push_str("<div class=\"facts\">");
        for (name, value) in &callout.facts {
            let (name, value) = (escaped(name), escaped(value));
            let _ = write!(self.html, "<span>{name} <b>{value}</b></span>");
        }
        self.html.push_str("</div></section>\n");
    }

    /// Adds figures, each with what it is of.
    pub fn tiles(&mut self, tiles: impl IntoIterator<Item = (String, String)>) {
        self.html.push_str("<section class=\"tiles\">");
        for (value, what) in tiles {
            let (value, what) = (escaped(&value), escaped(&what));
            let _ = write!(self.html, "<div><b>{value}</b><span>{what}</span></div>");
        }
        self.html.push_str("</section>\n");
    }

    /// Adds pictures, beside each other where there is room.
    pub fn pictures(&mut self, pictures: impl IntoIterator<Item = Picture>) {
        self.html.push_str("<section class=\"charts\">");
        for picture in pictures {
            self.html.push_str(&picture.to_figure());
        }
        self.html.push_str("</section>\n");
    }

    /// Adds a table.
    pub fn table(&mut self, table: &PageTable) {
        self.html
            .push_str("<div class=\"card wide\"><table role=\"table\"><thead role=\"rowgroup\"><tr role=\"row\">");
        for column in &table.columns {
            self.element("th scope=\"col\" role=\"columnheader\"", column);
        }
        let _ = writeln!(
            self.html,
            "</tr></thead><tbody role=\"rowgroup\">{}</tbody></table></div>",
            table.rows
        );
    }

    /// Adds the meaning of colours.
    pub fn legend(&mut self, entries: impl IntoIterator<Item = (Color, String)>) {
        let entries: Vec<_> = entries.into_iter().collect();
        self.html.push_str(&legend(&entries));
    }

    /// Ends the page and returns it.
    #[must_use]
    pub fn into_html(self) -> String {
        self.html + "</main></body></html>\n"
    }

    /// Adds an element with its text; the tag may have attributes.
    fn element(&mut self, tag: &str, text: &str) {
        let name = tag.split(' ').next().unwrap_or(tag);
        let _ = write!(self.html, "<{tag}>{}</{name}>", escaped(text));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_is_handed_in_stays_text() {
        let evil = "</style><script>'\"&";
        let mut page = Page::new(evil);
        page.lead(evil);
        page.heading(evil);
        page.paragraph(evil);
        page.note(evil);
        page.command(evil);
        page.list([evil]);
        page.callout(&Callout {
            title: evil.to_owned(),
            text: evil.to_owned(),
            points: vec![evil.to_owned()],
            facts: vec![(evil.to_owned(), evil.to_owned())],
        });
        page.tiles([(evil.to_owned(), evil.to_owned())]);
        page.legend([(Color::Good, evil.to_owned())]);
        let mut table = PageTable::new([evil, evil, evil]);
        let bar = Cell::Bar(vec![(Color::Bad, 0.5, evil.to_owned())]);
        table.row(evil, [Cell::Text(evil.to_owned()), bar]);
        page.table(&table);
        let axis = || crate::Axis::linear(evil);
        let chart = crate::Chart::new(evil, axis(), axis());
        let points = crate::Shape::Points(vec![(1.0, 1.0)]);
        page.pictures([chart.with(Color::Good, evil, points).draw()]);
        let html = page.into_html();
        assert!(!html.contains("<script"), "{html}");
        assert_eq!(html.matches("</style>").count(), 1);
    }

    #[test]
    fn a_row_says_its_columns_where_there_is_no_room_for_the_head() {
        let mut table = PageTable::new(["name", "a", "b"]);
        table.marked_row("x", ["1".to_owned(), "2".to_owned()]);
        let mut page = Page::new("t");
        page.table(&table);
        let html = page.into_html();
        assert!(html.contains(
            "<tr role=\"row\" class=\"marked\"><th scope=\"row\" role=\"rowheader\">x</th>\
                 <td role=\"cell\" data-label=\"a\">1</td><td role=\"cell\" data-label=\"b\">2</td></tr>"
        ), "{html}");
    }

    #[test]
    fn a_command_is_whole_without_its_tags() {
        let mut page = Page::new("t");
        page.command("kato train 'a  b' --levels 5,3");
        let html = page.into_html();
        let (_, command) = html.split_once("command\">").unwrap();
        let (command, _) = command.split_once("</pre>").unwrap();
        let words = command.replace("<span>", "").replace("</span>", "");
        assert_eq!(words, "kato train &#39;a  b&#39; --levels 5,3");
    }

    #[test]
    fn a_bar_says_its_parts_and_leaves_out_what_cannot_be_seen() {
        let parts = [(0.7, "busy: 70 %"), (0.3, "idle: 30 %"), (0.001, "gone")];
        let parts = parts.map(|(share, words)| (Color::Good, share, words.to_owned()));
        let html = Cell::Bar(parts.to_vec()).html();
        assert!(
            html.contains("aria-label=\"busy: 70 %, idle: 30 %\""),
            "{html}"
        );
        assert_eq!(html.matches("<i ").count(), 2);
    }
}
