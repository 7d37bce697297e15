//! From an address to a record.

use std::path::Path as FilePath;
use std::sync::Arc;

use object_store::local::LocalFileSystem;
use object_store::path::Path;
use url::Url;

use crate::ClusterError;
use crate::record::Record;

/// Opens the record at the prefix of a store that an address names.
pub(crate) fn open(address: &str) -> Result<Record, ClusterError> {
    let invalid = |reason: String| ClusterError::Address {
        address: address.to_owned(),
        reason,
    };
    let url = match Url::parse(address) {
        Ok(url) if address.contains("://") => url,
        _ => return directory(FilePath::new(address)),
    };
    match url.scheme() {
        "file" => {
            let path = url.to_file_path();
            directory(&path.map_err(|()| invalid("it names no directory".to_owned()))?)
        }
        #[cfg(feature = "remote")]
        "s3" | "s3a" | "gs" | "az" | "azure" | "abfs" | "abfss" => {
            // One cryptography for the connection and for signing; another that is installed
            // already will do as well.
            let _ = rustls::crypto::ring::default_provider().install_default();
            // Options are text that says something.
            let variables = std::env::vars_os().filter_map(|(name, value)| {
                let (name, value) = (name.into_string().ok()?, value.into_string().ok()?);
                (!value.is_empty()).then_some((name, value))
            });
            let opened = object_store::parse_url_opts(&url, variables);
            let (store, prefix) = opened.map_err(|error| invalid(error.to_string()))?;
            Ok(Record::new(Arc::from(store), prefix))
        }
        scheme => Err(invalid(format!(
            "`{scheme}` is none of file, s3, gs and az, or this build lacks its feature"
        ))),
    }
}

/// Opens a directory, which is made.
fn directory(path: &FilePath) -> Result<Record, ClusterError> {
    std::fs::create_dir_all(path).map_err(ClusterError::io("create", path))?;
    let store = LocalFileSystem::new_with_prefix(path);
    let store = store.map_err(|source| ClusterError::ObjectStore {
        action: "open",
        key: path.display().to_string(),
        source,
    })?;
    let root = path
        .canonicalize()
        .map_err(ClusterError::io("open", path))?;
    // A marker that is there after a power cut names data that is there as well.
    let record = Record::new(Arc::new(store.with_fsync(true)), Path::default());
    Ok(record.with_root(root))
}
