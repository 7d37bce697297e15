//! Files that a command writes at its end, looked at before it begins: hours of work must not end
//! with a file that cannot be written.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use kato_store::EmbeddedStore;
use kato_store::scratch::ScratchDir;
use tempfile::{Builder, NamedTempFile};

use crate::exit::bail_as;

/// Folders on the way from a file of a knowledge base to the top of it, at most.
const DEPTH: usize = 4;

/// Checks that a file can be written in the end, and leaves everything as it is.
///
/// # Errors
///
/// When it cannot be written; the error begins with the option that names it.
pub(crate) fn check_file(option: &str, file: &Path) -> Result<()> {
    refuse_dash(option, file)?;
    refuse_file_above(option, file)?;
    let checked = match fs::metadata(file) {
        Ok(found) if found.is_dir() => bail_as!(
            Conflict,
            "{option} {}: it is a directory; name a file in it",
            file.display()
        ),
        // Neither cut nor written to: what it holds stays until there is something better.
        Ok(found) if found.is_file() => OpenOptions::new().append(true).open(file).map(drop),
        // Opening a pipe would wait for its reader, and a device need not like it twice.
        Ok(_) => Ok(()),
        Err(error) if error.kind() == ErrorKind::NotFound => check_parent(file),
        Err(error) => Err(error),
    };
    checked.with_context(|| refusal(option, file))
}

/// Checks that a file can be put into the place of one that may be written to, or into an empty place.
///
/// # Errors
///
/// When it cannot be; the error begins with the option that names it.
pub(crate) fn check_place(option: &str, file: &Path) -> Result<()> {
    check_file(option, file)?;
    match fs::metadata(file) {
        // Neither a directory nor a device is replaced.
        Ok(found) if !found.is_file() => Ok(()),
        _ => check_parent(&behind_links(file)).with_context(|| refusal(option, file)),
    }
}

/// Checks that [`write_whole`] can write a file in the end: as [`check_place`], and not in a knowledge base.
///
/// # Errors
///
/// When it cannot; the error begins with the option that names it.
pub(crate) fn check_replaceable(option: &str, file: &Path) -> Result<()> {
    check_place(option, file)?;
    refuse_knowledge_base(&behind_links(file))
        .with_context(|| format!("{option} {}", file.display()))
}

/// Returns whether something else than a directory is at a place.
pub(crate) fn is_no_directory(place: &Path) -> bool {
    fs::metadata(place).is_ok_and(|found| !found.is_dir())
}

/// Refuses a file in the place of a directory, or of one above it.
///
/// # Errors
///
/// A conflict; it begins with the option that names the place.
pub(crate) fn refuse_file(option: &str, dir: &Path) -> Result<()> {
    let Some(file) = dir.ancestors().find(|place| is_no_directory(place)) else {
        return Ok(());
    };
    let shown = dir.display();
    if file == dir {
        bail_as!(Conflict, "{option} {shown} is a file: name a directory");
    }
    let file = file.display();
    bail_as!(
        Conflict,
        "{option} {shown}: {file} is a file: choose another place"
    );
}

/// Refuses a file in the place of the directory of another, or of one above it.
///
/// # Errors
///
/// As [`refuse_file`].
pub(crate) fn refuse_file_above(option: &str, file: &Path) -> Result<()> {
    refuse_file(option, file.parent().unwrap_or(file))
}

/// Refuses the name by which other options mean standard output: a file of that name surprises.
fn refuse_dash(option: &str, file: &Path) -> Result<()> {
    if file == Path::new("-") {
        bail_as!(
            Usage,
            "{option} -: this does not go to standard output; choose another name, or ./- for a file called so"
        );
    }
    Ok(())
}

/// Returns what is said of a file that cannot be written.
fn refusal(option: &str, file: &Path) -> String {
    let file = file.display();
    format!("{option} {file} cannot be written: choose another place")
}

