//! The options with which a store is opened: durability, encryption, sizes, waiting.

use crate::types::error::{Error, ErrorKind, Result};
use std::fmt;
use std::time::Duration;
use zeroize::{Zeroize, Zeroizing};

/// The failures that an acknowledged commit survives.
///
/// The promise depends on every process that has the file open: a checkpoint copies the commits of all stores from the
/// write-ahead log (WAL) into the file, and a store of the class [`Process`](Self::Process) does so without a flush. So
/// it cannot have the file open beside a store of another class: the later one is refused with
/// [`ErrorKind::Durability`], but not on Windows. A store that only reads may stand beside every class. Settings of
/// other SQLite programs cannot be detected: `synchronous = off` breaks the promise, and SQLite's usual settings keep
/// it. A later store of the class `Process` breaks it too, if it copies the log of a store that has died.
///
/// ```
/// use touchstone_store::{Durability, ErrorKind, Options};
///
/// # let (directory, path) = touchstone_store_example::path()?;
/// let store = Options::new().durability(Durability::Strict).open(&path)?;
/// assert_eq!(store.durability(), Durability::Strict);
///
/// # if cfg!(unix) {
/// let beside = Options::new().durability(Durability::Process).open(&path);
/// assert_eq!(beside.err().map(|error| error.kind()), Some(ErrorKind::Durability));
/// # }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Durability {
    /// Survives a loss of power. A commit returns after a flush of the log; commits that wait together share one.
    Strict,
    /// Survives a crash of the process. After a loss of power the store is whole, but the newest commits may be gone.
    /// [`Transaction::durable`](crate::Transaction::durable) upgrades one transaction to [`Strict`](Self::Strict).
    #[default]
    Consistent,
    /// Survives only a crash of the process: a loss of power may damage the file. For data that can be made again.
    Process,
}

/// How pages are encrypted.
///
/// ```
/// use touchstone_store::{Cipher, EncryptionKey, Options};
///
/// # let (directory, path) = touchstone_store_example::path()?;
/// // A file that SQLCipher's own tools read too: `pragma key = "x'0707…07'"`.
/// let store = Options::new().key(EncryptionKey::raw([7; 32])).cipher(Cipher::SqlCipher).open(&path)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Cipher {
    /// AEGIS-256X2: authenticated, and made of the processor's own AES rounds, two blocks at a time. A passphrase goes
    /// through Argon2id, three times over 64 MiB. Tools of SQLite3 Multiple Ciphers read such a file with
    /// `pragma cipher = 'aegis'`, `pragma algorithm = 'aegis-256x2'`, and for a passphrase `pragma tcost = 3` and
    /// `pragma mcost = 65536`.
    #[default]
    Aegis,
    /// The encryption of `SQLCipher` 4: AES-256-CBC with HMAC-SHA512, at several times the cost; PBKDF2 for a
    /// passphrase. A page size other than 4,096 must be given at every opening: it is not in the clear in the file.
    SqlCipher,
}

/// The key or passphrase of an encrypted store.
///
/// ```
/// use touchstone_store::EncryptionKey;
///
/// let key = EncryptionKey::passphrase("correct horse battery staple");
/// // It never tells itself.
/// assert_eq!(format!("{key:?}"), "EncryptionKey(..)");
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct EncryptionKey(pub(crate) KeyMaterial);

/// The default page cache of a connection that reads.
pub(crate) const READER_CACHE_BYTES: u64 = 4 << 20;
/// The default page cache of the connection that writes.
pub(crate) const WRITER_CACHE_BYTES: u64 = 16 << 20;
/// SQLite counts kibibytes of a cache in 32 bits.
const CACHE_BYTES_MAX: u64 = (i32::MAX as u64) << 10;
/// Longer than any useful wait, and short enough to be added to any moment.
const BUSY_TIMEOUT_MAX: Duration = Duration::from_millis(i32::MAX as u64);

/// The bytes of a key.
pub(crate) const KEY_BYTES: usize = 32;
/// The bytes of a salt, which every encrypted file begins with.
pub(crate) const SALT_BYTES: usize = 16;

#[derive(Clone, PartialEq, Eq)]
pub(crate) enum KeyMaterial {
    /// Boxed: moving the bytes themselves would leave a copy behind, on some stack.
    Raw(Box<Zeroizing<[u8; KEY_BYTES]>>),
    Passphrase(Zeroizing<String>),
    /// The key that was derived from a passphrase and a file's salt.
    Derived {
        key: Box<Zeroizing<[u8; KEY_BYTES]>>,
        salt: [u8; SALT_BYTES],
    },
}

