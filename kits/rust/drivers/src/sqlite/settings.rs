//! Settings by their neutral names as SQLite's pragmas, and what took effect read back from the engine.

use super::Error;
use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension};
use touchstone_kit::{Failure, Open, Setting, Settings};

const JOURNAL_MODES: [&str; 6] = ["delete", "truncate", "persist", "memory", "off", "wal"];
const SYNCHRONOUS: [&str; 4] = ["off", "normal", "full", "extra"];
const LOCKING_MODES: [&str; 2] = ["normal", "exclusive"];
const NO_YES: [&str; 2] = ["no", "yes"];
/// A raw key, so that opening does not measure the derivation of a key from a password.
const KEY: &str = "x'000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f'";

/// The pragmas for the settings asked for, to be run in this order right after opening: the key before anything
/// touches the file, the page size and the locking mode before the journal mode, because WAL fixes them.
///
/// # Errors
/// When a setting has a value that SQLite does not know.
pub fn pragmas(open: &Open) -> Result<String, Failure> {
    let mut sql = String::new();
    let mut pragma = |name: &str, value: Option<String>| {
        if let Some(value) = value {
            sql.push_str(&format!("pragma {name} = {value};"));
        }
    };
    let number = |name| Ok::<_, Failure>(open.number(name)?.map(|number| number.to_string()));
    let word = |name, words| Ok::<_, Failure>(open.word(name, words)?.map(str::to_owned));
    let cipher = open.word("cipher", &["none", "sqlcipher-4", "sqlcipher-3"])?.unwrap_or("none");
    let encrypted = cipher != "none";
    pragma("key", encrypted.then(|| format!("\"{KEY}\"")));
    // It sets the page size too, so it comes before that.
    pragma("cipher_compatibility", (cipher == "sqlcipher-3").then(|| "3".to_owned()));
    pragma("busy_timeout", number("busy_timeout_ms")?);
    pragma(if encrypted { "cipher_page_size" } else { "page_size" }, number("page_size_bytes")?);
    pragma("locking_mode", word("locking_mode", &LOCKING_MODES)?);
    pragma("journal_mode", word("journal_mode", &JOURNAL_MODES)?);
    pragma("synchronous", word("synchronous", &SYNCHRONOUS)?);
    // SQLite takes and tells both everywhere, and they act on Apple's systems only.
    pragma("fullfsync", word("fullfsync", &NO_YES)?);
    pragma("checkpoint_fullfsync", word("checkpoint_fullfsync", &NO_YES)?);
    // Negative: in KiB. A positive cache size would be a number of pages.
    pragma("cache_size", open.number("cache_size_bytes")?.map(|bytes| format!("-{}", bytes / 1024)));
    pragma("mmap_size", number("mmap_size_bytes")?);
    pragma("wal_autocheckpoint", number("wal_autocheckpoint_pages")?);
    Ok(sql)
}

/// Whether checkpoints are asked for on a thread of their own.
///
/// # Errors
/// When `checkpoint` is asked for with an unknown word.
pub fn background(open: &Open) -> Result<bool, Failure> {
    Ok(open.word("checkpoint", &["commit", "background"])? == Some("background"))
}

/// The settings that took effect. `query` runs a pragma and returns its first column, if it has an answer.
///
/// # Errors
/// When `query` fails.
pub fn read_back<E>(
    background: bool,
    mut query: impl FnMut(&str) -> Result<Option<Setting>, E>,
) -> Result<Settings, E> {
    let mut settings = Settings::new();
    for (name, pragma) in PRAGMAS {
        if let Some(setting) = query(pragma)? {
            settings.insert(name.into(), number_if_it_is_one(setting));
        }
    }
    for (name, words) in
        [("synchronous", &SYNCHRONOUS[..]), ("fullfsync", &NO_YES), ("checkpoint_fullfsync", &NO_YES)]
    {
        if let Some(Setting::Number(number)) = settings.get(name)
            && let Some(word) = words.get(*number as usize)
        {
            settings.insert(name.into(), Setting::from(*word));
        }
    }
    // Below zero in KiB, above it in pages.
    if let (Some(Setting::Number(size)), Some(Setting::Number(page_size_bytes))) =
        (settings.get("cache_size_bytes"), settings.get("page_size_bytes"))
    {
        let bytes = if *size < 0 { -size * 1024 } else { size * page_size_bytes };
        settings.insert("cache_size_bytes".into(), Setting::Number(bytes));
    }
    settings.insert("cipher".into(), Setting::from(cipher(&mut query)?));
    settings.insert("checkpoint".into(), Setting::from(if background { "background" } else { "commit" }));
    Ok(settings)
}

/// Which of SQLCipher's schemes the pages of this very connection are in, as the engine says.
fn cipher<E>(query: &mut impl FnMut(&str) -> Result<Option<Setting>, E>) -> Result<&'static str, E> {
    // Only SQLCipher knows the pragma.
    if query("pragma cipher_status")?.map(number_if_it_is_one) != Some(Setting::Number(1)) {
        return Ok("none");
    }
    let mut scheme = Vec::new();
    for pragma in ["cipher_use_hmac", "cipher_hmac_algorithm", "cipher_kdf_algorithm", "kdf_iter"] {
        scheme.push(query(&format!("pragma {pragma}"))?.map_or_else(String::new, |told| told.to_string()));
    }
    Ok(match scheme.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["1", "HMAC_SHA512", "PBKDF2_HMAC_SHA512", "256000"] => "sqlcipher-4",
        ["1", "HMAC_SHA1", "PBKDF2_HMAC_SHA1", "64000"] => "sqlcipher-3",
        _ => "sqlcipher-other",
    })
}

const PRAGMAS: [(&str, &str); 10] = [
    ("journal_mode", "pragma journal_mode"),
    ("locking_mode", "pragma locking_mode"),
    ("synchronous", "pragma synchronous"),
    ("fullfsync", "pragma fullfsync"),
    ("checkpoint_fullfsync", "pragma checkpoint_fullfsync"),
    ("page_size_bytes", "pragma page_size"),
    ("cache_size_bytes", "pragma cache_size"),
    ("mmap_size_bytes", "pragma mmap_size"),
    ("wal_autocheckpoint_pages", "pragma wal_autocheckpoint"),
    ("busy_timeout_ms", "pragma busy_timeout"),
];

/// SQLCipher answers some pragmas with text where SQLite answers with a number.
fn number_if_it_is_one(setting: Setting) -> Setting {
    match setting {
        Setting::Word(word) => word.parse().map_or(Setting::Word(word), Setting::Number),
        number => number,
    }
}

/// Runs a pragma on a connection of rusqlite, for [`read_back`].
///
/// # Errors
/// When SQLite refuses.
pub fn query(connection: &Connection, pragma: &str) -> Result<Option<Setting>, Error> {
    let value = connection.query_row(pragma, (), |row| row.get(0)).optional()?;
    Ok(value.and_then(|value| match value {
        Value::Integer(number) => Some(Setting::Number(number)),
        Value::Text(word) => Some(Setting::Word(word)),
        _ => None,
    }))
}
