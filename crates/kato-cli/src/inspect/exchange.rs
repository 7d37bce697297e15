//! Export to a file and import from one, with progress on a terminal.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write, stdin};
use std::path::Path;

#[cfg(not(feature = "parquet"))]
use anyhow::anyhow;
use anyhow::{Context, Result};
use indicatif::{ProgressBar, ProgressStyle};
use kato_loader::open_unless;
use kato_scheduler::StopSignal;
use kato_store::KnowledgeBase;
use serde::Serialize;
use serde_json::Value;

use super::View;
use super::overview::count;
use crate::interrupt::AGAIN;
use crate::numbers::counted;
use crate::output::stdout;
use crate::writable::{refuse_file_above, write_whole};

/// An export that was written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Exported {
    /// The node.
    pub(crate) node: String,
    /// Patterns written, one a line or row.
    pub(crate) exported: u64,
    /// The file.
    pub(crate) file: String,
}

/// An import that was made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Imported {
    /// The node.
    pub(crate) node: String,
    /// Patterns read, one a line or row.
    pub(crate) imported: u64,
    /// Those of them that the node did not have.
    pub(crate) new_patterns: u64,
    /// Learn calls added: the sum of the frequencies read.
    pub(crate) learns: u64,
    /// The index of all of it, where one was written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) index: Option<Value>,
}

impl View for Exported {
    fn text(&self, _width: usize) -> String {
        format!(
            "{} of {} written to {}\n",
            counted(self.exported, "pattern"),
            self.node,
            self.file
        )
    }
}

impl View for Imported {
    fn text(&self, _width: usize) -> String {
        format!(
            "{} added to {}, {} of them new; {}\n",
            counted(self.imported, "pattern"),
            self.node,
            count(self.new_patterns),
            counted(self.learns, "learn call"),
        )
    }
}

/// What the patterns of a file are written in, by the ending of its name.
enum Form {
    /// JSON Lines.
    Lines,
    #[cfg(feature = "parquet")]
    Parquet,
}

impl Form {
    /// Returns the form of a file; an error when this build lacks it.
    fn of(file: &Path) -> Result<Self> {
        let ending = file.extension();
        if !ending.is_some_and(|ending| ending.eq_ignore_ascii_case("parquet")) {
            return Ok(Self::Lines);
        }
        #[cfg(feature = "parquet")]
        let form = Ok(Self::Parquet);
        #[cfg(not(feature = "parquet"))]
        let form = Err(anyhow!(
            "{}: this build knows no Parquet: build it with `--features parquet`, or let the names of JSON Lines end otherwise",
            file.display()
        ));
        form
    }
}

/// Writes all patterns of a node to a file, as Parquet if its name ends so and else as JSON Lines,
/// which go to standard output for `-`.
///
/// A file is replaced when the export is complete; until then the patterns are in a file `FILE.….part`
/// beside it, which is removed when the export fails. Devices and pipes are written directly. Nothing is
/// written into a knowledge base.
///
/// # Errors
///
/// When the node cannot be read or the patterns cannot be written, when the file lies in a knowledge
/// base, and when a stop is asked for.
pub(crate) fn export(
    knowledge_base: &KnowledgeBase<'_>,
    file: &Path,
    stop: &StopSignal,
) -> Result<Exported> {
    let form = Form::of(file)?;
    refuse_file_above("--export", file)?;
    let bar = bar("{bar:30} {percent:>3} % of {human_len} patterns, {eta} left");
    let lines = |out: &mut dyn Write| -> Result<u64> {
        // Counting may read all names, which is worth it only where somebody sees the bar.
        if !bar.is_hidden() {
            bar.set_length(knowledge_base.count_patterns()?);
        }
        Ok(knowledge_base.export(Monitored::new(out, Unit::Lines, &bar, stop))?)
    };
    let written = |out: &mut File| match form {
        Form::Lines => lines(out),
        #[cfg(feature = "parquet")]
        Form::Parquet => {
            // How many patterns are in bytes that are compressed, nobody can see.
            bar.set_style(style("{spinner} {binary_bytes} written"));
            Ok(knowledge_base.export_parquet(Monitored::new(out, Unit::Bytes, &bar, stop))?)
        }
    };
    let exported = if file == Path::new("-") {
        lines(&mut stdout())
    } else {
        write_whole(file, written)
            .with_context(|| format!("--export {} was not written", file.display()))
    };
    bar.finish_and_clear();
    Ok(Exported {
        node: knowledge_base.name().to_owned(),
        exported: exported?,
        file: file.display().to_string(),
    })
}

