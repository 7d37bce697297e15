//! The arguments that decide what is read and how, and the loader that they ask for.

mod name;
mod values;

use std::env;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::{ArgMatches, Args, Command, FromArgMatches as _};
use kato_loader::registry::{DatasetEntry, Registry};
use kato_loader::{
    CorpusIdentity, Format, OnBadRecord, Order, StreamingDatasetLoader,
    StreamingDatasetLoaderBuilder,
};

pub(crate) use name::{Place, Source, is_stdin, shown};
pub(crate) use values::{
    CompressionOf, Exhausted, FormatOf, OnBad, QuotingOf, SampleOf, ShardOf, Unit,
};

use crate::byte_size::ByteSize;
use crate::exit::bail_as;
use crate::machine;
use crate::patience::patiently;
use crate::remote::{self, Fetcher, Location};
use crate::{overwriting, settings, unused};

/// The forms of a SOURCE, for the help of the commands.
pub(crate) const SOURCE_HELP: &str = "\
Sources: a file, a directory, a glob, or `-` for standard input; hf://DATASET[/CONFIG][@REVISION][:SPLIT]; https://…, s3://…, \
gs://…, az://…; or the key of a dataset that `kato datasets list` shows. With weights, as in `0.7*c4 0.3*wikitext`, the sources are \
mixed; a glob that begins with a number is written with ./ in front.

Environment: HF_ENDPOINT, HF_TOKEN and HF_HOME for the Hub, AWS_*, GOOGLE_* and AZURE_* for the stores, KATO_DATASETS for a \
registry of your own.";

/// How sources are read.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Reading")]
pub(crate) struct SourceArgs {
    /// Field of JSON Lines, CSV and Parquet records that holds the text; a dotted path for nested
    /// JSON. Default: that of the registry, else `text`.
    #[arg(long, value_name = "NAME")]
    field: Option<String>,
    /// Field that holds a document's id. Default: the id is made of the file and the record's place
    /// in it.
    #[arg(long, value_name = "NAME")]
    id_field: Option<String>,
    /// What the files are, whatever they are called. Default: by their names, or else by their
    /// first bytes, which tell JSON Lines, Parquet and plain text.
    #[arg(long, value_name = "FORMAT", value_enum)]
    format: Option<FormatOf>,
    /// How the files are compressed, whatever they are called.
    #[arg(long, value_name = "KIND", value_enum)]
    compression: Option<CompressionOf>,
    /// Whether fields of CSV and TSV may be quoted. Default: those of CSV may, those of TSV may not.
    #[arg(long, value_name = "HOW", value_enum)]
    quoting: Option<QuotingOf>,
    /// Memory that a decompressor may hold: `zstd --long=31` needs 2GiB.
    #[arg(long, value_name = "SIZE", default_value = "128MiB")]
    max_window: ByteSize,
    /// Allow sources without text, which mostly are an error otherwise; `kato datasets info` and `stats`
    /// take them.
    #[arg(long)]
    allow_empty: bool,
    /// What is one document in a plain text file.
    #[arg(long, value_name = "UNIT", value_enum, default_value_t = Unit::File)]
    text_unit: Unit,
    /// Leave out and count records whose text, without white space around it, is not longer than this many
    /// characters.
    #[arg(long, value_name = "N", default_value_t = 0)]
    min_chars: u64,
    /// Read in a random order that this number decides. Default: in the order of the files, except
    /// where the command draws documents.
    #[arg(long, value_name = "SEED")]
    shuffle: Option<u64>,
    /// Pass over the corpus, from 0: every one has a random order of its own.
    #[arg(long, value_name = "N")]
    epoch: Option<u64>,
    /// Text that is shuffled together. Default: 64MiB; less for estimates and samples.
    #[arg(long, value_name = "SIZE")]
    window: Option<ByteSize>,
    /// Read one of N parts that together hold every record once: 0/N, 1/N, … up to N-1/N.
    #[arg(long, value_name = "I/N")]
    shard: Option<ShardOf>,
    /// Read a random share of the records: 0.01, or 0.01:SEED for another draw.
    #[arg(long, value_name = "SHARE")]
    sample: Option<SampleOf>,
    /// Pass over this many rows at the beginning; of one part of N, at the beginning of that part.
    #[arg(long, value_name = "N", default_value_t = 0)]
    skip: u64,
    /// End after this many rows, whether or not they become documents; those that are passed over at the
    /// beginning do not count.
    #[arg(long, value_name = "N")]
    max_rows: Option<u64>,
    /// Decides from which source of a mixture each record comes.
    #[arg(long, value_name = "SEED", default_value_t = 0)]
    mixing_seed: u64,
    /// What a mixture does when one of its sources ends.
    #[arg(long, value_name = "POLICY", value_enum, default_value_t = Exhausted::Continue)]
    when_exhausted: Exhausted,
    /// What happens to a record that cannot be read. Default: fail; skip for `kato datasets stats`
    /// and with `kato train --skip-errors`.
    #[arg(long, value_name = "POLICY", value_enum)]
    on_bad: Option<OnBad>,
    /// Threads that fetch and decode ahead; 0 reads without. Default: what suits the command and the
    /// source.
    #[arg(long, value_name = "N", value_parser = machine::parse_threads_or_none)]
    loader_workers: Option<usize>,
    /// TOML file with datasets of your own, by their keys. Default: the one that KATO_DATASETS
    /// names.
    #[arg(long, value_name = "FILE")]
    registry: Option<PathBuf>,
    /// Keep what is fetched in this directory.
    #[arg(long, value_name = "DIR")]
    cache: Option<PathBuf>,
    /// Bytes that the cache may take.
    #[arg(long, value_name = "SIZE", default_value = "10GiB", requires = "cache")]
    cache_size: ByteSize,
}

