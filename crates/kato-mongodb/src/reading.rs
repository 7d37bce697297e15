//! Reading of what is committed: look-ups, scans in which later commits do not show, sizes.

mod reader;
mod scan;
mod size;
mod visit;

pub(crate) use self::reader::Reader;
pub(crate) use self::visit::show;
