//! Folders of test files, and short ways to read them.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use kato_loader::{
    Document, LoadError, OnBadRecord, StreamingDatasetLoader, StreamingDatasetLoaderBuilder,
    TextUnit,
};

#[cfg(feature = "parquet")]
mod parquet_files;

#[cfg(feature = "parquet")]
pub(crate) use parquet_files::{parquet, parquet_of, strings};

/// A temporary folder.
pub(crate) struct Folder(tempfile::TempDir);

impl Folder {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    pub(crate) fn at(&self, name: &str) -> PathBuf {
        self.path().join(name)
    }

    /// Writes a file, with the directories above it; returns its path.
    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.at(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        path
    }
}

/// A builder that takes corpora of nothing, as tests of what is bad read them.
pub(crate) fn builder() -> StreamingDatasetLoaderBuilder {
    StreamingDatasetLoader::builder().allow_empty()
}

/// A loader of one file, by lines, that lists what is bad.
pub(crate) fn lenient(path: &Path) -> StreamingDatasetLoaderBuilder {
    builder()
        .with_input(path)
        .with_text_unit(TextUnit::Line)
        .on_bad_record(OnBadRecord::Skip)
}

pub(crate) fn documents(builder: StreamingDatasetLoaderBuilder) -> Vec<Document> {
    builder.build().unwrap().collect::<Result<_, _>>().unwrap()
}

pub(crate) fn texts(builder: StreamingDatasetLoaderBuilder) -> Vec<String> {
    documents(builder)
        .into_iter()
        .map(|document| document.text)
        .collect()
}

/// The error that ends a stream.
pub(crate) fn failure(builder: StreamingDatasetLoaderBuilder) -> LoadError {
    builder
        .build()
        .unwrap()
        .find_map(Result::err)
        .expect("the stream ends with an error")
}

/// The documents that could be read, and the ledger in words, without the folder's name.
pub(crate) fn with_ledger(builder: StreamingDatasetLoaderBuilder) -> (Vec<String>, Vec<String>) {
    let mut loader = builder.on_bad_record(OnBadRecord::Skip).build().unwrap();
    let texts = loader
        .by_ref()
        .map(|document| document.unwrap().text)
        .collect();
    let ledger = loader.take_bad_records();
    assert_eq!(loader.counts().bad, ledger.len() as u64);
    let in_words = |record: &kato_loader::BadRecord| {
        let words = record.to_string();
        words
            .rsplit_once('/')
            .map_or(words.clone(), |(_, rest)| rest.to_owned())
    };
    (texts, ledger.iter().map(in_words).collect())
}

pub(crate) fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

pub(crate) fn zstd(bytes: &[u8]) -> Vec<u8> {
    zstd::encode_all(bytes, 3).unwrap()
}

/// The cases of a recorded file: JSON Lines, compressed with zstd.
pub(crate) fn recorded<T: serde::de::DeserializeOwned>(bytes: &[u8]) -> Vec<T> {
    let lines = zstd::decode_all(bytes).unwrap();
    let lines = lines
        .split(|byte| *byte == b'\n')
        .filter(|line| !line.is_empty());
    lines
        .map(|line| serde_json::from_slice(line).unwrap())
        .collect()
}
