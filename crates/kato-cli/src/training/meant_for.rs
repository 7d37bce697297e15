//! Options of `kato train` and `kato plan` that have no effect where the knowledge does not go.

use clap::ArgMatches;

use crate::backend::Backend;
use crate::unused::{Unused, unless_absent};

/// The places that an option is for, by the kinds of [`Backend`].
const KATO: &[&str] = &["kato"];
const MONGODB: &[&str] = &["mongodb"];
const SERVERS: &[&str] = &["kato", "mongodb"];
const EMBEDDED: &[&str] = &["embedded"];

/// Options that are not for every place.
const OPTIONS: [(&str, &[&str]); 21] = [
    ("index", EMBEDDED),
    ("no_index", EMBEDDED),
    ("occurrences", EMBEDDED),
    ("go_back", EMBEDDED),
    ("budget", EMBEDDED),
    ("place", EMBEDDED),
    ("catalogue", EMBEDDED),
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

/// Finds options that do nothing where the knowledge goes.
pub(crate) fn unused(matches: &ArgMatches) -> Option<Unused> {
    let backend = matches.get_one::<Backend>("backend");
    let kind = backend.map_or("embedded", Backend::kind);
    let elsewhere = OPTIONS.iter().filter(|(_, places)| !places.contains(&kind));
    elsewhere
        .map(|(id, places)| (id, places.join(" and ")))
        .find_map(|(id, places)| {
            let why = format!("it is for {places}, and where the knowledge goes is {kind}");
            unless_absent(matches, id, why)
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program;

    /// What help says an option is for.
    fn told(argument: &clap::Arg) -> Option<Vec<String>> {
        let help = argument.get_help()?.to_string();
        let (places, _) = help.strip_prefix("For ")?.split_once(':')?;
        Some(places.split(" and ").map(str::to_owned).collect())
    }

    #[test]
    fn help_says_what_each_option_is_for() {
        for command in ["train", "plan"] {
            let command = program::subcommand(command);
            for argument in command.get_arguments() {
                let held = OPTIONS.iter().find(|(id, _)| argument.get_id() == id);
                let held = held.map(|(_, places)| places.iter().map(|&it| it.to_owned()).collect());
                assert_eq!(told(argument), held, "{}", argument.get_id());
            }
        }
    }
}
