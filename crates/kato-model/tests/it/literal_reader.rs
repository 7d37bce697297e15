//! A small reader of Python's list-of-lists literal, written from the language's rules and not from
//! the writer.

/// The events that a literal stands for; panics on anything else.
pub(crate) fn read_events(text: &str) -> Vec<Vec<String>> {
    let mut reader = Reader { rest: text };
    let events = reader.list(|reader| reader.list(Reader::string));
    assert_eq!(reader.rest, "", "text behind the list");
    events
}

struct Reader<'a> {
    rest: &'a str,
}

impl Reader<'_> {
    fn list<T>(&mut self, mut item: impl FnMut(&mut Self) -> T) -> Vec<T> {
        let mut items = Vec::new();
        assert!(self.take("["), "expected a list: {}", self.rest);
        while !self.take("]") {
            if !items.is_empty() {
                assert!(self.take(", "), "expected a separator: {}", self.rest);
            }
            items.push(item(self));
        }
        items
    }

    fn string(&mut self) -> String {
        let mut text = String::new();
        let quote = self.character();
        assert!(
            matches!(quote, '\'' | '"'),
            "expected a quote, found {quote}"
        );
        loop {
            match self.character() {
                '\\' => text.push(self.escape()),
                character if character == quote => return text,
                character => text.push(character),
            }
        }
    }

    fn escape(&mut self) -> char {
        let n_digits = match self.character() {
            't' => return '\t',
            'n' => return '\n',
            'r' => return '\r',
            'x' => 2,
            'u' => 4,
            'U' => 8,
            other => return other,
        };
        let (digits, rest) = self.rest.split_at(n_digits);
        self.rest = rest;
        let code_point = u32::from_str_radix(digits, 16).expect("hexadecimal digits");
        char::from_u32(code_point).expect("a character")
    }

    fn character(&mut self) -> char {
        let character = self.rest.chars().next().expect("the text goes on");
        self.rest = &self.rest[character.len_utf8()..];
        character
    }

    fn take(&mut self, expected: &str) -> bool {
        self.rest
            .strip_prefix(expected)
            .map(|rest| self.rest = rest)
            .is_some()
    }
}
