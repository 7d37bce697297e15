//! Options of `kato train` that have no effect where the knowledge does not go.

use clap::ArgMatches;
use clap::error::{Error, ErrorKind};
use clap::parser::ValueSource;

use crate::backend::Backend;
use crate::program;

/// The places that an option is for, by the kinds of [`Backend`].
const KATO: &[&str] = &["kato"];
const MONGODB: &[&str] = &["mongodb"];
const SERVERS: &[&str] = &["kato", "mongodb"];
const EMBEDDED: &[&str] = &["embedded"];

/// Options that are not for every place.
const OPTIONS: [(&str, &[&str]); 17] = [
    ("index", EMBEDDED),
    ("no_index", EMBEDDED),
    ("occurrences", EMBEDDED),
    ("run", SERVERS),
    ("patience", SERVERS),
    ("batch", KATO),
    ("connections", KATO),
    ("state", KATO),
    ("timeout", KATO),
    ("settle", KATO),
    ("allow_existing_patterns", KATO),
    ("check_interval", KATO),
    ("compare_all", KATO),
    ("torn_learns", KATO),
    ("reteach", KATO),
    ("token_file", KATO),
    ("sharded", MONGODB),
];

/// Refuses options that would do nothing where the knowledge goes.
///
/// # Errors
///
/// A wrong usage of `kato train`.
pub(crate) fn check(train: &ArgMatches) -> Result<(), Error> {
    let backend = train.get_one::<Backend>("backend");
    let kind = backend.map_or("embedded", Backend::kind);
    for (id, places) in OPTIONS {
        let is_given = train.value_source(id) == Some(ValueSource::CommandLine);
        if is_given && !places.contains(&kind) {
            let flag = id.replace('_', "-");
            let places = places.join(" and ");
            let text = format!("--{flag} is for {places}: where the knowledge goes is {kind}");
            let mut command = program::subcommand("train");
            return Err(Error::raw(ErrorKind::ArgumentConflict, text).format(&mut command));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What help says an option is for.
    fn told(argument: &clap::Arg) -> Option<Vec<String>> {
        let help = argument.get_help()?.to_string();
        let (places, _) = help.strip_prefix("For ")?.split_once(':')?;
        Some(places.split(" and ").map(str::to_owned).collect())
    }

    #[test]
    fn help_says_what_each_option_is_for() {
        let train = program::subcommand("train");
        for argument in train.get_arguments() {
            let held = OPTIONS.iter().find(|(id, _)| argument.get_id() == id);
            let held = held.map(|(_, places)| places.iter().map(|&it| it.to_owned()).collect());
            assert_eq!(told(argument), held, "{}", argument.get_id());
        }
    }

    #[test]
    fn options_without_effect_are_refused() {
        let refused = |line: &str| {
            let given = line.split(' ');
            let matches = program::command().try_get_matches_from(given).unwrap();
            let (_, train) = matches.subcommand().unwrap();
            check(train).err().map(|error| error.to_string())
        };
        let server = "kato train --backend kato:http://a";
        let database = "kato train --backend mongodb://a";
        for line in [
            "kato train --kb kb --index",
            &format!("{server} --run r --batch 8 --patience 3"),
            &format!("{database} --run r --sharded --patience 3"),
        ] {
            assert_eq!(refused(line), None, "{line}");
        }
        for (line, expected) in [
            ("kato train --kb kb --batch 8", "--batch is for kato: "),
            (
                "kato train --patience 3",
                "--patience is for kato and mongodb: ",
            ),
            (
                &format!("{database} --token-file f"),
                "--token-file is for kato: ",
            ),
            (&format!("{server} --index"), "--index is for embedded: "),
            (&format!("{server} --sharded"), "--sharded is for mongodb: "),
        ] {
            let told = refused(line).unwrap_or_default();
            assert!(told.starts_with(&format!("error: {expected}")), "{told}");
        }
    }
}
