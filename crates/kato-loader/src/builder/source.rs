//! What is read: inputs, mixtures of datasets, formats and fields.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::StreamingDatasetLoaderBuilder;
use crate::document::Document;
use crate::inputs::Input;
use crate::interrupt::Awaited;
use crate::mixture::WhenExhausted;
use crate::options::{Compression, Format, Quoting, TextUnit};
use crate::own_records::Records;
#[cfg(feature = "remote")]
use crate::remote;
#[cfg(feature = "stream")]
use crate::stream_documents;

impl StreamingDatasetLoaderBuilder {
    /// Adds a file, a directory, a glob, `-` for standard input, or a remote location.
    ///
    /// With the feature `remote`: `hf://DATASET[/CONFIG][@REVISION][:SPLIT]` for a dataset of the
    /// Hugging Face Hub, `https://…` for one file, `s3://BUCKET/KEY`, `gs://…` and `az://…` for
    /// objects or, ending in `/` or as a glob, for all below a prefix. How they are reached is set
    /// by `with_fetcher`.
    ///
    /// A directory stands for all files below it with a known [`Format`] extension (`.txt`,
    /// `.text`, `.md`, `.markdown`, `.rst`, `.tex`, `.log`, and those of the other formats, each
    /// also with that of a [`Compression`] behind it), sorted by path. With an explicit
    /// format, all files are taken. The others, and empty files, links that lead nowhere, pipes,
    /// directories without permission and what is hidden, as its name begins with a dot, are passed over
    /// and listed by [`ignored_files`](crate::StreamingDatasetLoader::ignored_files); where there are no
    /// files but empty ones, those are taken. With the feature `remote`, a directory that is a clone of a
    /// dataset of the Hub is read as the dataset is there, and only files are listed. A name with
    /// `*`, `?`, `[` or `{` is a glob unless a file or directory has that very name; `**` crosses
    /// directories, and a dot in front of a name matches where the pattern has it.
    #[must_use]
    pub fn with_input(mut self, path: impl AsRef<Path>) -> Self {
        self.inputs.push(Input::Path(path.as_ref().to_owned()));
        self
    }

    /// Adds several inputs, as by [`with_input`](Self::with_input).
    #[must_use]
    pub fn with_inputs<P: Into<PathBuf>>(mut self, paths: impl IntoIterator<Item = P>) -> Self {
        self.inputs
            .extend(paths.into_iter().map(|path| Input::Path(path.into())));
        self
    }

    /// Adds a stream under a name, whose extension decides the format like that of a file.
    ///
    /// A stream is read once; resuming reads a new one from its beginning and skips what was
    /// read before. To a [probe](kato_probe::Probe) the time in its `read` is that of a stage
    /// without input.
    #[must_use]
    pub fn with_reader(
        mut self,
        name: impl Into<String>,
        reader: impl Read + Send + 'static,
    ) -> Self {
        self.inputs
            .push(Input::Reader(name.into(), Box::new(Awaited(reader))));
        self
    }

    /// Adds documents that a program makes itself, under a name: anything that iterates over texts, or over
    /// names and texts.
    ///
    /// ```
    /// use kato_loader::StreamingDatasetLoader;
    ///
    /// let letters = (1..=3).map(|number| (format!("letter {number}"), "dear reader".repeat(number)));
    /// let loader = StreamingDatasetLoader::builder().with_documents("letters", letters).build()?;
    /// let ids: Result<Vec<_>, _> = loader.map(|document| Ok(document?.id.to_string())).collect();
    /// assert_eq!(ids?, ["letter 1", "letter 2", "letter 3"]);
    /// # Ok::<(), kato_loader::LoadError>(())
    /// ```
    ///
    /// They are read once, on a thread that may block; resuming takes a new iterator of the same documents
    /// from its beginning, and passes over what was read before. What can be read from any record on
    /// is better given as [`Records`].
    #[must_use]
    pub fn with_documents<I>(mut self, name: impl Into<String>, documents: I) -> Self
    where
        I: IntoIterator<Item: Into<Document> + 'static>,
        I::IntoIter: Send + 'static,
    {
        let documents = documents.into_iter().map(|document| Ok(document.into()));
        self.inputs
            .push(Input::Documents(name.into(), Box::new(documents)));
        self
    }

    /// Adds the documents of an async stream, under a name, as [`with_documents`](Self::with_documents) does
    /// those of an iterator.
    ///
    /// The thread that reads waits for the stream: any runtime may feed it, and none is needed. What the
    /// stream itself needs a runtime for, such as a timer, is made where that runs.
    #[cfg(feature = "stream")]
    #[must_use]
    pub fn with_stream<S>(mut self, name: impl Into<String>, documents: S) -> Self
    where
        S: futures_core::Stream<Item: Into<Document>> + Send + 'static,
    {
        let documents = stream_documents::IntoDocuments(Box::pin(documents));
        self.inputs
            .push(Input::Stream(name.into(), Box::pin(documents)));
        self
    }

    /// Adds the rows of Arrow record batches, under a name, as [`with_documents`](Self::with_documents) does
    /// the documents of an iterator. [`with_text_field`](Self::with_text_field) names the column of the
    /// text, [`with_id_field`](Self::with_id_field) that of the name.
    ///
    /// A row whose text is null is passed over and counted. A batch without the column is a bad record,
    /// and the last that is read.
    #[cfg(feature = "arrow")]
    #[must_use]
    pub fn with_record_batches<I>(mut self, name: impl Into<String>, batches: I) -> Self
    where
        I: IntoIterator<Item = arrow_array::RecordBatch>,
        I::IntoIter: Send + 'static,
    {
        self.inputs
            .push(Input::Batches(name.into(), Box::new(batches.into_iter())));
        self
    }

