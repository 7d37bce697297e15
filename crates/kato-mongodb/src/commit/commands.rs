//! Commands of upserts, each no larger than servers take.

use mongodb::bson::RawDocumentBuf;

use crate::layout::{BsonWriter, DOCUMENT_LIMIT};

/// Upserts into a collection, cut into commands: a document that is written whole may fill one alone.
pub(super) struct Commands {
    collection: &'static str,
    durable: bool,
    upserts: Vec<RawDocumentBuf>,
    bytes: u64,
    finished: Vec<Command>,
}

/// A command, with the number of its upserts.
pub(super) struct Command {
    pub(super) n_upserts: usize,
    pub(super) body: RawDocumentBuf,
}

impl Commands {
    pub(super) fn new(collection: &'static str, durable: bool) -> Self {
        Self {
            collection,
            durable,
            upserts: Vec::new(),
            bytes: 0,
            finished: Vec::new(),
        }
    }

    /// Adds an upsert.
    pub(super) fn push(&mut self, upsert: BsonWriter) {
        let upsert = upsert.finish();
        let bytes = upsert.as_bytes().len() as u64;
        if self.bytes + bytes > DOCUMENT_LIMIT {
            self.cut();
        }
        self.bytes += bytes;
        self.upserts.push(upsert);
    }

    /// Returns the commands in the order of their upserts.
    pub(super) fn finish(mut self) -> Vec<Command> {
        self.cut();
        self.finished
    }

    /// Makes a command of the upserts so far.
    fn cut(&mut self) {
        let upserts = std::mem::take(&mut self.upserts);
        self.bytes = 0;
        if upserts.is_empty() {
            return;
        }
        let mut out = BsonWriter::new();
        out.text("update", self.collection);
        out.array("updates", |out| {
            for (idx, upsert) in upserts.iter().enumerate() {
                out.raw_document_at(idx, upsert);
            }
        });
        // Unordered, so that the server goes on behind a write that fails. Every change has a
        // document of its own, so the order does not matter.
        out.boolean("ordered", false);
        // In a transaction the concern belongs to the commit; servers refuse it on single commands.
        if self.durable {
            out.document("writeConcern", |out| out.text("w", "majority"));
        }
        self.finished.push(Command {
            n_upserts: upserts.len(),
            body: out.finish(),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_command_is_larger_than_servers_take_and_no_upsert_is_lost() {
        let mut commands = Commands::new("patterns_kb", true);
        for megabytes in [1, 7, 7, 7, 15, 1] {
            let mut upsert = BsonWriter::new();
            upsert.text("u", &"x".repeat(megabytes << 20));
            commands.push(upsert);
        }
        let commands = commands.finish();
        let n_upserts: Vec<usize> = commands.iter().map(|it| it.n_upserts).collect();
        assert_eq!(n_upserts, [3, 1, 1, 1]);
        for command in commands {
            assert!(command.body.as_bytes().len() <= 16 << 20);
            let updates = command.body.get_array("updates").unwrap();
            assert_eq!(updates.into_iter().count(), command.n_upserts);
        }
        assert!(Commands::new("patterns_kb", true).finish().is_empty());
    }
}