/// Hides all but a few of these options in the help of a command whose plan says what is read and how.
#[cfg(feature = "cluster")]
pub(crate) fn hide_how_to_read(command: Command) -> Command {
    // The plan keeps what a file holds, and not whether it may be read.
    const TAKEN: [&str; 6] = [
        "max_window",
        "allow_empty",
        "loader_workers",
        "registry",
        "cache",
        "cache_size",
    ];
    let all = SourceArgs::augment_args(Command::new("source"));
    let arguments = all
        .get_arguments()
        .map(|argument| argument.get_id().as_str());
    let refused = arguments.filter(|id| !TAKEN.contains(id));
    refused.fold(command, |command, id| {
        command.mut_arg(id, |argument| argument.hide(true))
    })
}

/// Hides the options that the plan of a cluster refuses: it is of a whole corpus, and of records that can be read.
#[cfg(feature = "cluster")]
pub(crate) fn hide_refused_by_plan(command: Command) -> Command {
    const REFUSED: [&str; 3] = ["shard", "skip", "on_bad"];
    REFUSED.iter().fold(command, |command, id| {
        command.mut_arg(id, |argument| argument.hide(true))
    })
}

/// Refuses the options that say how records are read, which of them and in which order, in a command that reads
/// none.
pub(crate) fn refuse_order(command: Command) -> Command {
    const REFUSED: [&str; 16] = [
        "id_field",
        "quoting",
        "max_window",
        "text_unit",
        "min_chars",
        "shuffle",
        "epoch",
        "window",
        "shard",
        "sample",
        "skip",
        "max_rows",
        "mixing_seed",
        "when_exhausted",
        "on_bad",
        "loader_workers",
    ];
    let command = command.mut_arg("sources", |sources| sources.conflicts_with_all(REFUSED));
    REFUSED.iter().fold(command, |command, id| {
        command.mut_arg(id, |argument| argument.hide(true))
    })
}

/// Returns the options of reading that a command line has, for a command that reads the same.
pub(crate) fn given_flags(matches: &ArgMatches) -> Vec<String> {
    let source = SourceArgs::augment_args(Command::new("source"));
    let given = source
        .get_arguments()
        .filter(|argument| unused::is_given(matches, argument.get_id().as_str()));
    let mut flags = Vec::new();
    for argument in given {
        flags.extend(argument.get_long().map(|long| format!("--{long}")));
        if argument.get_action().takes_values() {
            let values = matches.get_raw(argument.get_id().as_str());
            let texts = values.into_iter().flatten();
            flags.extend(texts.map(|value| value.to_string_lossy().into_owned()));
        }
    }
    flags
}

