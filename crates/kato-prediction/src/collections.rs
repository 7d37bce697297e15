//! Hash maps and sets with a fast hasher, which is keyed at random because the
//! keys come from users.
//!
//! They are not those of the standard library, which do not tell what they allocate.

use foldhash::quality::RandomState;

pub(crate) type HashMap<K, V> = hashbrown::HashMap<K, V, RandomState>;

pub(crate) type HashSet<T> = hashbrown::HashSet<T, RandomState>;
