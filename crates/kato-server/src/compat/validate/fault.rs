//! The kinds of faults, in pydantic's words.

/// A kind of fault: pydantic's type and message.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Fault {
    pub(crate) kind: &'static str,
    pub(crate) message: &'static str,
}

macro_rules! faults {
    ($($name:ident: $kind:literal, $message:literal;)*) => {
        $(pub(crate) const $name: Fault = Fault { kind: $kind, message: $message };)*
    };
}

faults! {
    MISSING: "missing", "Field required";
    STRING_TYPE: "string_type", "Input should be a valid string";
    STRING_UNICODE: "string_unicode",
        "Input should be a valid string, unable to parse raw data as a unicode string";
    LIST_TYPE: "list_type", "Input should be a valid list";
    DICT_TYPE: "dict_type", "Input should be a valid dictionary";
    MODEL_TYPE: "model_attributes_type",
        "Input should be a valid dictionary or object to extract fields from";
    FINITE_NUMBER: "finite_number", "Input should be a finite number";
    NOT_NEGATIVE: "greater_than_equal", "Input should be greater than or equal to 0";
    TOO_GREAT: "less_than_equal", "Input should be less than or equal to 3153600000";
    TOO_MANY_ERRORS: "too_many_errors", "There are more errors than these 100, or parts that were not looked at";
}
