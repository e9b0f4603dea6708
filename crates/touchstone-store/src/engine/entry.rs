//! A table's entry in the schema, read from the schema's own pages. Before that SQLite reads the whole schema, and
//! refuses one that it calls corrupt. A statement for one entry would add two fifths to that time. If an entry is not
//! laid out as SQLite writes it, this module does not find it, and the caller uses SQL.

use super::connection::Connection;
use super::page::{Geometry, Payload};
use super::pager::{Pages, damaged};
use super::scan::{Handling, Reach, Scan};
use crate::types::error::Result;
use crate::types::value::Raw;
use libsqlite3_sys as ffi;
use std::ffi::{CString, c_char, c_uint};

unsafe extern "C" {
    fn touchstone_root(connection: *mut ffi::sqlite3, name: *const c_char) -> c_uint;
}

/// The root page of the schema's own tree.
const SCHEMA: u32 = 1;
/// An entry has a kind, a name, the name of its table, the root and the statement that made it.
const ROOT: usize = 4;
const MADE_BY: usize = 5;

/// A table's root and the statement that made it, as the transaction sees them.
///
/// # Errors
/// If a page is damaged or cannot be read; SQL may be able to.
pub(crate) fn find(connection: &Connection, name: &str) -> Result<Option<(u32, String)>> {
    let Ok(name_in_c) = CString::new(name) else { return Ok(None) };
    // SAFETY: the connection is open, and the name ends with a zero.
    let root = unsafe { touchstone_root(connection.handle(), name_in_c.as_ptr()) };
    if root == 0 {
        return Ok(None);
    }
    let pages = connection.pages();
    let reach = Reach { sift: ROOT, take: MADE_BY, pass: 0 };
    let mut scan = Scan::new(pages, SCHEMA, true, geometry(pages)?, reach);
    let mut found = None;
    while scan.next_page(|_, bytes, part| {
        if part != Handling::Take && !is_of(bytes, name, root).ok_or_else(|| damaged(SCHEMA))? {
            return Ok(part == Handling::Whole);
        }
        if part != Handling::Sift {
            found = Some(made_by(bytes).ok_or_else(|| damaged(SCHEMA))?);
        }
        Ok(part == Handling::Sift)
    })? {}
    Ok(found.map(|made_by| (root, made_by)))
}

/// The layout of the file's pages, by its first bytes.
fn geometry(pages: Pages) -> Result<Geometry> {
    let mut header = [0; 24];
    pages.copy(SCHEMA, 0, &mut header)?;
    let bytes = match usize::from(u16::from_be_bytes([header[16], header[17]])) {
        1 => 65_536,
        bytes => bytes,
    };
    bytes.checked_sub(usize::from(header[20])).and_then(Geometry::new).ok_or_else(|| damaged(SCHEMA))
}

/// Whether the entry is the table's; `None` if it is no entry.
fn is_of(entry: &[u8], name: &str, root: u32) -> Option<bool> {
    let mut entry = Payload::new(entry)?;
    let (kind, named, _, at) = (entry.next()?, entry.next()?, entry.next()?, entry.next()?);
    let is_table = kind == Raw::Text(b"table") && named == Raw::Text(name.as_bytes());
    Some(is_table && at == Raw::Integer(root.into()))
}

/// The statement in an entry; `None` if it is no text.
fn made_by(entry: &[u8]) -> Option<String> {
    let mut entry = Payload::new(entry)?;
    (0..ROOT).try_for_each(|_| entry.skip())?;
    match entry.next()? {
        Raw::Text(made_by) => String::from_utf8(made_by.to_owned()).ok(),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
