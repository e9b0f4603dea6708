//! A file that a connection attaches, with a key of its own. SQLite's message has the name of a file that it cannot
//! open, and URIs may contain a key. So no URI here does, and the key is bound to the statement.

use super::connection::Connection;
use crate::types::cells::Cells;
use crate::types::error::{Error, ErrorKind, Result};
use crate::types::options::{Cipher, EncryptionKey, Options};
use std::fmt::Write as _;
use std::path::Path;

/// Attaches a file as the schema `old`, only for reads, and without a lock: another connection holds the file, so
/// nobody changes it, and it has no log. The key needs no derivation any more.
///
/// # Errors
/// If the file cannot be opened, or has another key.
pub(crate) fn attach_unlocked(connection: &Connection, path: &Path, options: &Options) -> Result<()> {
    let scheme = match (&options.key, options.cipher) {
        (None, _) => String::new(),
        (Some(_), Cipher::Aegis) => "&cipher=aegis&algorithm=aegis-256x2".to_owned(),
        (Some(_), Cipher::SqlCipher) => {
            let bytes = options.page_size.unwrap_or(4096);
            format!("&cipher=sqlcipher&legacy=4&legacy_page_size={bytes}")
        }
    };
    // `immutable` would do as well, but keeps the size of pages.
    let address = address(path, &format!("mode=ro&nolock=1{scheme}"))?;
    // An empty key means none. Without the clause, SQLite takes the key of the main file.
    let key = options.key.as_ref().map(EncryptionKey::engine_bytes).unwrap_or_default();
    let mut values = Cells::default();
    values.text(&address);
    values.blob(&key);
    connection.prepare("attach ?1 as old key ?2")?.run_with(&values).map(drop)
}

/// Copies the schema `old` into a new file, which gets the key of the connection's main file.
///
/// # Errors
/// If the schema cannot be read, or the file cannot be written, or is not empty.
pub(crate) fn copy_anew(connection: &Connection, path: &Path, options: &Options) -> Result<()> {
    // The bytes that each page reserves for its nonce and its tag.
    let reserved = match (&options.key, options.cipher) {
        (None, _) => 0,
        (Some(_), Cipher::Aegis) => 64,
        (Some(_), Cipher::SqlCipher) => 80,
    };
    let target = address(path, &format!("reserve={reserved}"))?;
    connection.sql().execute("vacuum old into ?1", [target])?;
    Ok(())
}

/// The file as a URI with parameters, all of them public.
fn address(path: &Path, parameters: &str) -> Result<String> {
    let Some(name) = path.to_str() else {
        return Err(Error::new(ErrorKind::Invalid, "the file's name is no UTF-8, which this one call needs"));
    };
    let mut uri = "file:".to_owned();
    for byte in name.bytes() {
        if byte.is_ascii_alphanumeric() || b"/-._~".contains(&byte) {
            uri.push(char::from(byte));
        } else {
            let _ = write!(uri, "%{byte:02x}");
        }
    }
    uri.push('?');
    uri.push_str(parameters);
    Ok(uri)
}
