//! This project's embedded store.

use std::path::Path;
use std::sync::Arc;

use anyhow::Result;
use kato_model::{LearnBatch, PatternName, SymbolTable};
use kato_store::{EmbeddedStore, PatternStore};
use serde_json::json;

use super::{Engine, Scanned};
use crate::workload::{N_SYMBOLS, N_TOKENS, Name, Record};

/// Whether look-ups and the scan meet one segment or all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compaction {
    /// As training leaves it.
    Never,
    /// Merged as far as it goes.
    BeforeReading,
}

/// A knowledge base with one node.
#[derive(Debug)]
pub struct Segments {
    store: EmbeddedStore,
    vocabulary: Arc<SymbolTable>,
    compaction: Compaction,
}

impl Segments {
    /// A new store.
    pub fn create(dir: &Path, compaction: Compaction) -> Result<Self> {
        let store = EmbeddedStore::create(&dir.join("kb"), &["node0"], json!(null))?;
        let vocabulary = (0..N_TOKENS).map(|id| format!("token{id}")).collect();
        Ok(Self {
            store,
            vocabulary: Arc::new(vocabulary),
            compaction,
        })
    }
}

impl Engine for Segments {
    fn merge(&mut self, records: Vec<Record>, position: u64) -> Result<()> {
        let mut batch = LearnBatch::with_vocabulary(1, Arc::clone(&self.vocabulary));
        for record in &records {
            let symbols: [u32; N_SYMBOLS] = record.symbols.map(u32::from);
            batch.learn_tokens(PatternName::from_bytes(record.name), &symbols);
        }
        drop(records);
        let staged = self.store.stage(batch.seal())?;
        self.store
            .commit(vec![staged], json!({"position": position}))?;
        Ok(())
    }

    fn compact(&mut self) -> Result<()> {
        match self.compaction {
            Compaction::Never => Ok(()),
            Compaction::BeforeReading => Ok(self.store.compact()?),
        }
    }

    fn frequency(&self, name: &Name) -> Result<Option<u64>> {
        let pattern = self.store.pattern(0, &PatternName::from_bytes(*name))?;
        Ok(pattern.map(|pattern| pattern.frequency))
    }

    fn scan(&self) -> Result<Scanned> {
        let mut scanned = Scanned::default();
        for item in self.store.scan_frequencies(0)? {
            let (name, frequency) = item?;
            scanned.push(name.as_bytes(), frequency);
        }
        Ok(scanned)
    }
}