/// Sources that were recognised, with what is needed to read them.
#[derive(Debug)]
pub(crate) struct Sources {
    args: SourceArgs,
    sources: Vec<Source>,
    fetcher: Option<Fetcher>,
}

/// Reads the registry: the built-in datasets and those of the user, from `file` or else from the
/// file that `KATO_DATASETS` names.
///
/// # Errors
///
/// When the user's file cannot be read.
pub(crate) fn registry(file: Option<&Path>) -> Result<Registry> {
    let mut registry = Registry::builtin();
    let by_environment = || {
        let path = env::var_os("KATO_DATASETS").filter(|path| !path.is_empty());
        path.map(PathBuf::from)
    };
    if let Some(path) = file.map(Path::to_owned).or_else(by_environment) {
        let named = if file.is_some() {
            "--registry"
        } else {
            "KATO_DATASETS"
        };
        registry.read_toml(path).context(named)?;
    }
    Ok(registry)
}

impl SourceArgs {
    /// Creates the arguments by which a file of this program's own making is read: none.
    pub(crate) fn of_own_file() -> Self {
        let matches = Self::augment_args(Command::new("kato")).get_matches_from(["kato"]);
        Self::from_arg_matches(&matches).expect("every argument has a default")
    }

    /// Sets a random order where the user did not choose one, in windows of one block, which read
    /// the least.
    pub(crate) fn shuffle_by(&mut self, seed: u64) {
        self.shuffle.get_or_insert(seed);
        // A window holds at least one block, however small it is asked to be.
        self.window.get_or_insert(ByteSize(1));
    }

    /// Sets a random order where the user did not choose one, so that the first documents are a
    /// random draw of all.
    pub(crate) fn draw_by(&mut self, seed: u64) {
        self.shuffle.get_or_insert(seed);
    }

    /// Sets a random order as [`draw_by`](Self::draw_by), of windows that take little memory: where
    /// mostly all is read, the order counts for little.
    pub(crate) fn draw_in_little_memory(&mut self, seed: u64) {
        self.draw_by(seed);
        self.window.get_or_insert(ByteSize(16 << 20));
    }

    /// Sets that records that cannot be read are skipped, unless the user said otherwise.
    pub(crate) fn skip_bad(&mut self) {
        self.on_bad.get_or_insert(OnBad::Skip);
    }

    /// Allows sources without a document, where that is what is to be told.
    pub(crate) fn allow_nothing(&mut self) {
        self.allow_empty = true;
    }

    /// Returns whether records that cannot be read are skipped.
    #[must_use]
    pub(crate) fn skips_bad(&self) -> bool {
        self.on_bad.is_some_and(|policy| policy != OnBad::Fail)
    }

    /// Returns whether less than the whole of the sources may be read.
    #[must_use]
    pub(crate) fn reads_a_part(&self) -> bool {
        self.shard.is_some()
            || self.sample.is_some()
            || self.max_rows.is_some()
            || self.skip > 0
            || self.min_chars > 0
    }

    /// Returns whether anything is set that decides which records there are, or what they hold.
    #[must_use]
    #[cfg(feature = "cluster")]
    pub(crate) fn says_how_to_read(&self) -> bool {
        self.reads_a_part() || self.how_to_read().next().is_some()
    }

