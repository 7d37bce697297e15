//! Numbers and booleans in pydantic's lax mode: numeric texts, booleans, and floats without a
//! fraction are accepted.

use super::Fault;
use crate::compat::json::{Integer, Json};

const INT_TYPE: Fault = Fault {
    kind: "int_type",
    message: "Input should be a valid integer",
};
const INT_PARSING: Fault = Fault {
    kind: "int_parsing",
    message: "Input should be a valid integer, unable to parse string as an integer",
};
const INT_PARSING_SIZE: Fault = Fault {
    kind: "int_parsing_size",
    message: "Unable to parse input string as an integer, exceeded maximum size",
};
const INT_FROM_FLOAT: Fault = Fault {
    kind: "int_from_float",
    message: "Input should be a valid integer, got a number with a fractional part",
};
const FLOAT_TYPE: Fault = Fault {
    kind: "float_type",
    message: "Input should be a valid number",
};
const FLOAT_PARSING: Fault = Fault {
    kind: "float_parsing",
    message: "Input should be a valid number, unable to parse string as a number",
};
const BOOL_TYPE: Fault = Fault {
    kind: "bool_type",
    message: "Input should be a valid boolean",
};
const BOOL_PARSING: Fault = Fault {
    kind: "bool_parsing",
    message: "Input should be a valid boolean, unable to interpret input",
};

/// Bound of the floats that pydantic converts to integers: 2⁶³.
const INT_RANGE: f64 = 9_223_372_036_854_775_808.0;

/// Converts a value to an integer; one beyond 128 bits becomes the nearest that has 128.
pub(crate) fn as_integer(value: &Json) -> Result<i128, Fault> {
    match value {
        Json::Bool(value) => Ok(i128::from(*value)),
        Json::Integer(Integer::Small(value)) => Ok(*value),
        Json::Integer(Integer::Large(digits)) => Ok(saturated(digits)),
        Json::Float(value) if !value.is_finite() => Err(Fault {
            kind: "finite_number",
            message: "Input should be a finite number",
        }),
        Json::Float(value) if value.fract() != 0.0 => Err(INT_FROM_FLOAT),
        Json::Float(value) if value.abs() >= INT_RANGE => Err(INT_PARSING_SIZE),
        // Without a fraction and within 64 bits, so the cast is exact.
        Json::Float(value) => Ok(*value as i128),
        Json::Text(text) => integer_of_text(&text.text),
        Json::Null | Json::List(_) | Json::Map(_) => Err(INT_TYPE),
    }
}

/// Converts a text to an integer. It may have whitespace around it, a sign, single underscores
/// between digits, and a fraction of zeros.
pub(crate) fn integer_of_text(text: &str) -> Result<i128, Fault> {
    let text = text.trim();
    let whole = match text.split_once('.') {
        Some((whole, fraction)) if !fraction.is_empty() && fraction.bytes().all(|b| b == b'0') => {
            whole
        }
        Some(_) => return Err(INT_PARSING),
        None => text,
    };
    let (sign, digits) = match whole.strip_prefix(['+', '-']) {
        Some(digits) if whole.starts_with('-') => ("-", digits),
        Some(digits) => ("", digits),
        None => ("", whole),
    };
    let digits = without_underscores(digits).ok_or(INT_PARSING)?;
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(INT_PARSING);
    }
    // Python's bound for the digits of an integer, which pydantic shares.
    if digits.len() > 4300 {
        return Err(INT_PARSING_SIZE);
    }
    Ok(saturated(&format!("{sign}{digits}")))
}

/// Returns the integer, or the nearest one of 128 bits.
fn saturated(digits: &str) -> i128 {
    // Every use checks a range that is far smaller.
    let edge = if digits.starts_with('-') {
        i128::MIN
    } else {
        i128::MAX
    };
    digits.parse().unwrap_or(edge)
}

/// Returns the text without underscores, if each stands between two digits.
fn without_underscores(text: &str) -> Option<String> {
    let bytes = text.as_bytes();
    let is_digit = |idx: Option<usize>| {
        idx.and_then(|idx| bytes.get(idx))
            .is_some_and(u8::is_ascii_digit)
    };
    let misplaced = |(idx, byte): (usize, &u8)| {
        *byte == b'_' && !(is_digit(idx.checked_sub(1)) && is_digit(Some(idx + 1)))
    };
    let fits = !bytes.iter().enumerate().any(misplaced);
    fits.then(|| text.replace('_', ""))
}

/// Converts a value to a number, which may be infinite or NaN.
pub(crate) fn as_float(value: &Json) -> Result<f64, Fault> {
    match value {
        Json::Bool(value) => Ok(f64::from(u8::from(*value))),
        Json::Integer(integer) => Ok(integer.to_f64()),
        Json::Float(value) => Ok(*value),
        Json::Text(text) => float_of_text(text.text.trim()).ok_or(FLOAT_PARSING),
        Json::Null | Json::List(_) | Json::Map(_) => Err(FLOAT_TYPE),
    }
}

/// Converts a text to a number.
fn float_of_text(text: &str) -> Option<f64> {
    // Rust and Python agree on numbers and the names of numbers, except for underscores.
    without_underscores(text)?.parse().ok()
}

/// Converts a value to a boolean: also 0, 1 and the usual words.
pub(crate) fn as_bool(value: &Json) -> Result<bool, Fault> {
    match value {
        Json::Bool(value) => Ok(*value),
        Json::Integer(Integer::Small(0)) => Ok(false),
        Json::Integer(Integer::Small(1)) => Ok(true),
        // pydantic compares with 0 and 1 what fits into 64 bits; larger numbers have the wrong type
        // for it, and so have fractions.
        Json::Integer(Integer::Small(value)) if i64::try_from(*value).is_ok() => Err(BOOL_PARSING),
        Json::Float(value) if *value == 0.0 => Ok(false),
        Json::Float(value) if *value == 1.0 => Ok(true),
        Json::Float(value) if value.fract() == 0.0 && value.abs() < INT_RANGE => Err(BOOL_PARSING),
        Json::Text(text) => bool_of_text(&text.text),
        Json::Integer(_) | Json::Float(_) | Json::Null | Json::List(_) | Json::Map(_) => {
            Err(BOOL_TYPE)
        }
    }
}

/// Converts one of the usual words to a boolean.
pub(crate) fn bool_of_text(text: &str) -> Result<bool, Fault> {
    match text.to_ascii_lowercase().as_str() {
        "0" | "off" | "f" | "false" | "n" | "no" => Ok(false),
        "1" | "on" | "t" | "true" | "y" | "yes" => Ok(true),
        _ => Err(BOOL_PARSING),
    }
}
