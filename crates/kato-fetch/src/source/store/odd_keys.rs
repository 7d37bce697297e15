//! Keys that the code of stores cannot ask for: they are taken out of lists, so that they do not hide
//! the others.

use object_store::path::Path;

/// Elements that describe an object, with the one that has its key: in S3 and Google Cloud Storage,
/// and in Azure.
const ELEMENTS: [(&str, &str); 2] = [("Contents", "Key"), ("Blob", "Name")];

/// Returns a page of a list without the objects that cannot be asked for, and their keys.
pub(super) fn taken_out(page: &str) -> (String, Vec<String>) {
    let (mut kept, mut odd) = (String::with_capacity(page.len()), Vec::new());
    let mut rest = page;
    while let Some((start, end, key)) = next_object(rest) {
        let key = key.map_or_else(String::new, unescaped);
        if is_plain(&key) {
            kept.push_str(&rest[..end]);
        } else {
            kept.push_str(&rest[..start]);
            odd.push(key);
        }
        rest = &rest[end..];
    }
    kept.push_str(rest);
    (kept, odd)
}

/// Returns whether a key is asked for as it is written.
pub(super) fn is_plain(key: &str) -> bool {
    Path::parse(key).is_ok_and(|path| path.as_ref() == key)
}

/// Returns where the next description of an object begins and ends, and its key.
fn next_object(text: &str) -> Option<(usize, usize, Option<&str>)> {
    let found = ELEMENTS.iter().filter_map(|(element, key)| {
        let start = text.find(&format!("<{element}>"))?;
        let close = format!("</{element}>");
        let end = start + text[start..].find(&close)? + close.len();
        Some((start, end, between(&text[start..end], key)))
    });
    found.min_by_key(|(start, ..)| *start)
}

/// Returns the text of the first element of a name.
fn between<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let (_, behind) = text.split_once(&format!("<{name}>"))?;
    Some(behind.split_once(&format!("</{name}>"))?.0)
}

/// Returns a text of XML without its escapes; those that are none stay as they are.
fn unescaped(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once('&') {
        plain.push_str(before);
        let character = behind.split_once(';').and_then(|(name, behind)| {
            let character = match name {
                "lt" => '<',
                "gt" => '>',
                "amp" => '&',
                "quot" => '"',
                "apos" => '\'',
                name => {
                    let code = name.strip_prefix('#')?;
                    let number = match code.strip_prefix(['x', 'X']) {
                        Some(digits) => u32::from_str_radix(digits, 16),
                        None => code.parse(),
                    };
                    char::from_u32(number.ok()?)?
                }
            };
            Some((character, behind))
        });
        match character {
            Some((character, behind)) => {
                plain.push(character);
                rest = behind;
            }
            None => {
                plain.push('&');
                rest = behind;
            }
        }
    }
    plain.push_str(rest);
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn odd_keys_are_taken_out_and_the_others_stay() {
        let object = |key: &str| format!("<Contents><Key>{key}</Key><Size>1</Size></Contents>");
        let keys = [
            "a", "b//c", "/d", "e/", "f/../g", "h%20i", "j&amp;k", "l&#10;m", "{n}[o]",
        ];
        let page = format!(
            "<List>{}<IsTruncated>true</IsTruncated></List>",
            keys.map(object).concat()
        );
        let (kept, odd) = taken_out(&page);
        let expected = format!(
            "<List>{}<IsTruncated>true</IsTruncated></List>",
            ["a", "h%20i", "j&amp;k", "{n}[o]"].map(object).concat()
        );
        assert_eq!(kept, expected);
        assert_eq!(odd, ["b//c", "/d", "e/", "f/../g", "l\nm"]);
        let azure = "<Blobs><Blob><Name>a//b</Name></Blob><Blob><Name>c</Name></Blob></Blobs>";
        let (kept, odd) = taken_out(azure);
        assert_eq!(kept, "<Blobs><Blob><Name>c</Name></Blob></Blobs>");
        assert_eq!(odd, ["a//b"]);
        assert_eq!(
            taken_out("<Contents><Key>a"),
            ("<Contents><Key>a".to_owned(), vec![])
        );
    }

    #[test]
    fn escapes_that_are_none_stay() {
        assert_eq!(
            unescaped("a&b;&#xzz;&#1114112;&lt;"),
            "a&b;&#xzz;&#1114112;<"
        );
    }
}
