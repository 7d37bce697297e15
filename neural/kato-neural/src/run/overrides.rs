//! Settings in a TOML table that flags replace by their dotted names.

use toml::{Table, Value};

/// Puts a value under a dotted name, over what is there.
///
/// ```
/// use kato_neural::run::{override_setting, parse_value};
///
/// let mut table: toml::Table = "[model]\nwidth = 8".parse()?;
/// override_setting(&mut table, "model.width", parse_value("16"))?;
/// override_setting(&mut table, "model.kind", parse_value("plain"))?;
/// assert_eq!(table.to_string(), "[model]\nkind = \"plain\"\nwidth = 16\n");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// What is wrong with the name, in words: it lies below a setting that has no parts.
pub fn override_setting(table: &mut Table, name: &str, value: Value) -> Result<(), String> {
    let Some((first, rest)) = name.split_once('.') else {
        table.insert(name.to_owned(), value);
        return Ok(());
    };
    let inner = table
        .entry(first)
        .or_insert_with(|| Value::Table(Table::new()));
    let Value::Table(inner) = inner else {
        return Err(format!("the setting `{name}` lies in none that has parts"));
    };
    override_setting(inner, rest, value)
}

/// Reads a value as TOML, and as text where it is none.
#[must_use]
pub fn parse_value(value: &str) -> Value {
    let table: Result<Table, _> = format!("value = {value}").parse();
    let found = table.ok().and_then(|mut table| table.remove("value"));
    found.unwrap_or_else(|| Value::String(value.to_owned()))
}
