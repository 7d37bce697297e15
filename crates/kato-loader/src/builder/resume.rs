//! Where the stream goes on, and over which corpus.

use super::StreamingDatasetLoaderBuilder;
use crate::cursor::Cursor;
use crate::error::LoadError;
use crate::identity::CorpusIdentity;
use crate::inputs::Input;
use crate::mixture::Mixture;
use crate::state::LoaderState;

impl StreamingDatasetLoaderBuilder {
    /// Continues behind the last document of an earlier run over the same corpus.
    #[must_use]
    pub fn with_cursor(mut self, cursor: Cursor) -> Self {
        self.resume_from = Some(cursor);
        self
    }

    /// Continues where a stored state was taken, and refuses any other corpus, also the same files
    /// with other options of a [`CorpusIdentity`].
    #[must_use]
    pub fn with_state(mut self, state: LoaderState) -> Self {
        self.resume_from = Some(state.cursor().clone());
        self.expected_state = Some(state);
        self
    }

    /// Refuses to open any corpus but this one, with what differs.
    ///
    /// Worth having beside [`with_cursor`](Self::with_cursor): a position in another corpus may not
    /// exist there, which says less.
    #[must_use]
    pub fn with_identity(mut self, identity: CorpusIdentity) -> Self {
        self.expected = Some(identity);
        self
    }

    /// Reads the files of a corpus first, and those of this builder behind them. Options are this builder's:
    /// where they are those of the corpus, what is read then [extends](CorpusIdentity::extends) it.
    #[must_use]
    pub fn behind(mut self, corpus: &CorpusIdentity) -> Self {
        let files = corpus.files();
        self.inputs.splice(0..0, files.into_iter().map(Input::from));
        self
    }

    /// Refuses a corpus that is not the expected one.
    pub(super) fn check_identity(&self, mixture: &Mixture) -> Result<(), LoadError> {
        // The identity is only worked out where it is compared: it reads from every file.
        if self.expected.is_none() && self.expected_state.is_none() {
            return Ok(());
        }
        let identity = CorpusIdentity::new(&self.selection, mixture);
        let by_identity = self
            .expected
            .iter()
            .flat_map(|expected| expected.diff(&identity));
        let mut differences: Vec<String> = by_identity.collect();
        // The state only knows that something differs; where the identity has named it, that would
        // say the same again.
        if let Some(state) = self
            .expected_state
            .as_ref()
            .filter(|_| differences.is_empty())
        {
            differences = state.diff(&identity);
        }
        match differences.is_empty() {
            true => Ok(()),
            false => Err(LoadError::OtherCorpus { differences }),
        }
    }
}
