//! Profiles of AWS: the files in which its own tools keep keys and regions.

use std::fs;
use std::path::{Path, PathBuf};

/// Keys of a profile, with the options of the store that they stand for.
const KEYS: [(&str, &str); 5] = [
    ("aws_access_key_id", "AWS_ACCESS_KEY_ID"),
    ("aws_secret_access_key", "AWS_SECRET_ACCESS_KEY"),
    ("aws_session_token", "AWS_SESSION_TOKEN"),
    ("region", "AWS_REGION"),
    ("endpoint_url", "AWS_ENDPOINT_URL"),
];

/// Returns the options of the profile that the environment's variables choose, in files that they name or in
/// the user's folder for them; none where there is none.
pub(crate) fn options(
    variable: impl Fn(&str) -> Option<String>,
    folder: Option<&Path>,
) -> Vec<(String, String)> {
    let profile = variable("AWS_PROFILE").unwrap_or_else(|| "default".to_owned());
    let files = [
        (variable("AWS_CONFIG_FILE"), "config"),
        (variable("AWS_SHARED_CREDENTIALS_FILE"), "credentials"),
    ];
    let mut options = Vec::new();
    for (file, name) in files {
        let path = file.map(PathBuf::from).or_else(|| Some(folder?.join(name)));
        let text = path.and_then(|path| fs::read_to_string(path).ok());
        options.extend(of_profile(&text.unwrap_or_default(), &profile));
    }
    options
}

/// Returns the options of a profile in the text of a file.
fn of_profile(text: &str, profile: &str) -> Vec<(String, String)> {
    let (mut options, mut is_ours) = (Vec::new(), false);
    for line in text.lines() {
        // What is indented belongs to the setting above it.
        if line.starts_with([' ', '\t', '#', ';']) {
            continue;
        }
        let section = line.trim().strip_prefix('[');
        if let Some(name) = section.and_then(|name| name.strip_suffix(']')) {
            // In `config` they are called `profile NAME`.
            let name = name.trim();
            let name = name.strip_prefix("profile ").unwrap_or(name);
            is_ours = name.trim() == profile;
        } else if is_ours && let Some((key, value)) = line.split_once('=') {
            let known = KEYS.iter().find(|(known, _)| *known == key.trim());
            options
                .extend(known.map(|(_, option)| ((*option).to_owned(), value.trim().to_owned())));
        }
    }
    options
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_profile_is_found_by_its_name() {
        let text = "# keys\n[default]\naws_access_key_id = A\naws_secret_access_key=B=\n[profile two]\nregion = eu\ns3 =\n  \
                    region = no\noutput = json\n[three]\naws_session_token = C\n";
        let check = |profile: &str, expected: &[(&str, &str)]| {
            let expected: Vec<_> = expected
                .iter()
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                .collect();
            assert_eq!(of_profile(text, profile), expected, "{profile}");
        };
        check(
            "default",
            &[("AWS_ACCESS_KEY_ID", "A"), ("AWS_SECRET_ACCESS_KEY", "B=")],
        );
        check("two", &[("AWS_REGION", "eu")]);
        check("three", &[("AWS_SESSION_TOKEN", "C")]);
        check("four", &[]);
    }
}