/// Writes a file as a whole: beside its place first, and moved there when everything is written.
///
/// # Errors
///
/// When it cannot be written, or would lie in a knowledge base; then what was there stays.
pub(crate) fn write_whole<T>(file: &Path, write: impl FnOnce(&mut File) -> Result<T>) -> Result<T> {
    let target = behind_links(file);
    refuse_knowledge_base(&target)?;
    if target.is_dir() {
        bail_as!(Conflict, "it is a directory; name a file in it");
    }
    // A device or a pipe cannot be replaced: a rename would put a file in its place.
    if fs::metadata(&target).is_ok_and(|metadata| !metadata.is_file()) {
        return write(&mut File::options().write(true).open(&target)?);
    }
    let mut part = part_of(&target)?;
    let written = write(part.as_file_mut())?;
    // On the disk before the name points to it: after a power cut the file is the old one or the
    // whole new one.
    part.as_file().sync_all()?;
    match part.persist(&target) {
        Ok(_) => Ok(written),
        // A file that is mounted by itself, as into a container, has no place of its own.
        Err(failed) if failed.error.kind() == ErrorKind::ResourceBusy => {
            let mut part = failed.file.reopen()?;
            let mut there = File::create(&target)?;
            io::copy(&mut part, &mut there)?;
            there.sync_all()?;
            Ok(written)
        }
        Err(failed) => Err(failed.error.into()),
    }
}

/// Creates a file beside another, which gets the place and the rights of that one in the end.
fn part_of(target: &Path) -> io::Result<NamedTempFile> {
    let mut prefix = target.file_name().unwrap_or_default().to_owned();
    prefix.push(".");
    let mut builder = Builder::new();
    builder.prefix(&prefix).suffix(".part");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        // Less what the umask removes, as of any new file; by default they are the owner's alone.
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    // A bare name has an empty parent, which is no directory that could be opened.
    let folder = target.parent().filter(|folder| *folder != Path::new(""));
    let part = builder.tempfile_in(folder.unwrap_or(Path::new(".")))?;
    if let Ok(there) = fs::metadata(target) {
        part.as_file().set_permissions(there.permissions())?;
    }
    Ok(part)
}

/// Returns the file behind a symbolic link: it is replaced, or made, and not the link.
fn behind_links(file: &Path) -> PathBuf {
    fs::canonicalize(file).unwrap_or_else(|_| match fs::read_link(file) {
        Ok(to) => file.parent().unwrap_or(Path::new("")).join(to),
        Err(_) => file.to_owned(),
    })
}

/// Refuses a file in any knowledge base, because a slip of the finger could replace one of its
/// files.
fn refuse_knowledge_base(target: &Path) -> Result<()> {
    // It need not be there yet, but the directory must.
    let parent = target.parent().filter(|parent| *parent != Path::new(""));
    let parent = fs::canonicalize(parent.unwrap_or(Path::new(".")))?;
    // Others have manifests, too, and of the folders far above some do.
    let is_knowledge_base =
        |dir: &&Path| EmbeddedStore::exists(dir) && dir.join("segments").is_dir();
    let found = parent.ancestors().take(DEPTH).find(is_knowledge_base);
    let dir = found.unwrap_or(Path::new("")).display();
    if found.is_some() {
        bail_as!(
            Conflict,
            "it would lie in the knowledge base {dir}: name a file elsewhere"
        );
    }
    Ok(())
}

/// Writes a text as [`write_whole`] does.
///
/// # Errors
///
/// As of it; the error names the file.
pub(crate) fn write_text(file: &Path, text: &str) -> Result<()> {
    write_whole(file, |out| Ok(out.write_all(text.as_bytes())?))
        .with_context(|| format!("failed to write {}", file.display()))
}

/// Checks that files can be written into a directory in the end, which is made then if need be, and leaves
/// everything as it is.
///
/// # Errors
///
/// When they cannot be written; the error begins with the option that names it.
pub(crate) fn check_directory(option: &str, dir: &Path) -> Result<()> {
    refuse_file(option, dir)?;
    // What is there of it decides; a link that leads nowhere is there.
    let there = dir.ancestors().find(|dir| dir.symlink_metadata().is_ok());
    let checked = check_parent(&there.unwrap_or(Path::new("")).join("file"));
    checked.with_context(|| {
        format!(
            "{option} {} cannot be written to: choose another place",
            dir.display()
        )
    })
}

/// Makes a directory for what is gone when the command has ended.
///
/// # Errors
///
/// When it cannot be made; the error names the place.
pub(crate) fn temporary_directory() -> Result<ScratchDir> {
    ScratchDir::create().with_context(|| {
        format!(
            "no temporary directory can be made in {}: name another place with TMPDIR",
            std::env::temp_dir().display()
        )
    })
}

