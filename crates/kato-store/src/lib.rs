//! Where patterns live: one store contract, a store in memory and an embedded store on disk.
