//! Patterns of paths, as the Hub's own library reads them: `*`, `?` and `[…]` within a name, `**` for
//! any number of folders, and nothing else. Braces and backslashes stand for themselves.

/// Pattern that was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Pattern {
    parts: Vec<Part>,
    /// Parts that begin with a dot, and folders that begin with two underscores: paths with others
    /// of these are not meant.
    hidden: usize,
    special: usize,
    /// The last part as it was written.
    name: String,
}

/// Part of a pattern between two slashes.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    /// `**`: any folders, or at the end anything.
    Any,
    /// A name.
    Name(Vec<Token>),
}

/// Token of a name.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Token {
    Char(char),
    /// `*`, and whether it must stand for something: alone in its part it does.
    Many(bool),
    /// `?`.
    One,
    /// `[…]`: ranges, and whether it is negated.
    Class(Vec<(char, char)>, bool),
}

impl Pattern {
    /// Reads a pattern; `None` if `**` is only a part of a name, which means nothing.
    pub(super) fn read(text: &str) -> Option<Self> {
        let text = text.strip_prefix("./").unwrap_or(text);
        let texts: Vec<&str> = text.split('/').collect();
        let parts = texts.iter().map(|part| match *part {
            "**" => Some(Part::Any),
            part if part.contains("**") => None,
            "*" => Some(Part::Name(vec![Token::Many(true)])),
            part => Some(Part::Name(tokens(part))),
        });
        Some(Self {
            parts: parts.collect::<Option<_>>()?,
            hidden: hidden(text),
            special: special(text),
            name: texts.last().map(|name| (*name).to_owned())?,
        })
    }

    /// Returns whether a text has characters that stand for others.
    pub(super) fn is_magic(text: &str) -> bool {
        text.contains(['*', '?', '['])
    }

    /// Returns the last part of the pattern, as it was written.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Returns whether a path is meant: it matches, and what is hidden in it is named.
    pub(super) fn is_match(&self, path: &str) -> bool {
        self.hidden == hidden(path) && self.special == special(path) && {
            let names: Vec<Vec<char>> =
                path.split('/').map(|part| part.chars().collect()).collect();
            parts_match(&self.parts, &names)
        }
    }
}

/// Returns how many parts of a path are hidden.
fn hidden(path: &str) -> usize {
    let parts = path.split('/');
    parts
        .filter(|part| part.starts_with('.') && !part.bytes().all(|byte| byte == b'.'))
        .count()
}

/// Returns how many folders of a path are special, such as `__pycache__`.
fn special(path: &str) -> usize {
    let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
    let parts = folder.split('/');
    parts.filter(|part| part.starts_with("__")).count()
}

/// Reads the tokens of a name.
fn tokens(part: &str) -> Vec<Token> {
    let chars: Vec<char> = part.chars().collect();
    let (mut tokens, mut at) = (Vec::new(), 0);
    while let Some(c) = chars.get(at) {
        at += 1;
        match c {
            '*' => tokens.push(Token::Many(false)),
            '?' => tokens.push(Token::One),
            '[' => match class(&chars, at) {
                Some((token, behind)) => {
                    tokens.push(token);
                    at = behind;
                }
                None => tokens.push(Token::Char('[')),
            },
            c => tokens.push(Token::Char(*c)),
        }
    }
    tokens
}

/// Reads the class that begins behind its bracket, and returns what is behind it; `None` if it has
/// no end.
fn class(chars: &[char], start: usize) -> Option<(Token, usize)> {
    let is_negated = chars.get(start) == Some(&'!');
    let first = start + usize::from(is_negated);
    // A bracket that comes first belongs to the class.
    let search = first + usize::from(chars.get(first) == Some(&']'));
    let end = search + chars.get(search..)?.iter().position(|c| *c == ']')?;
    let (mut ranges, mut at) = (Vec::new(), first);
    while at < end {
        let from = chars[at];
        match (chars.get(at + 1), chars.get(at + 2)) {
            (Some('-'), Some(to)) if at + 2 < end => {
                // One that goes backwards is empty.
                if from <= *to {
                    ranges.push((from, *to));
                }
                at += 3;
            }
            _ => {
                ranges.push((from, from));
                at += 1;
            }
        }
    }
    Some((Token::Class(ranges, is_negated), end + 1))
}