    /// Returns the flags that are given of how the records of a dataset are found and ordered.
    fn how_to_read(&self) -> impl Iterator<Item = &'static str> {
        let flags = [
            (self.field.is_some(), "field"),
            (self.id_field.is_some(), "id-field"),
            (self.text_unit != Unit::File, "text-unit"),
            (self.format.is_some(), "format"),
            (self.compression.is_some(), "compression"),
            (self.quoting.is_some(), "quoting"),
            (self.min_chars > 0, "min-chars"),
            (self.shuffle.is_some(), "shuffle"),
            (self.epoch.is_some(), "epoch"),
            (self.window.is_some(), "window"),
            (self.sample.is_some(), "sample"),
            (self.mixing_seed != 0, "mixing-seed"),
            (self.when_exhausted != Exhausted::Continue, "when-exhausted"),
        ];
        let given = flags.into_iter().filter(|(is_given, _)| *is_given);
        given.map(|(_, flag)| flag)
    }

    /// Refuses options that no file of a corpus has a use for.
    ///
    /// # Errors
    ///
    /// A wrong usage.
    pub(crate) fn check_used(&self, corpus: &StreamingDatasetLoader) -> Result<()> {
        use Format::{Csv, JsonLines, Parquet, Text, Tsv};
        let records = [JsonLines, Csv, Tsv, Parquet].as_slice();
        let of_fields = "it is for records with fields, and all that is read is plain text";
        for (is_given, flag, formats, why) in [
            (self.field.is_some(), "field", records, of_fields),
            (self.id_field.is_some(), "id-field", records, of_fields),
            (
                self.quoting.is_some(),
                "quoting",
                &[Csv, Tsv],
                "it is for CSV and TSV, and nothing of it is read",
            ),
            (
                self.text_unit != Unit::File,
                "text-unit",
                &[Text],
                "it is for plain text, and nothing of it is read",
            ),
        ] {
            if is_given && !formats.iter().any(|&format| corpus.may_hold(format)) {
                unused::refuse(flag, why)?;
            }
        }
        Ok(())
    }

    /// Turns reading ahead off unless the user said otherwise, which is right where a few documents
    /// are wanted.
    pub(crate) fn read_little(&mut self) {
        self.loader_workers.get_or_insert(0);
    }

    /// Recognises sources, and opens none yet.
    ///
    /// # Errors
    ///
    /// When one is neither there nor known, when some have weights and others none, and when the
    /// cache cannot be opened.
    pub(crate) fn resolve(&self, sources: &[PathBuf]) -> Result<Sources> {
        let registry = registry(self.registry.as_deref())?;
        let sources: Vec<Source> = sources
            .iter()
            .map(|source| Source::parse(source, &registry))
            .collect::<Result<_>>()?;
        let weighted = sources.iter().filter(|source| source.weight.is_some());
        if !matches!(weighted.count(), n if n == 0 || n == sources.len()) {
            bail_as!(
                Usage,
                "some sources have weights and others none: give one to each, as in `0.7*c4 0.3*wikitext`"
            );
        }
        if !sources.iter().any(|source| source.weight.is_some()) {
            let options = [
                (self.mixing_seed != 0, "mixing-seed"),
                (self.when_exhausted != Exhausted::Continue, "when-exhausted"),
            ];
            for (_, flag) in options.into_iter().filter(|(is_given, _)| *is_given) {
                unused::refuse(
                    flag,
                    "it is for a mixture, whose sources have weights, as in `0.7*c4 0.3*wikitext`",
                )?;
            }
        }
        let mut resolved = Sources {
            args: self.clone(),
            sources,
            fetcher: None,
        };
        resolved.check_fields()?;
        let is_remote = resolved.sources.iter().any(Source::is_remote);
        resolved.fetcher = self.fetcher(is_remote)?;
        Ok(resolved)
    }

    /// Returns a builder that reads a corpus again: its very files, at the revisions that they had,
    /// with its options. It finds out where others are given.
    ///
    /// # Errors
    ///
    /// When nothing can be fetched with what the environment says, and when an option is given that a mixture does not
    /// take.
    pub(crate) fn again(&self, corpus: &CorpusIdentity) -> Result<StreamingDatasetLoaderBuilder> {
        let mut builder = StreamingDatasetLoader::builder_of(corpus);
        if !corpus.is_mixture() {
            builder = self.apply_to_dataset(builder);
        } else if let Some(flag) = self.how_to_read().next() {
            unused::refuse(
                flag,
                "without SOURCE every dataset of the mixture is read as it was",
            )?;
        }
        if let Some(fetcher) = self.fetcher_for(corpus)? {
            builder = remote::with_fetcher(builder, &fetcher);
        }
        Ok(self.apply_to_stream(builder))
    }

    /// Returns a fetcher where files of a corpus have to be fetched.
    ///
    /// # Errors
    ///
    /// As [`again`](Self::again).
    pub(crate) fn fetcher_for(&self, corpus: &CorpusIdentity) -> Result<Option<Fetcher>> {
        let files = corpus.files();
        // The files of a corpus are named by the locations that they were fetched from.
        self.fetcher(files.iter().any(|file| Location::is_location(&file.name)))
    }

    /// Returns a fetcher where one is needed, with a cache where that is asked for.
    fn fetcher(&self, is_needed: bool) -> Result<Option<Fetcher>> {
        let cache = self.cache.as_deref();
        // Only where it is needed: a build without the feature `remote` has no fetcher.
        if is_needed {
            let cache = cache.map(|folder| (folder, self.cache_size.0));
            return remote::fetcher(cache).map(Some);
        }
        // A settings file has it for what will be fetched, and nobody misses it elsewhere.
        if cache.is_some() && !settings::has("cache") {
            unused::refuse(
                "cache",
                "it keeps what is fetched, and all that is read is on this machine",
            )?;
        }
        Ok(None)
    }

    /// Returns the order in which records are read.
    fn order(&self) -> Order {
        let Some(seed) = self.shuffle else {
            return Order::Sequential;
        };
        let order = Order::shuffled(seed).with_epoch(self.epoch.unwrap_or(0));
        match self.window {
            Some(window) => order.with_window_bytes(window.0),
            None => order,
        }
    }

    /// Sets what decides the records of one dataset.
    fn apply_to_dataset(
        &self,
        mut builder: StreamingDatasetLoaderBuilder,
    ) -> StreamingDatasetLoaderBuilder {
        builder = self.apply_to_reading(builder);
        if let Some(format) = self.format {
            builder = builder.with_format(format.into());
        }
        if let Some(compression) = self.compression {
            builder = builder.with_compression(compression.into());
        }
        if let Some(quoting) = self.quoting {
            builder = builder.with_quoting(quoting.into());
        }
        // Only what is given: a corpus that is read again has options of its own.
        if self.text_unit != Unit::File {
            builder = builder.with_text_unit(self.text_unit.into());
        }
        if self.min_chars > 0 {
            builder = builder.with_min_chars(self.min_chars);
        }
        if self.shuffle.is_some() {
            builder = builder.with_order(self.order());
        }
        if let Some(field) = &self.field {
            builder = builder.with_text_field(field);
        }
        if let Some(field) = &self.id_field {
            builder = builder.with_id_field(field);
        }
        if let Some(sample) = self.sample {
            builder = builder.with_sample(sample.0);
        }
        builder
    }

    /// Sets what decides whether a dataset can be read, and not what it holds.
    pub(crate) fn apply_to_reading(
        &self,
        builder: StreamingDatasetLoaderBuilder,
    ) -> StreamingDatasetLoaderBuilder {
        let builder = builder.with_max_window_bytes(self.max_window.0);
        match self.allow_empty {
            true => builder.allow_empty(),
            false => builder,
        }
    }

    /// Sets what concerns the stream as a whole.
    fn apply_to_stream(
        &self,
        mut builder: StreamingDatasetLoaderBuilder,
    ) -> StreamingDatasetLoaderBuilder {
        builder = self
            .apply_to_reading(builder)
            .with_skip_records(self.skip)
            .on_bad_record(self.on_bad.map_or(OnBadRecord::Fail, OnBadRecord::from));
        if let Some(rows) = self.max_rows {
            builder = builder.with_max_records(rows);
        }
        if let Some(shard) = self.shard {
            builder = builder.with_shard(shard.0);
        }
        if let Some(workers) = self.loader_workers {
            builder = builder.with_workers(workers);
        }
        builder
    }
}

