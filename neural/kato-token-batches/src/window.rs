//! Windows: consecutive documents as they are read, and the batches that they become.

use std::error::Error;
use std::sync::atomic::{AtomicBool, Ordering};

use kato_loader::{BadRecord, Cursor, Document, LoadError, StreamingDatasetLoader};

use crate::bad_document::BadDocument;
use crate::batch::Collation;
use crate::cut::cut;
use crate::error::TokenBatchError;
use crate::options::{LongDocuments, OnBadDocument, Shape};
use crate::state::{Fingerprint, TokenBatchCounts};

/// What an encoder says when it refuses a text.
type Cause = Box<dyn Error + Send + Sync>;

pub(crate) type Encoder = dyn Fn(&str) -> Result<Vec<u32>, Cause> + Send + Sync;

/// Consecutive documents.
#[derive(Debug)]
pub(crate) struct Documents {
    begin: Cursor,
    end: Cursor,
    bytes_read: u64,
    documents: Vec<Document>,
    bad_records: Vec<BadRecord>,
}

/// The batches of a window, and all that is known about it.
#[derive(Debug)]
pub(crate) struct Window {
    pub(crate) begin: Cursor,
    pub(crate) end: Cursor,
    pub(crate) bytes_read: u64,
    pub(crate) batches: Vec<Collation>,
    pub(crate) fingerprint: Fingerprint,
    pub(crate) counts: TokenBatchCounts,
    pub(crate) bad_records: Vec<BadRecord>,
    pub(crate) bad_documents: Vec<BadDocument>,
}

/// Reads the next window; returns `None` at the end of the corpus, or once a stop is asked for.
///
/// A window is whole or it is not there: one cut short by an error would come out in other batches
/// when the error is gone.
pub(crate) fn read(
    loader: &mut StreamingDatasetLoader,
    shape: &Shape,
    stop: &AtomicBool,
) -> Result<Option<Documents>, LoadError> {
    let begin = loader.cursor();
    let mut documents: Vec<Document> = Vec::new();
    let mut bytes = 0;
    while documents.len() < shape.window_documents() && bytes < shape.window_bytes() {
        if stop.load(Ordering::Relaxed) {
            return Ok(None);
        }
        let Some(document) = loader.next().transpose()? else {
            break;
        };
        bytes += document.text.len();
        documents.push(document);
    }
    let bad_records = loader.take_bad_records();
    // Records at the end of the corpus that became no documents still move the cursor, and may have
    // entries in the ledger.
    let end = loader.cursor();
    if documents.is_empty() && bad_records.is_empty() && begin == end {
        return Ok(None);
    }
    Ok(Some(Documents {
        begin,
        end,
        bytes_read: loader.bytes_read(),
        documents,
        bad_records,
    }))
}

/// What is done with the documents of a window.
pub(crate) struct Encoding {
    pub(crate) encoder: Box<Encoder>,
    pub(crate) shape: Shape,
    pub(crate) on_bad_document: OnBadDocument,
}

/// A document's tokens.
struct Encoded {
    document: u64,
    tokens: Vec<u32>,
}

/// Why a document gives no sequence.
enum Refusal {
    Encoder(Cause),
    TooLong { n_tokens: usize, limit: usize },
}

/// A run of a document's tokens that is to be one sequence.
struct Sequence {
    /// Index into the list of encoded documents.
    index: usize,
    piece: u64,
    begin: usize,
    end: usize,
}

impl Encoding {
    /// Encodes a window and cuts it into batches; returns `None` once a stop is asked for.
    pub(crate) fn window(
        &self,
        window: Documents,
        stop: &AtomicBool,
    ) -> Result<Option<Window>, TokenBatchError> {
        let mut counts = TokenBatchCounts {
            documents: window.documents.len() as u64,
            ..TokenBatchCounts::default()
        };
        let first_document = window.begin.documents();
        let mut encoded = Vec::with_capacity(window.documents.len());
        let mut bad_documents = Vec::new();
        for document in window.documents {
            if stop.load(Ordering::Relaxed) {
                return Ok(None);
            }
            match self.encode(&document.text) {
                Ok(tokens) if tokens.is_empty() => counts.empty_documents += 1,
                Ok(tokens) => encoded.push(Encoded {
                    document: document.index,
                    tokens,
                }),
                Err(refusal) if self.on_bad_document == OnBadDocument::Fail => {
                    return Err(refusal.into_error(&document));
                }
                Err(refusal) => {
                    counts.bad_documents += 1;
                    bad_documents.push(BadDocument {
                        document: document.id.to_string(),
                        index: document.index,
                        reason: refusal.in_words(),
                    });
                }
            }
        }
        let fingerprint = fingerprint(&encoded);
        let sequences = self.sequences(&encoded, &mut counts);
        Ok(Some(Window {
            begin: window.begin,
            end: window.end,
            bytes_read: window.bytes_read,
            batches: self.collate(&encoded, &sequences, first_document),
            fingerprint,
            counts,
            bad_records: window.bad_records,
            bad_documents,
        }))
    }

