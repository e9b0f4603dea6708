//! The key of a file, as the engine takes it. A passphrase is derived once for a store, not once for each of its
//! connections: they get the derived key, with the salt that the file begins with.

use super::bare::open;
use super::noise;
use super::vfs_file::call;
use crate::types::error::{Error, ErrorKind, Result};
use crate::types::options::{Cipher, EncryptionKey, KEY_BYTES, KeyMaterial, Options, SALT_BYTES};
use libsqlite3_sys as ffi;
use rusqlite::OpenFlags;
use std::ffi::{c_char, c_int, c_uchar, c_void};
use std::io::Write as _;
use std::path::Path;
use std::ptr;
use zeroize::Zeroizing;

/// The first bytes of a file that is not encrypted.
const PLAIN: &[u8; SALT_BYTES] = b"SQLite format 3\0";

unsafe extern "C" {
    fn sqlite3_key_v2(
        connection: *mut ffi::sqlite3,
        schema: *const c_char,
        key: *const c_void,
        length: c_int,
    ) -> c_int;
    fn touchstone_clear_after_ciphers();
    fn touchstone_derive_argon2id(
        words: *const c_uchar,
        length: usize,
        salt: *const c_uchar,
        key: *mut c_uchar,
    ) -> c_int;
    fn touchstone_derive_pbkdf2(
        words: *const c_uchar,
        length: usize,
        salt: *const c_uchar,
        key: *mut c_uchar,
    );
}

/// Gives the key to a connection that has read nothing yet.
///
/// Of the variants with a 256-bit key, AEGIS-256X2 takes 443 ns to open a page of 4 KiB, and AEGIS-256 takes 586 ns (on
/// an EPYC with VAES and AVX-512; the program chooses the instructions when it runs). AEGIS-256X4 takes 387 ns there,
/// but needs registers that most processors do not have, and a file outlives the machine that made it.
pub(crate) fn unlock(raw: &rusqlite::Connection, options: &Options) -> Result<()> {
    let Some(key) = &options.key else { return Ok(()) };
    // SAFETY: the connection is open, so the engine is initialized.
    unsafe { touchstone_clear_after_ciphers() };
    let scheme = match (options.cipher, options.page_size) {
        (Cipher::Aegis, _) => "pragma cipher = 'aegis'; pragma algorithm = 'aegis-256x2'".to_owned(),
        (Cipher::SqlCipher, size) => {
            // The first page is encrypted as a whole, so the size of pages cannot be read from it.
            let bytes = size.unwrap_or(4096);
            format!("pragma cipher = 'sqlcipher'; pragma legacy = 4; pragma legacy_page_size = {bytes}")
        }
    };
    raw.execute_batch(&scheme)?;
    let derived;
    let key = match &key.0 {
        KeyMaterial::Passphrase(words) => {
            derived = derive(words, options.cipher, salt(raw)?)?;
            &derived
        }
        _ => key,
    };
    let bytes = key.engine_bytes();
    // SAFETY: the connection is open, and the engine reads the bytes within their length, before it returns.
    let code = unsafe {
        let length = c_int::try_from(bytes.len()).unwrap_or(c_int::MAX);
        sqlite3_key_v2(raw.handle(), c"main".as_ptr(), bytes.as_ptr().cast(), length)
    };
    if code != ffi::SQLITE_OK {
        return Err(Error::sqlite(code, "the engine did not take the key"));
    }
    // With a key the engine would overwrite removed data with zeros, and rewrite free pages. Nobody can read either.
    raw.execute_batch("pragma secure_delete = off")?;
    Ok(())
}

/// The options with a key that needs no derivation any more.
///
/// # Errors
/// If the file cannot be opened.
pub(crate) fn resolve(path: &Path, options: Options) -> Result<Options> {
    let Some(EncryptionKey(KeyMaterial::Passphrase(words))) = &options.key else { return Ok(options) };
    let mut flags = OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_EXRESCODE;
    flags |= match (options.read_only, options.create) {
        (false, true) => OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE,
        (false, false) => OpenFlags::SQLITE_OPEN_READ_WRITE,
        (true, _) => OpenFlags::SQLITE_OPEN_READ_ONLY,
    };
    let raw = open(path, flags, &options)
        .map_err(|error| error.context(format_args!("opening {}", path.display())))?;
    let key = derive(words, options.cipher, salt(&raw)?)?;
    Ok(Options { key: Some(key), ..options })
}

/// The options for a new file: a passphrase gets a salt of its own.
pub(crate) fn resolve_new(options: Options) -> Result<Options> {
    let Some(EncryptionKey(KeyMaterial::Passphrase(words))) = &options.key else { return Ok(options) };
    let key = derive(words, options.cipher, new_salt())?;
    Ok(Options { key: Some(key), ..options })
}

/// Whether the file begins like one that is not encrypted.
pub(crate) fn is_plain(path: &Path, options: &Options) -> bool {
    let mut start = [0; SALT_BYTES];
    bytes_of(path, options)
        .is_ok_and(|raw| read_file(&raw, &mut start, 0) == ffi::SQLITE_OK && start == *PLAIN)
}