impl EncryptionKey {
    /// A key of 32 random bytes: opening needs no key derivation.
    ///
    /// ```
    /// use touchstone_store::{EncryptionKey, ErrorKind, Options};
    ///
    /// # let (directory, path) = touchstone_store_example::path()?;
    /// let store = Options::new().key(EncryptionKey::raw([7; 32])).open(&path)?;
    /// drop(store);
    /// let error = Options::new().key(EncryptionKey::raw([8; 32])).open(&path).err();
    /// assert_eq!(error.map(|error| error.kind()), Some(ErrorKind::WrongKey));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn raw(mut bytes: [u8; 32]) -> EncryptionKey {
        let mut key = Box::new(Zeroizing::new([0; KEY_BYTES]));
        key.copy_from_slice(&bytes);
        bytes.zeroize();
        EncryptionKey(KeyMaterial::Raw(key))
    }

    /// A passphrase. Opening the store derives a key from it once, which takes a tenth of a second or two, on purpose.
    ///
    /// ```
    /// use touchstone_store::{EncryptionKey, ErrorKind, Options, Store};
    ///
    /// # let (directory, path) = touchstone_store_example::path()?;
    /// let key = EncryptionKey::passphrase("correct horse battery staple");
    /// drop(Options::new().key(key).open(&path)?);
    /// let error = Store::open(&path).expect_err("the file is encrypted");
    /// assert_eq!(error.kind(), ErrorKind::Encrypted);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn passphrase(words: impl Into<String>) -> EncryptionKey {
        EncryptionKey(KeyMaterial::Passphrase(Zeroizing::new(words.into())))
    }

    /// The key in the form from which the engine derives no other key.
    pub(crate) fn engine_bytes(&self) -> Zeroizing<Vec<u8>> {
        let (key, salt): (&[u8], &[u8]) = match &self.0 {
            KeyMaterial::Raw(key) => (&key[..], &[]),
            KeyMaterial::Derived { key, salt } => (&key[..], salt),
            KeyMaterial::Passphrase(_) => (&[], &[]),
        };
        Zeroizing::new([b"raw:", key, salt].concat())
    }

    fn is_empty(&self) -> bool {
        matches!(&self.0, KeyMaterial::Passphrase(words) if words.is_empty())
    }
}

impl fmt::Debug for EncryptionKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("EncryptionKey(..)")
    }
}

/// How to open a store.
///
/// ```
/// use touchstone_store::{Durability, Options};
///
/// # let (directory, path) = touchstone_store_example::path()?;
/// let store = Options::new().durability(Durability::Strict).page_size(16_384).open(&path)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Options {
    pub(crate) durability: Durability,
    pub(crate) exclusive: bool,
    pub(crate) read_only: bool,
    pub(crate) create: bool,
    pub(crate) page_size: Option<u32>,
    pub(crate) cache_bytes: Option<u64>,
    pub(crate) busy_timeout: Duration,
    pub(crate) checkpoint_pages: u32,
    pub(crate) log_bytes_max: u64,
    pub(crate) key: Option<EncryptionKey>,
    pub(crate) cipher: Cipher,
    pub(crate) vfs: Option<String>,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            durability: Durability::default(),
            exclusive: false,
            read_only: false,
            create: true,
            page_size: None,
            cache_bytes: None,
            busy_timeout: Duration::from_secs(5),
            checkpoint_pages: 1000,
            log_bytes_max: 256 << 20,
            key: None,
            cipher: Cipher::default(),
            vfs: None,
        }
    }
}

