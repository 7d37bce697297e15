//! The part of a server's error text that says something: a stock KATO answers with whole pages.

/// Most characters that are kept.
const KEPT: usize = 300;

/// Text before a trace of calls, where the cause stands in front of it.
const TRACES: [&str; 3] = ["Stack trace", "stack trace", "\nTraceback"];

/// Text before a trace of calls in Python, where the cause is the last line.
const PYTHON: &str = "Traceback (most recent call last)";

/// Returns the part of a text that says what went wrong, in one line of at most [`KEPT`]
/// characters.
pub(super) fn gist(text: &str) -> String {
    let text = without_tags(text);
    let cause = match text.trim_start().starts_with(PYTHON) {
        true => text.trim_end().lines().next_back().unwrap_or_default(),
        false => TRACES.iter().fold(text.as_str(), |text, trace| {
            text.split_once(trace).map_or(text, |(before, _)| before)
        }),
    };
    let words: Vec<&str> = cause.split_whitespace().collect();
    let line = words.join(" ");
    let line = line.trim_end_matches([',', ';', ':', '(']);
    if line.is_empty() {
        return "no reason given".to_owned();
    }
    match line.char_indices().nth(KEPT) {
        None => line.to_owned(),
        Some((end, _)) => {
            // At a blank, so that no word is cut in two; one that is longer than all that is kept
            // is.
            let end = line[..end].rfind(' ').unwrap_or(end);
            format!("{} …", &line[..end])
        }
    }
}

/// Returns a page of HTML as its text; any other text as it is.
fn without_tags(text: &str) -> String {
    let start = text.trim_start().to_ascii_lowercase();
    if !start.starts_with("<!doctype html") && !start.starts_with("<html") {
        return text.to_owned();
    }
    let body = text.split_once("<body").map_or(text, |(_, body)| body);
    // The rest of the tag of the body is up to its end; so is that of every tag.
    let pieces = body.split('<').filter_map(|piece| piece.split_once('>'));
    pieces.map(|(_, text)| text).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_says_something_is_kept() {
        for (text, expected) in [
            ("Internal Server Error", "Internal Server Error"),
            ("", "no reason given"),
            ("  \n ", "no reason given"),
            (
                "Code: 210. DB::NetException: Connection refused (clickhouse:9000).\n (NETWORK_ERROR), Stack trace (when copying this):\n\n0. x",
                "Code: 210. DB::NetException: Connection refused (clickhouse:9000). (NETWORK_ERROR)",
            ),
            (
                "Traceback (most recent call last):\n  File \"a.py\", line 1\n    a()\nredis.exceptions.ConnectionError: Error 111 connecting to redis:6379\n",
                "redis.exceptions.ConnectionError: Error 111 connecting to redis:6379",
            ),
            (
                "it failed\nTraceback (most recent call last):\n  File",
                "it failed",
            ),
            (
                "<!DOCTYPE html><html><head><style>p {}</style></head><body class=x><h1>502</h1>\n<p>Bad Gateway</p></body></html>",
                "502 Bad Gateway",
            ),
            ("a < b and b > c", "a < b and b > c"),
        ] {
            assert_eq!(gist(text), expected, "{text}");
        }
    }

    #[test]
    fn no_text_is_too_long() {
        let page = "é is long ".repeat(1_000);
        let kept = gist(&page);
        assert!(kept.ends_with("long …") || kept.ends_with("é …") || kept.ends_with("is …"));
        assert!(kept.chars().count() <= KEPT + 2);
        assert_eq!(gist(&"x".repeat(4_000)).chars().count(), KEPT + 2);
    }
}
