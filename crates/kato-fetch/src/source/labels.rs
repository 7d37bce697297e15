//! What a web server calls a file: its media type and its name.

use reqwest::header::{CONTENT_DISPOSITION, CONTENT_TYPE, HeaderMap};
use url::Url;

use crate::client::text;
use crate::location::percent_decoded;
use crate::remote_file::end_of_path;

/// Longest label that is kept, in bytes; an honest one is shorter.
const MAX_LENGTH: usize = 1 << 10;

/// Returns the media type without its parameters, in lower case.
pub(super) fn content_type(headers: &HeaderMap) -> Option<String> {
    let value = text(headers, CONTENT_TYPE.as_str())?;
    let media_type = value.split(';').next()?.trim().to_ascii_lowercase();
    (media_type.contains('/') && media_type.len() <= MAX_LENGTH).then_some(media_type)
}

/// Returns the name that a server gives a file: that of `Content-Disposition`, else the end of the
/// URL that redirects led to.
pub(super) fn served_name(headers: &HeaderMap, target: Option<&Url>) -> Option<String> {
    let said = headers
        .get(CONTENT_DISPOSITION)
        // Names outside ASCII are not allowed here, and are sent all the same.
        .and_then(|value| disposed(&String::from_utf8_lossy(value.as_bytes())));
    let said = said.filter(|name| !name.is_empty());
    let name = said.or_else(|| target.map(end_of_path))?;
    // A name may come with a path, by either kind of separator; only its end is a name.
    let name = name.rsplit(['/', '\\']).next()?.trim();
    let is_usable = !name.is_empty() && name.len() <= MAX_LENGTH;
    is_usable.then(|| name.to_owned())
}

/// Returns the name in a value of `Content-Disposition`, the encoded one if there are two
/// (RFC 6266, 4.3).
fn disposed(value: &str) -> Option<String> {
    let (mut plain, mut encoded) = (None, None);
    for (name, value) in parameters(value) {
        match name.as_str() {
            "filename" => plain = plain.or(Some(value)),
            "filename*" => encoded = encoded.or_else(|| decoded(&value)),
            _ => {}
        }
    }
    encoded.or(plain)
}

/// Returns `filename*`, which is `CHARSET'LANGUAGE'NAME` with escapes (RFC 8187); `None` if it is
/// not UTF-8.
fn decoded(value: &str) -> Option<String> {
    let (charset, rest) = value.split_once('\'')?;
    let (_, name) = rest.split_once('\'')?;
    let is_utf8 = ["utf-8", "us-ascii"]
        .iter()
        .any(|known| charset.eq_ignore_ascii_case(known));
    is_utf8.then(|| percent_decoded(name)).flatten()
}

/// Returns the parameters behind the first `;`, with names in lower case and values without quotes.
fn parameters(value: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut rest = value.split_once(';').map_or("", |(_, rest)| rest);
    while let Some((name, behind)) = rest.split_once('=') {
        let (value, next) = cut_value(behind.trim_start());
        found.push((name.trim().to_ascii_lowercase(), value));
        rest = next.trim_start().trim_start_matches(';');
    }
    found
}

/// Returns a value, quoted or not, and what follows it.
fn cut_value(text: &str) -> (String, &str) {
    let Some(quoted) = text.strip_prefix('"') else {
        let end = text.find(';').unwrap_or(text.len());
        return (text[..end].trim_end().to_owned(), &text[end..]);
    };
    let mut value = String::new();
    let mut chars = quoted.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return (value, &quoted[at + 1..]),
            // A backslash stands before a quote or another one. Elsewhere it is a path's, which
            // some servers send as it is.
            '\\' if quoted[at + 1..].starts_with(['"', '\\']) => {
                value.extend(chars.next().map(|(_, escaped)| escaped));
            }
            c => value.push(c),
        }
    }
    (value, "")
}

#[cfg(test)]
mod tests {
    use reqwest::header::HeaderValue;

    use super::*;

    #[test]
    fn a_media_type_comes_without_parameters() {
        for (value, expected) in [
            ("application/json", Some("application/json")),
            ("Text/CSV; charset=UTF-8", Some("text/csv")),
            ("nonsense", None),
            ("", None),
        ] {
            let headers = [(CONTENT_TYPE, HeaderValue::from_static(value))];
            let headers = HeaderMap::from_iter(headers);
            assert_eq!(content_type(&headers).as_deref(), expected, "{value}");
        }
    }

    #[test]
    fn a_name_is_read_in_all_its_forms() {
        let target: Url = "https://cdn.example/x/y%20z.csv?Signature=s"
            .parse()
            .unwrap();
        for (value, expected) in [
            ("attachment; filename=a.jsonl", Some("a.jsonl")),
            (
                "attachment;FileName=\"a b;c.jsonl\" ; x=1",
                Some("a b;c.jsonl"),
            ),
            (
                "inline; filename=\"e.txt\"; filename*=UTF-8''%c3%a9.txt",
                Some("é.txt"),
            ),
            (
                "inline; filename*=ISO-8859-1''%e9.txt; filename=e.txt",
                Some("e.txt"),
            ),
            (r#"attachment; filename="C:\up\a.csv""#, Some("a.csv")),
            (r#"attachment; filename="a\"b.csv""#, Some("a\"b.csv")),
            ("attachment; filename=\"../../a.csv\"", Some("a.csv")),
            ("attachment; filename=\"open.csv", Some("open.csv")),
            ("attachment; filename=", Some("y z.csv")),
            ("attachment; filename", Some("y z.csv")),
            ("attachment", Some("y z.csv")),
        ] {
            let headers = [(CONTENT_DISPOSITION, HeaderValue::from_static(value))];
            let headers = HeaderMap::from_iter(headers);
            assert_eq!(
                served_name(&headers, Some(&target)).as_deref(),
                expected,
                "{value}"
            );
        }
        assert_eq!(served_name(&HeaderMap::new(), None), None);
    }
}