impl Sources {
    /// Returns the sources in the order in which they were given.
    #[must_use]
    pub(crate) fn sources(&self) -> &[Source] {
        &self.sources
    }

    /// Returns the fetcher of remote files; `None` when all sources are local.
    #[must_use]
    pub(crate) fn fetcher(&self) -> Option<&Fetcher> {
        self.fetcher.as_ref()
    }

    /// Returns the number of rows after which reading ends.
    #[must_use]
    pub(crate) fn max_rows(&self) -> Option<u64> {
        self.args.max_rows
    }

    /// Returns the field that is read as text.
    #[must_use]
    pub(crate) fn text_field(&self) -> &str {
        let by_registry = self.entries().next().map(|entry| &entry.text_field);
        let field = self.args.field.as_ref().or(by_registry);
        field.map_or("text", String::as_str)
    }

    /// Returns the number of rows by the registry, if it has one for every source.
    #[must_use]
    pub(crate) fn rows_by_registry(&self) -> Option<u64> {
        let rows = self.sources.iter().map(|source| source.entry()?.rows);
        rows.sum()
    }

    /// Returns a loader that reads all sources.
    ///
    /// # Errors
    ///
    /// As [`open`](Self::open).
    pub(crate) fn loader(&self) -> Result<StreamingDatasetLoader> {
        patiently("waiting for the sources to be opened", || {
            self.open(self.builder())
        })
    }