impl Options {
    /// The defaults: shared with other processes, [`Consistent`](Durability::Consistent), not encrypted.
    ///
    /// ```
    /// use touchstone_store::{Durability, Options};
    ///
    /// # let (directory, path) = touchstone_store_example::path()?;
    /// let store = Options::new().open(&path)?;
    /// assert_eq!(store.durability(), Durability::Consistent);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn new() -> Options {
        Options::default()
    }

    /// The failures that every commit survives.
    ///
    /// ```
    /// use touchstone_store::{Durability, Options};
    ///
    /// # let (directory, path) = touchstone_store_example::path()?;
    /// let cache = Options::new().durability(Durability::Process).open(&path)?;
    /// assert_eq!(cache.durability(), Durability::Process);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn durability(mut self, durability: Durability) -> Options {
        self.durability = durability;
        self
    }

    /// Shuts other processes out for as long as the store is open, and saves the locks of every transaction. It must be
    /// the first store of the file in this program: beside a shared store it is shared too. On Windows SQLite has no
    /// such way to open a file, and the store is shared: see [`Store::is_exclusive`](crate::Store::is_exclusive).
    ///
    /// ```
    /// use touchstone_store::Options;
    ///
    /// # let (directory, path) = touchstone_store_example::path()?;
    /// let store = Options::new().exclusive(true).open(&path)?;
    /// # if cfg!(unix) {
    /// assert!(store.is_exclusive()?);
    /// # }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn exclusive(mut self, exclusive: bool) -> Options {
        self.exclusive = exclusive;
        self
    }

    /// Opens the file to read only. A file of an older version is read as it is. The log (`…-wal`) and its index
    /// (`…-shm`) lie beside the file, and are made if they are missing, so the directory must be writable all the same.
    /// A store that only reads leaves both there when it is closed; the next store that can write removes them. A
    /// [`backup`](crate::Store::backup) has neither: it is read from a read-only file system too. Where another store opens the
    /// backup to write meanwhile, live queries of this one are not told of its commits: open it again.
    ///
    /// ```
    /// # use touchstone_store_example::*; let (directory, store) = store()?;
    /// use touchstone_store::{ErrorKind, Options};
    ///
    /// let reader = Options::new().read_only(true).open(store.path())?;
    /// let refused = reader.insert(&Task { id: 1, title: "write".into(), due: None });
    /// assert_eq!(refused.map_err(|error| error.kind()), Err(ErrorKind::ReadOnly));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn read_only(mut self, read_only: bool) -> Options {
        self.read_only = read_only;
        self
    }

    /// Whether to make the file if there is none (the default). It is made when the store is opened, and never later.
    ///
    /// ```
    /// use touchstone_store::{ErrorKind, Options};
    ///
    /// # let (directory, path) = touchstone_store_example::path()?;
    /// let error = Options::new().create(false).open(&path).expect_err("there is no such file");
    /// assert_eq!(error.kind(), ErrorKind::NotFound);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn create(mut self, create: bool) -> Options {
        self.create = create;
        self
    }

    /// The size of a new file's pages in bytes, a power of two from 512 to 65,536; 4,096 by default. Bigger pages are
    /// better for bulk, smaller ones for single commits. An existing file keeps its own page size.
    ///
    /// ```
    /// use touchstone_store::{ErrorKind, Options};
    ///
    /// # let (directory, path) = touchstone_store_example::path()?;
    /// let error = Options::new().page_size(5000).open(&path).expect_err("it is no power of two");
    /// assert_eq!(error.kind(), ErrorKind::Invalid);
    /// let store = Options::new().page_size(16_384).open(&path)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn page_size(mut self, bytes: u32) -> Options {
        self.page_size = Some(bytes);
        self
    }

    /// The memory of each connection's page cache in bytes, at most two tebibytes. The default is 16 MiB for the
    /// store's one writing connection, and 4 MiB for each reading one: as many as threads read at a time, of which 16
    /// are kept. A cache fills with the pages that are read, so it is never larger than the file.
    ///
    /// Measured with caches of 2, 4, 16 and 64 MB (AMD EPYC, two virtual processors, ext4; rows of 130 bytes with one
    /// index; microseconds of the processor's time, medians of three):
    ///
    /// - an update within a transaction of 20,000, at random: 13.4, 12.2, 7.8 and 5.1 in a file of 22 MB, 22, 21, 17
    ///   and 15 in one of 108 MB, and 28 to 31 with every cache in one of 1 GB; a removal: 9.3, 8.7, 5.7 and 2.8, then
    ///   17, 17, 13 and 10, then 17 to 23; a transaction of one update: no difference;
    /// - a get, nine of ten among the newest twentieth: 0.7 with every cache, 2.4, 1.3, 1.1 and 1.2, then 2.5, 2.8, 2.5
    ///   and 1.8; one at random in the largest file: 3.4 to 4.0 with every cache;
    /// - the memory of the process, which had read from the second file with one thread: 8, 10, 23 and 74 MB, and with
    ///   eight: 23, 40, 143 and 551 MB.
    ///
    /// So the writer's cache is worth most, and there is one of it; a reader's is worth little beyond 4 MiB, and each
    /// thread that reads pays for one.
    ///
    /// ```
    /// use touchstone_store::Options;
    ///
    /// # let (directory, path) = touchstone_store_example::path()?;
    /// let store = Options::new().cache_bytes(64 << 20).open(&path)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn cache_bytes(mut self, bytes: u64) -> Options {
        // SQLite takes a greater number as no cache at all.
        self.cache_bytes = Some(bytes.min(CACHE_BYTES_MAX));
        self
    }

    /// How long a transaction waits for another *process*, or for another `Store` of this process on the same file; 5
    /// seconds by default, at most 24 days. Threads that share a store wait in a queue, without a limit.
    ///
    /// ```
    /// use std::time::Duration;
    /// use touchstone_store::Options;
    ///
    /// # let (directory, path) = touchstone_store_example::path()?;
    /// let store = Options::new().busy_timeout(Duration::from_millis(200)).open(&path)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn busy_timeout(mut self, timeout: Duration) -> Options {
        self.busy_timeout = timeout.min(BUSY_TIMEOUT_MAX);
        self
    }

    /// How many pages the log has when a checkpoint copies it into the file, off the committing thread; 1,000 by
    /// default, or half of [`log_bytes_max`](Options::log_bytes_max) if that is less.
    ///
    /// ```
    /// use touchstone_store::Options;
    ///
    /// # let (directory, path) = touchstone_store_example::path()?;
    /// let store = Options::new().checkpoint_pages(10_000).open(&path)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn checkpoint_pages(mut self, pages: u32) -> Options {
        self.checkpoint_pages = pages.max(1);
        self
    }

    /// How large the log may become while a snapshot is held open; 256 MiB by default. Beyond that the snapshot
    /// expires, whichever process has committed. A snapshot of the newest state does not expire. A snapshot that was
    /// taken when the log already had this size expires only after the log has doubled.
    ///
    /// ```
    /// use touchstone_store::Options;
    ///
    /// # let (directory, path) = touchstone_store_example::path()?;
    /// let store = Options::new().log_bytes_max(1 << 30).open(&path)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn log_bytes_max(mut self, bytes: u64) -> Options {
        self.log_bytes_max = bytes;
        self
    }

    /// Encrypts a new file, or opens an encrypted one. It does not encrypt a plain file, which is refused: see
    /// [`Store::change_key`](crate::Store::change_key).
    ///
    /// ```
    /// use touchstone_store::{EncryptionKey, ErrorKind, Options};
    ///
    /// # let (directory, path) = touchstone_store_example::path()?;
    /// let options = Options::new().key(EncryptionKey::raw([7; 32]));
    /// drop(options.clone().open(&path)?);
    /// let other = options.key(EncryptionKey::raw([8; 32])).open(&path).err();
    /// assert_eq!(other.map(|error| error.kind()), Some(ErrorKind::WrongKey));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn key(mut self, key: EncryptionKey) -> Options {
        self.key = Some(key);
        self
    }

    /// How pages are encrypted, if there is a key.
    ///
    /// ```
    /// use touchstone_store::{Cipher, EncryptionKey, Options};
    ///
    /// # let (directory, path) = touchstone_store_example::path()?;
    /// let key = EncryptionKey::raw([7; 32]);
    /// let store = Options::new().key(key).cipher(Cipher::SqlCipher).open(&path)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn cipher(mut self, cipher: Cipher) -> Options {
        self.cipher = cipher;
        self
    }

    /// The name of a registered SQLite VFS to reach files through; for tests that make files fail.
    ///
    /// It must stay registered until the last store on it is closed: an open store opens more connections when it needs
    /// them. Without it, or with another VFS under its name, that is refused with [`Invalid`](ErrorKind::Invalid).
    /// Files that are open by then still call it, so it must stay in memory.
    ///
    /// ```
    /// use touchstone_store::Options;
    ///
    /// # let (directory, path) = touchstone_store_example::path()?;
    /// assert!(Options::new().vfs("no such one").open(&path).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn vfs(mut self, name: impl Into<String>) -> Options {
        self.vfs = Some(name.into());
        self
    }

    pub(crate) fn check(&self) -> Result<()> {
        if let Some(bytes) = self.page_size
            && !(bytes.is_power_of_two() && (512..=65_536).contains(&bytes))
        {
            let message = format!("the page size {bytes} is no power of two from 512 to 65536");
            return Err(Error::new(ErrorKind::Invalid, message));
        }
        if self.key.as_ref().is_some_and(EncryptionKey::is_empty) {
            return Err(Error::new(
                ErrorKind::Invalid,
                "the passphrase is empty: give one, or no key at all",
            ));
        }
        Ok(())
    }
}
