//! The files of a community that was made.

use std::path::Path;

use kato_neural::run::RunError;

use super::Synthetic;
use crate::error::MicrobesError;

impl Synthetic {
    /// Writes `table.biom`, `tree.nwk`, `metadata.tsv` and `truth.json` into a folder, which is made.
    ///
    /// # Errors
    ///
    /// When the folder or a file cannot be written.
    pub fn write(&self, folder: &Path) -> Result<(), MicrobesError> {
        std::fs::create_dir_all(folder).map_err(RunError::file("create", folder))?;
        let truth = serde_json::to_string_pretty(&self.truth).unwrap_or_default();
        let write = |name: &str, text: &str| {
            let path = folder.join(name);
            std::fs::write(&path, text).map_err(RunError::file("write", &path))
        };
        // First, as it says whose folder this is, even if the rest is cut off.
        write("truth.json", &truth)?;
        self.table.write(folder.join("table.biom"))?;
        write("tree.nwk", &self.newick)?;
        write("metadata.tsv", &self.metadata)?;
        Ok(())
    }
}
