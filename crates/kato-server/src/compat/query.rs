//! Query strings, as Starlette reads them: the last of equal names counts, an empty value is a
//! value.

use percent_encoding::percent_decode_str;
use serde_json::Value;

use crate::compat::json::excerpt_of_text;
use crate::compat::validate::{Check, bool_of_text, integer_of_text, ttl_in_range};
use crate::refusal::Refusal;

/// Returns the value of a parameter, decoded.
pub(crate) fn parameter(query: &str, name: &str) -> Option<String> {
    let mut found = None;
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
        if decode_form(key) == name {
            found = Some(value);
        }
    }
    found.map(decode_form)
}

/// Returns all values of a parameter, decoded, in their order.
pub(crate) fn parameters(query: &str, name: &str) -> Vec<String> {
    let pairs = query.split('&').filter(|pair| !pair.is_empty());
    let pairs = pairs.map(|pair| pair.split_once('=').unwrap_or((pair, "")));
    let named = pairs.filter(|(key, _)| decode_form(key) == name);
    named.map(|(_, value)| decode_form(value)).collect()
}

/// Returns an integer parameter, or its default.
pub(crate) fn integer(query: &str, name: &str, default: i64) -> Result<i64, Refusal> {
    checked(query, name, default, |_, value, _| {
        // Python's integers have no bound; for what these parameters mean the nearest one does as
        // well.
        i64::try_from(value).unwrap_or(if value < 0 { i64::MIN } else { i64::MAX })
    })
}

/// Returns a boolean parameter, or its default.
pub(crate) fn boolean(query: &str, name: &str, default: bool) -> Result<bool, Refusal> {
    let Some(text) = parameter(query, name) else {
        return Ok(default);
    };
    let mut check = Check::new("query");
    let value = check.at(name, |check| {
        bool_of_text(&text).unwrap_or_else(|fault| {
            check.fault_with(fault, Value::from(excerpt_of_text(&text)), None);
            default
        })
    });
    check.finish(value).map_err(Refusal::invalid)
}

/// Returns a lifetime in seconds, which may lie before now, or its default.
pub(crate) fn ttl_seconds(query: &str, name: &str, default: i64) -> Result<i64, Refusal> {
    checked(
        query,
        name,
        default,
        |check, value, input| match i64::try_from(value) {
            Ok(seconds) if seconds < 0 => seconds,
            _ => ttl_in_range(check, value, input),
        },
    )
}

/// Returns an integer parameter that a further check accepts, or its default.
fn checked(
    query: &str,
    name: &str,
    default: i64,
    accept: impl FnOnce(&mut Check, i128, &Value) -> i64,
) -> Result<i64, Refusal> {
    let Some(text) = parameter(query, name) else {
        return Ok(default);
    };
    let mut check = Check::new("query");
    let input = Value::from(excerpt_of_text(&text));
    let value = check.at(name, |check| match integer_of_text(&text) {
        Ok(value) => accept(check, value, &input),
        Err(fault) => {
            check.fault_with(fault, input, None);
            0
        }
    });
    check.finish(value).map_err(Refusal::invalid)
}

/// Decodes a form value, in which `+` is a space.
fn decode_form(text: &str) -> String {
    decode(&text.replace('+', " "))
}

/// Decodes percent signs; what is no UTF-8 becomes U+FFFD, and a percent sign that begins no code
/// stays.
pub(crate) fn decode(text: &str) -> String {
    percent_decode_str(text).decode_utf8_lossy().into_owned()
}

/// Encodes a path for a header, except for the characters that a path may hold.
pub(crate) fn encode_path(path: &str) -> String {
    let mut text = String::with_capacity(path.len());
    for byte in path.bytes() {
        // The characters that Starlette leaves as they are in redirects.
        if byte.is_ascii_alphanumeric() || b"-._~:/%#?=@[]!$&'()*+,;".contains(&byte) {
            text.push(char::from(byte));
        } else {
            text.push_str(&format!("%{byte:02X}"));
        }
    }
    text
}