/// Adds the patterns of a file to a node: of Parquet if its name ends so, else of JSON Lines, which
/// come from standard input for `-`.
///
/// # Errors
///
/// When a pattern cannot be taken or the node cannot be written, and when a stop is asked for; then
/// nothing was added.
pub(crate) fn import(
    knowledge_base: &KnowledgeBase<'_>,
    file: &Path,
    stop: &StopSignal,
) -> Result<Imported> {
    let form = Form::of(file)?;
    let patterns_before = knowledge_base.count_patterns()?;
    let learns_before = knowledge_base.totals()?.learns;
    let bar = bar("{bar:30} {percent:>3} % of {binary_total_bytes}, {eta} left");
    let imported = if file == Path::new("-") {
        knowledge_base
            // It is buffered already.
            .import(Monitored::new(stdin().lock(), Unit::Bytes, &bar, stop))
            .context("standard input")
    } else {
        let open = || -> io::Result<(u64, File)> {
            let file = open_unless(file, &|| stop.is_stopped())?;
            Ok((file.metadata()?.len(), file))
        };
        let (length, opened) =
            open().with_context(|| format!("--import {} cannot be opened", file.display()))?;
        bar.set_length(length);
        let patterns = Monitored::new(opened, Unit::Bytes, &bar, stop);
        let imported = match form {
            // The buffer is around the monitor, so that the bar and the stop are looked at once for
            // each block and not for each line.
            Form::Lines => knowledge_base
                .import(BufReader::with_capacity(1 << 18, patterns))
                .map_err(anyhow::Error::from),
            #[cfg(feature = "parquet")]
            Form::Parquet => knowledge_base
                .import_parquet(patterns)
                .map_err(anyhow::Error::from),
        };
        imported.with_context(|| file.display().to_string())
    };
    bar.finish_and_clear();
    Ok(Imported {
        node: knowledge_base.name().to_owned(),
        imported: imported?,
        // No other process writes while the store is open for writing, so the difference is what
        // was imported.
        new_patterns: knowledge_base.count_patterns()? - patterns_before,
        learns: knowledge_base.totals()?.learns - learns_before,
        index: None,
    })
}

/// Creates a progress bar, which is shown on standard error if that is a terminal.
fn bar(template: &str) -> ProgressBar {
    ProgressBar::new(0).with_style(style(template))
}

/// Returns what a progress bar looks like.
fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
}

/// What a bar counts.
enum Unit {
    Bytes,
    Lines,
}

/// A reader or writer that passes bytes on, moves a bar, and fails when a stop is asked for.
struct Monitored<T> {
    inner: T,
    unit: Unit,
    bar: ProgressBar,
    stop: StopSignal,
}

impl<T> Monitored<T> {
    /// Watches a reader or writer.
    fn new(inner: T, unit: Unit, bar: &ProgressBar, stop: &StopSignal) -> Self {
        Self {
            inner,
            unit,
            bar: bar.clone(),
            stop: stop.clone(),
        }
    }

    /// Fails when a stop is asked for.
    fn check(&self) -> io::Result<()> {
        // Not `Interrupted`: that kind means "try again".
        if self.stop.is_stopped() {
            Err(io::Error::other(AGAIN))
        } else {
            Ok(())
        }
    }

    /// Moves the bar.
    fn passed(&self, bytes: &[u8]) {
        let passed = match self.unit {
            Unit::Bytes => bytes.len(),
            Unit::Lines => bytes.iter().filter(|&&byte| byte == b'\n').count(),
        };
        self.bar.inc(passed as u64);
    }
}

impl<T: Write> Write for Monitored<T> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.check()?;
        let written = self.inner.write(bytes)?;
        self.passed(&bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

impl<T: Read> Read for Monitored<T> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        self.check()?;
        let read = self.inner.read(bytes)?;
        self.passed(&bytes[..read]);
        Ok(read)
    }
}

impl<T: Seek> Seek for Monitored<T> {
    fn seek(&mut self, place: SeekFrom) -> io::Result<u64> {
        self.inner.seek(place)
    }
}

impl<T: BufRead> BufRead for Monitored<T> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.check()?;
        // The bar stays where it is, because the length of standard input is not known.
        self.inner.fill_buf()
    }

    fn consume(&mut self, amount: usize) {
        self.inner.consume(amount);
    }
}
