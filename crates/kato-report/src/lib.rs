#![doc = include_str!("../README.md")]

mod bars;
mod chart;
mod color;
mod escape;
pub mod figures;
mod heat_map;
mod page;
mod picture;
pub mod prometheus;
mod ranges;
mod scale;

pub use bars::bars;
pub use chart::{Chart, ChartSpan, Shape};
pub use color::Color;
pub use heat_map::HeatMap;
pub use page::{Callout, Cell, Page, PageTable};
pub use picture::Picture;
pub use ranges::{Range, Ranges};
pub use scale::Axis;
