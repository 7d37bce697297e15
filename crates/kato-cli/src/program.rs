//! The command line as a whole: its subcommands, with the settings of a file where one is named.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::builder::Resettable;
use clap::{ArgAction, CommandFactory, FromArgMatches, Parser, Subcommand};

#[cfg(feature = "cluster")]
use crate::commands::cluster;
use crate::commands::{
    analyze, bench, cleanup, completions, corpus, count, datasets, estimate, evaluate, forget,
    generate, hardware, history, index, inspect, man, next, plan, predict, retire, runs, salvage,
    score, serve, trace, train, tune,
};
use crate::exit::{EXIT_CODES, exit_code, failed};
use crate::logging::LogArgs;
use crate::{advice, interrupt, names, notice, overwriting, settings, source, unused, usage};

/// Learns patterns of patterns from text, exactly and traceably, and answers from them: kato-rs,
/// hierarchical concept learning with KATO.
///
/// Begin with `kato train`, which learns this repository's own text or yours; look at the result
/// with `kato inspect`, ask it with `kato predict`, let it write with `kato generate`. `kato serve` is a
/// server that KATO's clients teach and ask; `kato train --backend kato:URL` teaches it, too.
///
/// Ctrl-C, SIGTERM and SIGHUP are obeyed within 5 seconds, and a second one at once. What is committed stays,
/// and a command with --resume or --journal goes on from there.
///
/// Exit codes say what to do: `kato help COMMAND` lists them, the same for all commands. `kato serve`
/// that a signal stops in order ends with 0.
#[derive(Debug, Parser)]
#[command(name = "kato", version, subcommand_value_name = "COMMAND")]
struct Program {
    #[command(subcommand)]
    command: Command,
    #[command(flatten)]
    log: LogArgs,
    /// Take flags that are not given here from this TOML file: a table for each command, such as [train] or
    /// [cluster.plan], with keys named as its flags. Flags of a group of commands, such as `kato cluster
    /// --store`, stand in the table of the group, [cluster], and those of all commands in none.
    #[arg(long, value_name = "FILE", env = settings::VARIABLE, hide_env_values = true, global = true)]
    settings: Option<PathBuf>,
}

// No documentation on the variants: a command's help begins with that of its flags.
#[derive(Debug, Subcommand)]
enum Command {
    Train(Box<train::Args>),
    Inspect(inspect::Args),
    Index(index::Args),
    Salvage(salvage::Args),
    Predict(predict::Args),
    Generate(generate::Args),
    Next(next::Args),
    Score(score::Args),
    Count(count::Args),
    Trace(trace::Args),
    Evaluate(evaluate::Args),
    Serve(Box<serve::Args>),
    #[cfg(feature = "cluster")]
    Cluster(cluster::Args),
    Datasets(datasets::Args),
    Runs(runs::Args),
    Analyze(analyze::Args),
    Cleanup(cleanup::Args),
    Retire(retire::Args),
    Purge(retire::PurgeArgs),
    Forget(forget::Args),
    Estimate(Box<estimate::Args>),
    Plan(Box<plan::Args>),
    Tune(Box<tune::Args>),
    History(history::Args),
    Hardware(hardware::Args),
    Bench(bench::Args),
    Corpus(corpus::Args),
    Completions(completions::Args),
    Man(man::Args),
}

/// Runs the command that the process's arguments name.
pub(crate) fn main() -> ExitCode {
    let given: Vec<OsString> = std::env::args_os().collect();
    notice::heed(&given);
    // Before anything takes time, so that a signal in the first moments has the exit code of all others.
    if let Err(error) = interrupt::listen() {
        return failed(&anyhow::Error::from(error).context("failed to listen for signals"));
    }
    // Settings become arguments before the real parsing, so that required flags may stand in the
    // file and all checks hold for both.
    let definition = command();
    let mut arguments = match settings::merged(&definition, given) {
        Ok(arguments) => arguments,
        Err(error) => return failed(&error),
    };
    let line = arguments.line();
    // They may ask for it, too.
    notice::heed(&line);
    names::tell_former(&definition, &line);
    let matches = arguments
        .parsed(&definition)
        .unwrap_or_else(|error| notice::exit(&usage::explained(error, &definition, &line)));
    let innermost = unused::innermost(&definition, &matches);
    advice::heed(&innermost.command);
    if let Err(error) = overwriting::check(&innermost) {
        return failed(&error);
    }
    let program = Program::from_arg_matches(&matches);
    let mut program = program.unwrap_or_else(|error| notice::exit(&error));
    if let (Command::Plan(plan), Some((_, matches))) = (&mut program.command, matches.subcommand())
    {
        plan.reading = source::given_flags(matches);
    }
    program.run()
}