    /// Encodes a text, and refuses what is too long where that is the policy.
    fn encode(&self, text: &str) -> Result<Vec<u32>, Refusal> {
        let tokens = (self.encoder)(text).map_err(Refusal::Encoder)?;
        let (n_tokens, limit) = (tokens.len(), self.shape.sequence_limit());
        if self.shape.long_documents == LongDocuments::Refuse && n_tokens > limit {
            return Err(Refusal::TooLong { n_tokens, limit });
        }
        Ok(tokens)
    }

    /// Divides the tokens of each document into sequences, as the policy for long ones says.
    fn sequences(&self, encoded: &[Encoded], counts: &mut TokenBatchCounts) -> Vec<Sequence> {
        let limit = self.shape.sequence_limit();
        let mut sequences = Vec::with_capacity(encoded.len());
        for (index, Encoded { tokens, .. }) in encoded.iter().enumerate() {
            let len = tokens.len();
            let whole = |end| Sequence {
                index,
                piece: 0,
                begin: 0,
                end,
            };
            if len <= limit {
                sequences.push(whole(len));
                continue;
            }
            match self.shape.long_documents {
                // `encode` has turned away documents that are to be refused.
                LongDocuments::Alone | LongDocuments::Refuse => sequences.push(whole(len)),
                LongDocuments::Truncate => {
                    counts.truncated_documents += 1;
                    counts.truncated_tokens += (len - limit) as u64;
                    sequences.push(whole(limit));
                }
                LongDocuments::Split => {
                    counts.split_documents += 1;
                    let pieces = (0..len).step_by(limit).zip(0..);
                    sequences.extend(pieces.map(|(begin, piece)| Sequence {
                        index,
                        piece,
                        begin,
                        end: len.min(begin + limit),
                    }));
                }
            }
        }
        sequences
    }

    /// Divides the sequences among batches and copies their tokens.
    fn collate(
        &self,
        encoded: &[Encoded],
        sequences: &[Sequence],
        first_document: u64,
    ) -> Vec<Collation> {
        let lengths: Vec<usize> = sequences.iter().map(Sequence::len).collect();
        let cuts = cut(&lengths, &self.shape, first_document);
        let collate = |cut: &Vec<usize>| {
            let n_tokens = cut.iter().map(|&at| lengths[at]).sum();
            let mut batch = Collation::with_capacity(cut.len(), n_tokens);
            for &at in cut {
                let sequence = &sequences[at];
                let Encoded { document, tokens } = &encoded[sequence.index];
                batch.push(
                    *document,
                    sequence.piece,
                    &tokens[sequence.begin..sequence.end],
                );
            }
            batch
        };
        cuts.iter().map(collate).collect()
    }
}

impl Refusal {
    /// Turns the refusal of a document into an error.
    fn into_error(self, document: &Document) -> TokenBatchError {
        let (index, document) = (document.index, document.id.to_string());
        match self {
            Self::Encoder(source) => TokenBatchError::Encode {
                document,
                index,
                source,
            },
            Self::TooLong { n_tokens, limit } => TokenBatchError::LongDocument {
                document,
                index,
                n_tokens,
                limit,
            },
        }
    }

    /// Returns the refusal in words, with all its causes.
    fn in_words(&self) -> String {
        match self {
            Self::Encoder(cause) => {
                let mut words = cause.to_string();
                let mut source = cause.source();
                while let Some(cause) = source {
                    words = format!("{words}: {cause}");
                    source = cause.source();
                }
                words
            }
            Self::TooLong { n_tokens, limit } => {
                format!("{n_tokens} tokens where {limit} are allowed")
            }
        }
    }
}

impl Sequence {
    /// Returns the number of tokens.
    fn len(&self) -> usize {
        self.end - self.begin
    }
}

/// Returns a hash of the documents of a window and of how many tokens each gave.
///
/// Hashing lengths and not tokens costs nothing, and still tells one encoder from another over
/// hundreds of documents.
fn fingerprint(encoded: &[Encoded]) -> Fingerprint {
    let mut hasher = blake3::Hasher::new();
    for Encoded { document, tokens } in encoded {
        hasher.update(&document.to_le_bytes());
        hasher.update(&(tokens.len() as u64).to_le_bytes());
    }
    Fingerprint(hasher.finalize().to_hex().to_string())
}