/// Checks that files can be made where one is to lie.
fn check_parent(file: &Path) -> std::io::Result<()> {
    // A bare name has an empty parent, which is no directory that could be opened.
    let parent = file.parent().filter(|parent| *parent != Path::new(""));
    // A file without a name, where the system has that: even a kill leaves nothing behind.
    tempfile::tempfile_in(parent.unwrap_or(Path::new("."))).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_written_is_known_before() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        fs::write(at("old"), "content").unwrap();
        assert!(check_file("--out", &at("new")).is_ok());
        for check in [check_file, check_replaceable] {
            let told = check("--out", Path::new("-")).unwrap_err().to_string();
            assert!(told.starts_with("--out -: "), "{told}");
        }
        assert!(check_file("--out", &at("old")).is_ok());
        assert!(check_replaceable("--out", &at("old")).is_ok());
        assert!(check_directory("--plot", &at("plots/of")).is_ok());
        for refused in [
            check_file("--out", dir.path()),
            check_file("--out", &at("none/new")),
            check_file("--out", &at("old/new")),
            check_replaceable("--out", dir.path()),
            check_replaceable("--out", &at("none/new")),
            check_directory("--out", &at("old")),
            check_directory("--out", &at("old/plots")),
        ] {
            let said = refused.unwrap_err().to_string();
            assert!(said.starts_with("--out /"), "{said}");
        }
        let in_a_file = refuse_file("--kb", &at("old/of/kb"))
            .unwrap_err()
            .to_string();
        let file = at("old");
        let file = file.display();
        assert_eq!(
            in_a_file,
            format!("--kb {file}/of/kb: {file} is a file: choose another place")
        );
        assert_eq!(fs::read(at("old")).unwrap(), b"content");
        let left = fs::read_dir(dir.path()).unwrap().count();
        assert_eq!(left, 1, "the old file");
    }

    #[test]
    fn no_output_lies_in_a_knowledge_base_but_the_state_of_a_run_elsewhere_may() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("MANIFEST"), "").unwrap();
        let file = dir.path().join("new");
        // As many others are called so.
        assert!(check_replaceable("--out", &file).is_ok());
        fs::create_dir(dir.path().join("segments")).unwrap();
        assert!(check_place("--state", &file).is_ok());
        let told = check_replaceable("--out", &file).unwrap_err();
        let told = format!("{told:#}");
        assert!(
            told.contains(": it would lie in the knowledge base "),
            "{told}"
        );
    }

    #[test]
    fn what_lies_beside_stays_and_a_dangling_link_leads_to_the_new_file() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        fs::write(at("a.part"), "of another").unwrap();
        write_text(&at("a"), "first").unwrap();
        write_text(&at("a"), "second").unwrap();
        assert_eq!(fs::read(at("a")).unwrap(), b"second");
        assert_eq!(fs::read(at("a.part")).unwrap(), b"of another");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            std::os::unix::fs::symlink("b", at("link")).unwrap();
            write_text(&at("link"), "third").unwrap();
            assert!(at("link").is_symlink());
            assert_eq!(fs::read(at("b")).unwrap(), b"third");
            let rights = || fs::metadata(at("b")).unwrap().permissions().mode() & 0o777;
            fs::set_permissions(at("b"), fs::Permissions::from_mode(0o600)).unwrap();
            write_text(&at("link"), "fourth").unwrap();
            assert_eq!(rights(), 0o600);
        }
        let failed = write_whole::<()>(&at("a"), |out| {
            out.write_all(b"half")?;
            anyhow::bail!("no more")
        });
        assert_eq!(failed.unwrap_err().to_string(), "no more");
        assert_eq!(fs::read(at("a")).unwrap(), b"second");
        let left = fs::read_dir(dir.path()).unwrap().count();
        assert_eq!(left, if cfg!(unix) { 4 } else { 2 });
    }

    #[cfg(unix)]
    #[test]
    fn files_and_directories_that_may_only_be_read_are_refused() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("old");
        fs::write(&file, "content").unwrap();
        let close = |mode_of_file, mode_of_dir| {
            let mode = |path: &Path, mode| {
                fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
            };
            mode(&file, mode_of_file);
            mode(dir.path(), mode_of_dir);
        };
        close(0o444, 0o555);
        // Root may write everywhere.
        let is_root = OpenOptions::new().append(true).open(&file).is_ok();
        let refused = [
            check_file("--out", &file).is_err(),
            check_file("--out", &dir.path().join("new")).is_err(),
            check_replaceable("--out", &file).is_err(),
            check_directory("--out", dir.path()).is_err(),
        ];
        close(0o644, 0o755);
        assert_eq!(refused, [!is_root; 4]);
    }
}