/// Returns whether parts of a pattern match the names of a path. A table in place of a recursion:
/// neither a pattern nor a path makes it slow.
fn parts_match(parts: &[Part], names: &[Vec<char>]) -> bool {
    // `reached[i]`: the parts so far match the first `i` names.
    let mut reached = vec![false; names.len() + 1];
    reached[0] = true;
    for (number, part) in parts.iter().enumerate() {
        let is_last = number + 1 == parts.len();
        let mut next = vec![false; names.len() + 1];
        match part {
            Part::Any => {
                let mut any = false;
                for (at, next) in next.iter_mut().enumerate() {
                    // At the end it stands for at least one name, elsewhere also for none.
                    *next = any && at == names.len() || (!is_last && (any || reached[at]));
                    any |= reached[at];
                }
            }
            Part::Name(tokens) => {
                for (at, name) in names.iter().enumerate() {
                    next[at + 1] = reached[at] && name_matches(tokens, name);
                }
            }
        }
        reached = next;
    }
    reached[names.len()]
}

/// Returns whether tokens match a name.
fn name_matches(tokens: &[Token], name: &[char]) -> bool {
    let mut reached = vec![false; name.len() + 1];
    reached[0] = true;
    for token in tokens {
        let mut next = vec![false; name.len() + 1];
        match token {
            Token::Many(needs_one) => {
                let mut any = false;
                for (at, next) in next.iter_mut().enumerate() {
                    *next = any || (!needs_one && reached[at]);
                    any |= reached[at];
                }
            }
            token => {
                for (at, c) in name.iter().enumerate() {
                    next[at + 1] = reached[at]
                        && match token {
                            Token::Char(wanted) => c == wanted,
                            Token::Class(ranges, is_negated) => {
                                let is_in = |(from, to): &(char, char)| (from..=to).contains(&c);
                                ranges.iter().any(is_in) != *is_negated
                            }
                            Token::One | Token::Many(_) => true,
                        };
                }
            }
        }
        reached = next;
    }
    reached[name.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_as_in_the_hubs_library() {
        for (pattern, path, expected) in [
            ("a.csv", "a.csv", true),
            ("./a.csv", "a.csv", true),
            ("*.csv", "a.csv", true),
            ("*.csv", "b/a.csv", false),
            ("**", "a.csv", true),
            ("**", "b/c/a.csv", true),
            ("**/*.csv", "a.csv", true),
            ("**/*.csv", "b/c/a.csv", true),
            ("b/**", "b/c/a.csv", true),
            ("b/**", "b", false),
            ("b/**", "bc/a.csv", false),
            ("**/train/**", "train/a.csv", true),
            ("**/train/**", "x/train/y/a.csv", true),
            ("**/train/**", "train", false),
            ("a?c", "abc", true),
            ("a?c", "a/c", false),
            ("*/a", "/a", false),
            ("x[0-9]y", "x5y", true),
            ("x[0-9]y", "xay", false),
            ("x[!0-9]y", "xay", true),
            ("x[-._ 0-9]y", "x-y", true),
            ("x[]]y", "x]y", true),
            ("x[9-0]y", "x5y", false),
            ("x[y", "x[y", true),
            ("{a,b}.csv", "a.csv", false),
            ("{a,b}.csv", "{a,b}.csv", true),
            ("a\\*", "a\\x", true),
            // What is hidden must be named.
            ("**", ".git/a", false),
            (".*/*", ".git/a", true),
            ("**", "__pycache__/a", false),
            ("__*/*", "__pycache__/a", true),
            ("*", "__init__", true),
            ("*", ".hidden", false),
            (".hidden/*", ".hidden/.b", false),
        ] {
            let found = Pattern::read(pattern).unwrap().is_match(path);
            assert_eq!(found, expected, "{pattern} {path}");
        }
        assert_eq!(Pattern::read("a**b/c"), None);
        // What that library says of random ones.
        let recorded: serde_json::Value =
            serde_json::from_str(include_str!("../../tests/data/patterns.json")).unwrap();
        let rows = recorded["rows"].as_array().unwrap();
        assert_eq!(rows.len(), 800);
        for row in rows {
            let pattern = Pattern::read(row[0].as_str().unwrap()).unwrap();
            assert_eq!(pattern.is_match(row[1].as_str().unwrap()), row[2], "{row}");
        }
        let slow = Pattern::read(&"*a".repeat(2000)).unwrap();
        assert!(!slow.is_match(&"a".repeat(1999)));
    }
}