    /// Opens what a [builder](Self::builder) reads.
    ///
    /// # Errors
    ///
    /// When a source cannot be listed or opened, and when an option has no effect on any.
    pub(crate) fn open(
        &self,
        builder: StreamingDatasetLoaderBuilder,
    ) -> Result<StreamingDatasetLoader> {
        let loader = builder.build()?;
        self.args.check_used(&loader)?;
        overwriting::refuse_files_of(&loader)?;
        Ok(loader)
    }

    /// Returns the builder of a loader that reads all sources.
    #[must_use]
    pub(crate) fn builder(&self) -> StreamingDatasetLoaderBuilder {
        let empty = StreamingDatasetLoader::builder;
        // One weight is enough to see: `resolve` refuses sources of which only some have one.
        let is_mixed = self.sources.iter().any(|source| source.weight.is_some());
        let mut builder = if is_mixed {
            let mixing = empty()
                .with_mixing_seed(self.args.mixing_seed)
                .when_exhausted(self.args.when_exhausted.into());
            self.sources.iter().fold(mixing, |mixing, source| {
                // The options come after the source, so that a field that the user names counts
                // more than that of the registry.
                let dataset = self.args.apply_to_dataset(source.add_to(empty()));
                mixing.with_mixed(source.weight.unwrap_or(1.0), dataset)
            })
        } else {
            let all = self.sources.iter();
            self.args
                .apply_to_dataset(all.fold(empty(), |builder, source| source.add_to(builder)))
        };
        if let Some(fetcher) = &self.fetcher {
            builder = remote::with_fetcher(builder, fetcher);
        }
        // On the mixture: limits and shards count records of the whole stream, and a dataset of a
        // mixture refuses them.
        self.args.apply_to_stream(builder)
    }

    /// Returns the entries of the registry among the sources.
    fn entries(&self) -> impl Iterator<Item = &DatasetEntry> {
        self.sources.iter().filter_map(Source::entry)
    }

    /// Refuses sources with different fields that are not mixed, because one stream has one text
    /// field, and one id field.
    fn check_fields(&self) -> Result<()> {
        if self.sources.iter().any(|source| source.weight.is_some()) {
            return Ok(());
        }
        let field_of = |source: &Source| {
            let entry = source.entry();
            entry.map_or("text".to_owned(), |entry| entry.text_field.clone())
        };
        let fields: Vec<String> = self.sources.iter().map(field_of).collect();
        if self.args.field.is_none()
            && let [first, rest @ ..] = fields.as_slice()
            && let Some(other) = rest.iter().find(|field| *field != first)
        {
            bail_as!(
                Usage,
                "the sources differ in the field that holds the text, `{first}` and `{other}`: name it with --field, or mix them \
                 with weights, as in `0.5*c4 0.5*refinedweb`"
            );
        }
        // Of files nobody has said that they have none.
        let mut entries = self.entries();
        if self.args.id_field.is_none()
            && let Some(first) = entries.next()
            && let Some(other) = entries.find(|entry| entry.id_field != first.id_field)
        {
            let told = |entry: &DatasetEntry| match &entry.id_field {
                Some(field) => format!("`{field}` of {}", entry.key),
                None => format!("none of {}", entry.key),
            };
            bail_as!(
                Usage,
                "the sources differ in the field that holds a document's id, {} and {}: name it with --id-field, or mix them \
                 with weights, as in `0.5*c4 0.5*refinedweb`",
                told(first),
                told(other)
            );
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Debug, Parser)]
    struct Program {
        sources: Vec<PathBuf>,
        #[command(flatten)]
        args: SourceArgs,
    }