impl Program {
    /// Starts logging, runs the command and returns its exit code.
    fn run(self) -> ExitCode {
        let is_server = matches!(self.command, Command::Serve(_));
        self.log.start(is_server);
        let outcome = match self.command {
            // Those that end in ways of their own.
            Command::Train(mut args) => return train::main(&mut args),
            Command::Serve(args) => return serve::main(&args),
            Command::Inspect(args) => inspect::run(&args),
            Command::Index(args) => index::run(&args),
            Command::Salvage(args) => salvage::run(&args),
            Command::Predict(args) => predict::run(&args),
            Command::Generate(args) => generate::run(&args),
            Command::Next(args) => next::run(&args),
            Command::Score(args) => score::run(&args),
            Command::Count(args) => count::run(&args),
            Command::Trace(args) => trace::run(&args),
            Command::Evaluate(args) => evaluate::run(&args),
            #[cfg(feature = "cluster")]
            Command::Cluster(args) => cluster::run(&args),
            Command::Datasets(mut args) => datasets::run(&mut args),
            Command::Runs(args) => runs::run(&args),
            Command::Analyze(args) => analyze::run(&args),
            Command::Cleanup(args) => cleanup::run(&args),
            Command::Retire(args) => retire::run(&args),
            Command::Purge(args) => retire::purge(&args),
            Command::Forget(args) => forget::run(&args),
            Command::Estimate(mut args) => estimate::run(&mut args),
            Command::Plan(mut args) => plan::run(&mut args),
            Command::Tune(mut args) => tune::run(&mut args),
            Command::History(args) => history::run(&args),
            Command::Hardware(args) => hardware::run(&args),
            Command::Bench(args) => bench::run(&args),
            Command::Corpus(args) => corpus::run(&args),
            Command::Completions(args) => completions::run(&args),
            Command::Man(args) => man::run(&args),
        };
        exit_code(outcome)
    }
}

/// Returns the definition of the whole command line.
pub(crate) fn command() -> clap::Command {
    // With what a command says there itself.
    let program = Program::command();
    #[cfg(feature = "cluster")]
    let program = program.mut_subcommand("cluster", |cluster| {
        let cluster = cluster.mut_subcommand("plan", source::hide_refused_by_plan);
        let cluster = cluster.mut_subcommand("learn", source::hide_how_to_read);
        cluster.mut_subcommand("extend", source::hide_how_to_read)
    });
    let program = program.mut_subcommand("datasets", |datasets| {
        datasets.mut_subcommand("info", source::refuse_order)
    });
    let program = program.mut_subcommands(|command| with_common_help(command, None));
    lists_once(without_empty_variables(program))
}

/// Lets a command, and those below it, refuse a list that is given twice, as they do every flag that is not there
/// to be given several times: half of what was meant would be added to the other half.
fn lists_once(command: clap::Command) -> clap::Command {
    let command = command.mut_args(|argument| match argument.get_value_delimiter() {
        Some(_) => argument.action(ArgAction::Set),
        None => argument,
    });
    command.mut_subcommands(lists_once)
}

/// Lets a command, and those below it, take an empty variable of the environment for one that is not set.
fn without_empty_variables(command: clap::Command) -> clap::Command {
    let is_empty = |name: &OsStr| std::env::var_os(name).is_some_and(|value| value.is_empty());
    let command = command.mut_args(|argument| match argument.get_env().is_some_and(is_empty) {
        true => argument.env(Resettable::Reset),
        false => argument,
    });
    command.mut_subcommands(without_empty_variables)
}

/// Adds to the help of a command, and of those below it, what all have: the keys of its JSON where the
/// command above tells them, and the exit codes.
fn with_common_help(command: clap::Command, told_above: Option<&str>) -> clap::Command {
    let about = command.get_long_about().map(ToString::to_string);
    let mut paragraphs = about.iter().flat_map(|about| about.split("\n\n"));
    let own_keys = paragraphs.find(|paragraph| paragraph.starts_with("With --json"));
    let keys = own_keys.or(told_above);
    let own = command.get_after_long_help().map(ToString::to_string);
    let keys_from_above = keys.filter(|_| own_keys.is_none());
    let parts = [keys_from_above, own.as_deref(), Some(EXIT_CODES)];
    let text: Vec<&str> = parts.into_iter().flatten().collect();
    let command = command.after_long_help(text.join("\n\n"));
    command.mut_subcommands(|below| with_common_help(below, keys))
}

/// Returns the definition of a subcommand, for errors that name its usage.
pub(crate) fn subcommand(name: &str) -> clap::Command {
    let mut program = command();
    // Fills in the names by which usage errors call a subcommand.
    program.build();
    program
        .find_subcommand(name)
        .cloned()
        .expect("every command names itself")
}