    /// Adds a source of one's own, under a name, which is read as a file is: in any order, in shards, by
    /// several threads, from any record on.
    #[must_use]
    pub fn with_records(
        mut self,
        name: impl Into<String>,
        records: impl Records + 'static,
    ) -> Self {
        self.inputs
            .push(Input::Records(name.into(), Arc::new(records)));
        self
    }

    /// Mixes in another dataset with a weight, instead of reading inputs of its own.
    ///
    /// Records are drawn from the datasets at random by weight: a function of
    /// [`with_mixing_seed`](Self::with_mixing_seed) and of the record's number in the mixture. A
    /// dataset brings what decides its records: inputs, format, fields, order, sample, minimum and
    /// filter. What concerns the stream as a whole is set on this builder.
    ///
    /// # Examples
    ///
    /// ```
    /// use kato_loader::{StreamingDatasetLoader, TextUnit};
    ///
    /// let dataset = |name: &str, word: &str| {
    ///     StreamingDatasetLoader::builder()
    ///         .with_reader(name, std::io::Cursor::new(format!("{word}\n").repeat(1000)))
    ///         .with_text_unit(TextUnit::Line)
    /// };
    /// let loader = StreamingDatasetLoader::builder()
    ///     .with_mixed(0.9, dataset("prose.txt", "prose"))
    ///     .with_mixed(0.1, dataset("code.txt", "code"))
    ///     .with_mixing_seed(7)
    ///     .with_max_documents(1000)
    ///     .build()?;
    /// let code = loader.filter(|document| document.as_ref().is_ok_and(|document| document.text == "code"));
    /// assert_eq!(code.count(), 112);
    /// # Ok::<(), kato_loader::LoadError>(())
    /// ```
    #[must_use]
    pub fn with_mixed(mut self, weight: f64, dataset: Self) -> Self {
        self.mixed.push((weight, dataset));
        self
    }

    /// Sets the seed that decides from which dataset of a mixture each record comes. Default: 0.
    #[must_use]
    pub fn with_mixing_seed(mut self, seed: u64) -> Self {
        self.mixing.seed = seed;
        self
    }

    /// Sets what a mixture does when one of its datasets ends. Default:
    /// [`WhenExhausted::Continue`].
    #[must_use]
    pub fn when_exhausted(mut self, policy: WhenExhausted) -> Self {
        self.mixing.when_exhausted = policy;
        self
    }

    /// Sets how remote inputs are reached: endpoint, token, retries, timeouts, cache. Default:
    /// public access without a cache.
    #[cfg(feature = "remote")]
    #[must_use]
    pub fn with_fetcher(mut self, fetcher: kato_fetch::Fetcher) -> Self {
        self.remote = remote::Access::with_fetcher(fetcher);
        self
    }

    /// Reads all inputs in one format, whatever their names and whatever text they look like; what by its
    /// first bytes is no text, or not the Parquet that it is to be, is refused. Default: as [`Format`]
    /// says.
    #[must_use]
    pub fn with_format(mut self, format: Format) -> Self {
        self.selection.format = Some(format);
        self
    }

    /// Decompresses all inputs in one way, whatever their names. Default: by extension, and by first
    /// bytes where a name says nothing.
    #[must_use]
    pub fn with_compression(mut self, compression: Compression) -> Self {
        self.selection.compression = Some(compression);
        self
    }

    /// Sets whether fields of tables may be quoted. Default: those of comma-separated values may,
    /// those of tab-separated values may not.
    #[must_use]
    pub fn with_quoting(mut self, quoting: Quoting) -> Self {
        self.selection.quoting = Some(quoting);
        self
    }

    /// Sets the largest window that a decompressor may hold, in bytes. Default: 128 MiB.
    ///
    /// A file that needs a larger one is refused: `zstd --ultra --long=31` asks for 2 GiB. Each thread that
    /// decompresses holds one window.
    #[must_use]
    pub fn with_max_window_bytes(mut self, bytes: u64) -> Self {
        self.selection.max_window_bytes = bytes;
        self
    }

    /// Sets what one document is in plain text. Default: the whole file.
    #[must_use]
    pub fn with_text_unit(mut self, unit: TextUnit) -> Self {
        self.selection.text_unit = unit;
        self
    }

    /// Sets the field or column that holds the text. Default: `text`.
    ///
    /// In JSON and Parquet, dots lead into nested objects and structs; a JSON key or CSV column
    /// that itself contains the dots is found too.
    #[must_use]
    pub fn with_text_field(mut self, field: impl Into<String>) -> Self {
        self.selection.text_field = field.into();
        self.text_fields = None;
        self
    }

    /// Sets the field or column, of text or integers, that names the documents. Default: none, and
    /// documents are named by their places: `path#record`, or `path@byte` where lines are not counted
    /// (see [`DocumentId`](crate::DocumentId)).
    ///
    /// Plain text has no fields and keeps those names. A record without the field, or with nothing in it, is
    /// bad.
    #[must_use]
    pub fn with_id_field(mut self, field: impl Into<String>) -> Self {
        self.selection.id_field = Some(field.into());
        self.id_fields = None;
        self
    }
}
