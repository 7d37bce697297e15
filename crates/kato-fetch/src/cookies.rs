//! Cookies of one chain of redirects: some servers give one with a redirect, and the file only to who
//! brings it along.

use reqwest::header::{HeaderMap, HeaderValue, SET_COOKIE};
use url::Url;

/// Cookies that are kept at a time.
const MAX_COOKIES: usize = 50;
/// Longest header that is sent, in bytes.
const MAX_BYTES: usize = 8 << 10;

/// Cookies, each with the origin that gave it: no other gets it back, whatever its attributes allow.
#[derive(Debug, Default)]
pub(crate) struct Cookies(Vec<(String, String, String)>);

impl Cookies {
    /// Takes the cookies of an answer.
    pub(crate) fn take(&mut self, from: &Url, headers: &HeaderMap) {
        for cookie in headers.get_all(SET_COOKIE) {
            let pair = cookie.to_str().ok().and_then(|text| {
                let (name, value) = text.split(';').next()?.split_once('=')?;
                Some((name.trim().to_owned(), value.trim().to_owned()))
            });
            let Some((name, value)) = pair.filter(|(name, _)| !name.is_empty()) else {
                continue;
            };
            let owner = owner(from);
            self.0
                .retain(|(of, known, _)| (of, known) != (&owner, &name));
            if self.0.len() < MAX_COOKIES {
                self.0.push((owner, name, value));
            }
        }
    }

    /// Returns the header for a request, if the server it goes to has given any.
    pub(crate) fn header(&self, to: &Url) -> Option<HeaderValue> {
        let owner = owner(to);
        let given = self.0.iter().filter(|(of, ..)| *of == owner);
        let pairs: Vec<String> = given
            .map(|(_, name, value)| format!("{name}={value}"))
            .collect();
        let text = pairs.join("; ");
        if text.is_empty() || text.len() > MAX_BYTES {
            return None;
        }
        let mut header = HeaderValue::from_str(&text).ok()?;
        // It may be as good as a password.
        header.set_sensitive(true);
        Some(header)
    }
}

/// Returns who a cookie belongs to.
fn owner(url: &Url) -> String {
    url.origin().ascii_serialization()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cookies_go_back_to_who_gave_them() {
        let url = |text: &str| text.parse::<Url>().unwrap();
        let given = |values: &[&'static str]| -> HeaderMap {
            let values = values.iter().map(|value| HeaderValue::from_static(value));
            values.map(|value| (SET_COOKIE, value)).collect()
        };
        let mut cookies = Cookies::default();
        let from = url("https://x.org/a");
        cookies.take(
            &from,
            &given(&["a=1; Path=/; HttpOnly", "b = 2=3", "none", "=x"]),
        );
        cookies.take(&from, &given(&["a=4; Domain=org"]));
        let sent = |to: &str| cookies.header(&url(to));
        assert_eq!(sent("https://x.org/b").unwrap(), "b=2=3; a=4");
        assert!(!format!("{:?}", sent("https://x.org/b")).contains('4'));
        for other in [
            "http://x.org/",
            "https://y.x.org/",
            "https://x.org:81/",
            "https://org/",
        ] {
            assert_eq!(sent(other), None, "{other}");
        }
    }
}
