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
        self.table.write(folder.join("table.biom"))?;
        let truth = serde_json::to_string_pretty(&self.truth).unwrap_or_default();
        for (name, text) in [
            ("tree.nwk", &self.newick),
            ("metadata.tsv", &self.metadata),
            ("truth.json", &truth),
        ] {
            let path = folder.join(name);
            std::fs::write(&path, text).map_err(RunError::file("write", &path))?;
        }
        Ok(())
    }
}
