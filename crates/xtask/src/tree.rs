//! The files of the project: everything below its root but what is built, run or ignored.

use std::fs;
use std::path::{Path, PathBuf};

/// Folders that hold nothing written by hand: git, builds, scratch runs, environments of other languages.
const SKIPPED: [&str; 8] =
    [".git", "target", "runs", ".venv", "node_modules", "__pycache__", ".gradle", ".pytest_cache"];

/// A file.
#[derive(Clone, Debug)]
pub struct File {
    /// Its path from the root, with slashes.
    pub path: String,
    /// Its contents; none for a file that is not text.
    pub text: Option<String>,
    /// Its size.
    pub bytes: u64,
}

/// The project's files, in path order.
#[derive(Clone, Debug)]
pub struct Tree {
    /// The project's root.
    pub root: PathBuf,
    /// Its files.
    pub files: Vec<File>,
}

impl Tree {
    /// Reads this project.
    ///
    /// # Panics
    /// When a file cannot be read.
    pub fn read() -> Tree {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("the crate is in crates/");
        let mut tree = Tree { root: root.to_owned(), files: Vec::new() };
        tree.gather(root);
        tree.files.sort_by(|one, other| one.path.cmp(&other.path));
        tree
    }

    fn gather(&mut self, folder: &Path) {
        for entry in fs::read_dir(folder).expect("a folder of the project can be read") {
            let path = entry.expect("a folder of the project can be read").path();
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            if SKIPPED.contains(&name.as_ref()) {
                // In a second work tree `.git` is a file.
                continue;
            }
            if path.is_dir() {
                self.gather(&path);
            } else if !name.ends_with(".tmp") {
                // A file may go away while others work in the tree.
                let Ok(bytes) = fs::read(&path) else { continue };
                self.files.push(File {
                    path: path.strip_prefix(&self.root).expect("it is below the root").display().to_string(),
                    bytes: bytes.len() as u64,
                    text: String::from_utf8(bytes).ok(),
                });
            }
        }
    }

    /// The text files whose path ends with one of `endings`.
    pub fn ending<'t>(&'t self, endings: &'t [&str]) -> impl Iterator<Item = (&'t str, &'t str)> {
        self.texts().filter(|(path, _)| endings.iter().any(|ending| path.ends_with(ending)))
    }

    /// Every text file: its path and its text.
    pub fn texts(&self) -> impl Iterator<Item = (&str, &str)> {
        self.files.iter().filter_map(|file| Some((file.path.as_str(), file.text.as_deref()?)))
    }

    /// The text of the file at `path`.
    ///
    /// # Panics
    /// When it is not there.
    pub fn text(&self, path: &str) -> &str {
        let found = self.texts().find(|(known, _)| *known == path);
        found.unwrap_or_else(|| panic!("{path} is missing")).1
    }
}
