//! GPT-2's tokenizer, from data compiled into the crate.

use std::sync::LazyLock;

use crate::HfTokenizer;

/// `tokenizer.json` of GPT-2, minified and compressed by `examples/pack_gpt2.rs`;
/// licence in `NOTICE`.
static PACKED: &[u8] = include_bytes!("../data/gpt2.json.zst");

/// Most bytes of the unpacked definition.
const UNPACKED_BYTES: usize = 2 << 20;

/// Returns GPT-2's byte-level BPE: 50,257 tokens, offline.
///
/// The first call in a process unpacks the data (about 0.2 s); later calls share it.
///
/// ```
/// use kato_tokenizer::{Tokenizer, gpt2};
/// assert_eq!(gpt2().vocabulary().len(), 50_257);
/// assert_eq!(gpt2().encode("Hello world")?, [15_496, 995]);
/// # Ok::<(), kato_tokenizer::TokenizeError>(())
/// ```
#[must_use]
pub fn gpt2() -> HfTokenizer {
    // The data are part of the program, and a test compares them with the published file, so none
    // of the errors below can come up at run time.
    static GPT2: LazyLock<HfTokenizer> = LazyLock::new(|| {
        let json = zstd::bulk::decompress(PACKED, UNPACKED_BYTES)
            .expect("the bundled data is a zstd frame that fits");
        let json = String::from_utf8(json).expect("the bundled data is UTF-8");
        HfTokenizer::from_json("gpt2", &json).expect("the bundled data is a tokenizer definition")
    });
    GPT2.clone()
}
