//! A hierarchy of KATO nodes that learns chunks of tokens, then patterns of patterns.