/// Whether the file may be an encrypted store, as far as its first bytes show.
pub(crate) fn may_be_encrypted(path: &Path, options: &Options) -> bool {
    let length = std::fs::metadata(path).map_or(0, |file| file.len());
    let looked_at = usize::try_from(length).map_or(noise::BYTES_MAX, |length| length.min(noise::BYTES_MAX));
    let mut start = vec![0; looked_at];
    bytes_of(path, options).is_ok_and(|raw| {
        let is_read = read_file(&raw, &mut start, 0) == ffi::SQLITE_OK;
        is_read && noise::may_be_encrypted(&start, length)
    })
}

/// Copies the bytes of a file as they are.
pub(crate) fn copy(path: &Path, to: &Path, options: &Options) -> Result<()> {
    const PART: usize = 1 << 20;
    let failed = |error: std::io::Error, path: &Path| Error::io(&error, "copying", path);
    let length = std::fs::metadata(path).map_err(|error| failed(error, path))?.len();
    let raw = bytes_of(path, options)?;
    let mut copy = std::fs::File::create_new(to).map_err(|error| failed(error, to))?;
    let (mut part, mut offset) = (vec![0; PART], 0);
    while offset < length {
        let wanted = usize::try_from(length - offset).map_or(PART, |left| left.min(PART));
        let from = i64::try_from(offset).unwrap_or(i64::MAX);
        let code = read_file(&raw, &mut part[..wanted], from);
        if code != ffi::SQLITE_OK {
            return Err(Error::sqlite(code, format!("copying {}", path.display())));
        }
        copy.write_all(&part[..wanted]).map_err(|error| failed(error, to))?;
        offset += wanted as u64;
    }
    Ok(())
}

/// A connection for reading a file's bytes. If this process opened and closed the file itself, that would release the
/// locks of all its stores on the file, by the rules of POSIX. SQLite's files avoid that.
fn bytes_of(path: &Path, options: &Options) -> Result<rusqlite::Connection> {
    let flags = OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_EXRESCODE;
    open(path, flags | OpenFlags::SQLITE_OPEN_READ_ONLY, options)
}

fn derive(words: &str, cipher: Cipher, salt: [u8; SALT_BYTES]) -> Result<EncryptionKey> {
    let mut key = Box::new(Zeroizing::new([0; KEY_BYTES]));
    let code = match cipher {
        // SAFETY: the pointers are to the words, within their length, to a salt, and to a key of the right size.
        Cipher::Aegis => unsafe {
            touchstone_derive_argon2id(words.as_ptr(), words.len(), salt.as_ptr(), key.as_mut_ptr())
        },
        // SAFETY: as above.
        Cipher::SqlCipher => unsafe {
            touchstone_derive_pbkdf2(words.as_ptr(), words.len(), salt.as_ptr(), key.as_mut_ptr());
            0
        },
    };
    if code != 0 {
        // Argon2 fails only if it does not get its 64 MiB.
        return Err(Error::new(ErrorKind::Refused, "no key could be derived from the passphrase (memory?)"));
    }
    Ok(EncryptionKey(KeyMaterial::Derived { key, salt }))
}

/// The salt that the connection's file begins with; a new one if the file is empty.
fn salt(raw: &rusqlite::Connection) -> Result<[u8; SALT_BYTES]> {
    let mut salt = [0; SALT_BYTES];
    match read_file(raw, &mut salt, 0) {
        ffi::SQLITE_OK => Ok(salt),
        ffi::SQLITE_IOERR_SHORT_READ => Ok(new_salt()),
        code => Err(Error::sqlite(code, "reading the salt that the file begins with")),
    }
}

fn new_salt() -> [u8; SALT_BYTES] {
    let mut salt = [0; SALT_BYTES];
    // SAFETY: the buffer has the length that is written. The generator is seeded by the operating system.
    unsafe { ffi::sqlite3_randomness(SALT_BYTES as c_int, salt.as_mut_ptr().cast()) };
    salt
}

/// Reads from a connection's main file, past its page cache. A whole page comes decrypted.
pub(crate) fn read_file(connection: &rusqlite::Connection, bytes: &mut [u8], offset: i64) -> c_int {
    let mut file: *mut ffi::sqlite3_file = ptr::null_mut();
    // SAFETY: the connection is open, and no other thread uses it, because its type is not `Sync`; the file's methods
    // exist as long as it is open. No more is read than fits into `bytes`.
    unsafe {
        let code = ffi::sqlite3_file_control(
            connection.handle(),
            c"main".as_ptr(),
            ffi::SQLITE_FCNTL_FILE_POINTER,
            (&raw mut file).cast(),
        );
        if code != ffi::SQLITE_OK || file.is_null() {
            return ffi::SQLITE_CANTOPEN;
        }
        let length = c_int::try_from(bytes.len()).unwrap_or(c_int::MAX);
        call!(file, xRead(bytes.as_mut_ptr().cast(), length, offset) or ffi::SQLITE_CANTOPEN)
    }
}
