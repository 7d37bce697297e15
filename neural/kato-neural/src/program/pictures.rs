//! Pictures of what was measured after each epoch.

use kato_report::{Axis, Chart, Color, Picture, Shape};

use crate::run::EpochNumber;

/// Draws figures of a run over its epochs.
#[derive(Debug)]
pub struct EpochPictures<'a, R> {
    history: &'a [R],
    drawn: Vec<Picture>,
}

impl<'a, R: EpochNumber> EpochPictures<'a, R> {
    /// Begins with the loss, of training and of validation.
    pub fn of_losses(history: &'a [R], axis: &str, losses: impl Fn(&R) -> (f64, f64)) -> Self {
        let mut pictures = Self {
            history,
            drawn: Vec::new(),
        };
        let training = pictures.line(|record| Some(losses(record).0));
        let validation = pictures.line(|record| Some(losses(record).1));
        let chart = Chart::new("Loss", Axis::linear("epoch"), Axis::linear(axis))
            .with(Color::Nth(0), "training", Shape::Line(training))
            .with(Color::Nth(1), "validation", Shape::Line(validation));
        pictures.drawn.push(chart.draw());
        pictures
    }

    /// Draws a figure, unless no epoch has it.
    #[must_use]
    pub fn with(mut self, title: &str, axis: Axis, figure: impl Fn(&R) -> Option<f64>) -> Self {
        let line = self.line(figure);
        if !line.is_empty() {
            let chart = Chart::new(title, Axis::linear("epoch"), axis);
            self.drawn
                .push(chart.with(Color::Nth(0), "", Shape::Line(line)).draw());
        }
        self
    }

    /// Returns the pictures in the order in which they were drawn.
    #[must_use]
    pub fn into_pictures(self) -> Vec<Picture> {
        self.drawn
    }

    /// Returns a figure over the number of its epoch, as users count them from 1.
    fn line(&self, figure: impl Fn(&R) -> Option<f64>) -> Vec<(f64, f64)> {
        let points = self
            .history
            .iter()
            .filter_map(|record| Some(((record.epoch() + 1) as f64, figure(record)?)));
        points.collect()
    }
}