    #[cfg(feature = "cluster")]
    #[test]
    fn help_of_a_command_that_follows_a_plan_has_only_what_it_takes() {
        let program = crate::program::command();
        let cluster = program.find_subcommand("cluster").unwrap();
        for (name, reads) in [("plan", true), ("learn", false), ("extend", false)] {
            let command = cluster.find_subcommand(name).unwrap();
            let shown = command
                .get_arguments()
                .filter(|argument| !argument.is_hide_set());
            let shown: Vec<&str> = shown.filter_map(clap::Arg::get_long).collect();
            for flag in ["cache", "loader-workers", "max-window", "allow-empty"] {
                assert!(shown.contains(&flag), "{name} --{flag}");
            }
            for flag in ["field", "format", "shuffle", "max-rows"] {
                assert_eq!(shown.contains(&flag), reads, "{name} --{flag}");
            }
            // A plan is of a whole corpus.
            for flag in ["shard", "skip", "on-bad"] {
                assert!(!shown.contains(&flag), "{name} --{flag}");
            }
        }
    }

    #[cfg(feature = "remote")]
    fn resolve(line: &str) -> Result<Sources> {
        let program = Program::try_parse_from(["program"].into_iter().chain(line.split(' ')))?;
        program.args.resolve(&program.sources)
    }

    #[cfg(feature = "remote")]
    #[test]
    fn weights_are_for_all_sources_or_for_none() {
        let mixed = resolve("0.7*c4 0.3*refinedweb").unwrap();
        let weights: Vec<_> = mixed.sources().iter().map(|source| source.weight).collect();
        assert_eq!(weights, [Some(0.7), Some(0.3)]);
        let error = resolve("0.7*c4 wikitext").unwrap_err();
        assert!(error.to_string().contains("give one to each"), "{error}");
    }

    #[cfg(feature = "remote")]
    #[test]
    fn sources_without_weights_share_one_text_field() {
        assert_eq!(resolve("c4 wikitext").unwrap().text_field(), "text");
        let error = resolve("c4 refinedweb").unwrap_err();
        assert!(
            error.to_string().contains("`text` and `content`"),
            "{error}"
        );
        let sources = resolve("c4 refinedweb --field body").unwrap();
        assert_eq!(sources.text_field(), "body");
        assert_eq!(sources.rows_by_registry(), Some(364_868_892 + 968_000_015));
    }

    #[cfg(feature = "remote")]
    #[test]
    fn sources_without_weights_share_one_id_field() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("datasets.toml");
        let entry = |key: &str, rest: &str| {
            format!("[[dataset]]\nkey = \"{key}\"\nsource = \"{key}.jsonl\"\n{rest}\n")
        };
        let entries = [
            entry("plain", ""),
            entry("letters", "id_field = \"letter\""),
            entry("notes", "id_field = \"note\""),
        ];
        std::fs::write(&file, entries.concat()).unwrap();
        let resolve = |sources: &str| resolve(&format!("{sources} --registry {}", file.display()));
        for (sources, expected) in [
            ("plain letters", "none of plain and `letter` of letters"),
            ("letters plain", "`letter` of letters and none of plain"),
            ("letters notes", "`letter` of letters and `note` of notes"),
        ] {
            let error = resolve(sources).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
            resolve(&format!("{sources} --id-field id")).unwrap();
        }
        resolve("0.5*plain 0.5*letters").unwrap();
    }
}
