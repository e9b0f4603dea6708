/* The engine and the store's additions to it, in one unit: the additions call static functions of the engine. */

#include "sqlite3mc_amalgamation.c"

/* docs/store-engine.md lists the engine's internals that the store relies on; these assertions check some of them. */

#if SQLITE_VERSION_NUMBER != 3054000
#error "docs/store-engine.md was confirmed for another SQLite: go through that page, then change it and this number"
#endif

/* A compiler of C before 2011 has no such assertions; the others that build this unit have them. */
#if defined(_MSC_VER) && !defined(__clang__) && (!defined(__STDC_VERSION__) || __STDC_VERSION__ < 201112L)
#define _Static_assert(condition, words) struct touchstone_not_asserted
#define _Generic(expression, ...) 1
#endif

#define SIZE(type, bytes) _Static_assert(sizeof(type) == (bytes), "another size than docs/store-engine.md says")
#define PLACE(type, field, offset, bytes)                                                                       \
  _Static_assert(offsetof(type, field) == (offset) && sizeof(((type *)0)->field) == (bytes),                   \
                 "another place than docs/store-engine.md says")
#define NUMBER(constant, value) _Static_assert((constant) == (value), "another number than docs/store-engine.md says")
#define TYPE(expression, type) \
  _Static_assert(_Generic((expression), type: 1, default: 0), "another type than docs/store-engine.md says")

/* The header of the WAL index (the log's index), which processes share: `log.rs` reads it as six words of 64 bits. */
SIZE(WalIndexHdr, 48);
PLACE(WalIndexHdr, iVersion, 0, 4);
PLACE(WalIndexHdr, iChange, 8, 4);
PLACE(WalIndexHdr, isInit, 12, 1);
PLACE(WalIndexHdr, mxFrame, 16, 4);
PLACE(WalIndexHdr, nPage, 20, 4);
PLACE(WalIndexHdr, aFrameCksum, 24, 8);
PLACE(WalIndexHdr, aSalt, 32, 8);
PLACE(WalIndexHdr, aCksum, 40, 8);
/* Behind its two copies: the words that count copied frames, of which the store may reset nBackfill; the locks; and
 * four bytes that SQLite does not use, where stores give each other hints. */
NUMBER(WALINDEX_HDR_SIZE, 136);
PLACE(WalCkptInfo, nBackfill, 0, 4);
PLACE(WalCkptInfo, aLock, 24, SQLITE_SHM_NLOCK);
PLACE(WalCkptInfo, nBackfillAttempted, 32, 4);
PLACE(WalCkptInfo, notUsed0, 36, 4);
NUMBER(2 * sizeof(WalIndexHdr) + offsetof(WalCkptInfo, notUsed0), 132);
NUMBER(WALINDEX_PGSZ, 32768);
/* The layout of the log and the lock that `log_vfs` relies on. */
NUMBER(WAL_HDRSIZE, 32);
NUMBER(WAL_FRAME_HDRSIZE, 24);
NUMBER(WAL_WRITE_LOCK, 0);
/* Fields, functions and constants that the functions below use. */
TYPE(((sqlite3 *)0)->aDb, Db *);
TYPE(((sqlite3 *)0)->pVdbe, Vdbe *);
TYPE(((sqlite3 *)0)->xAuth, sqlite3_xauth);
TYPE(((sqlite3 *)0)->pAuthArg, void *);
TYPE(((Db *)0)->pBt, Btree *);
TYPE(((sqlite3 *)0)->nDb, int);
TYPE(((Db *)0)->pSchema, Schema *);
TYPE(((Schema *)0)->trigHash, Hash);
TYPE(((Schema *)0)->schemaFlags, u16);
TYPE(((Schema *)0)->cache_size, int);
TYPE(((Schema *)0)->schema_cookie, int);
TYPE(((Table *)0)->tnum, Pgno);
TYPE(sqlite3FindTable, Table *(*)(sqlite3 *, const char *, const char *));
TYPE(sqlite3BtreeGetMeta, void (*)(Btree *, int, u32 *));
TYPE(((Hash *)0)->count, unsigned int);
TYPE(((Btree *)0)->nBackup, int);
TYPE(sqlite3PagerBackupPtr, sqlite3_backup **(*)(Pager *));
TYPE(((Pager *)0)->pWal, Wal *);
TYPE(((Pager *)0)->dbSize, Pgno);
TYPE(((Pager *)0)->dbOrigSize, Pgno);
TYPE(((Wal *)0)->hdr, WalIndexHdr);
TYPE(((Wal *)0)->readLock, i16);
TYPE(((Wal *)0)->exclusiveMode, u8);
TYPE(((Wal *)0)->bShmUnreliable, u8);
TYPE(((Wal *)0)->nWiData, int);
TYPE(((Wal *)0)->apWiData, volatile u32 **);
TYPE(((Wal *)0)->szPage, u32);
TYPE(((Wal *)0)->hdr.mxFrame, u32);
TYPE(((Wal *)0)->hdr.isInit, u8);
TYPE(((Wal *)0)->hdr.szPage, u16);
TYPE(((Wal *)0)->hdr.bigEndCksum, u8);
TYPE(((Pager *)0)->eState, u8);
TYPE(((Pager *)0)->errCode, int);
TYPE(((Pager *)0)->pBackup, sqlite3_backup *);
TYPE(((Pager *)0)->iDataVersion, u32);
TYPE(((Pager *)0)->pPCache, PCache *);
NUMBER(HASHTABLE_NPAGE, 4096);
NUMBER(HASHTABLE_NPAGE_ONE, 4096 - WALINDEX_HDR_SIZE / 4);
TYPE(((Wal *)0)->pWalFd, sqlite3_file *);
TYPE(((Wal *)0)->hdr.aFrameCksum[0], u32);
TYPE(sqlite3Get4byte, u32 (*)(const u8 *));
TYPE(walFrameOffset((u32)0, (u32)0), i64);
TYPE(sqlite3OsRead, int (*)(sqlite3_file *, void *, int, i64));
TYPE(walFramePage, int (*)(u32));
TYPE(walIndexTryHdr, int (*)(Wal *, int *));
TYPE(walShmBarrier, void (*)(Wal *));
TYPE(sqlite3PagerLookup, DbPage *(*)(Pager *, Pgno));
TYPE(sqlite3PcacheDrop, void (*)(PgHdr *));
TYPE(sqlite3PcacheRefCount, i64 (*)(PCache *));
TYPE(sqlite3PcachePagecount, int (*)(PCache *));
TYPE(((Vdbe *)0)->pVNext, Vdbe *);
TYPE(((Vdbe *)0)->aOp, Op *);
TYPE(((Vdbe *)0)->nOp, int);
TYPE(((VdbeOp *)0)->opcode, u8);
TYPE(((VdbeOp *)0)->p4type, signed char);
TYPE(((VdbeOp *)0)->p4.pVtab, VTable *);
TYPE(sqlite3VtabUnlock, void (*)(VTable *));
TYPE(((Vdbe *)0)->pProgram, SubProgram *);
TYPE(((SubProgram *)0)->aOp, VdbeOp *);
TYPE(((SubProgram *)0)->nOp, int);
TYPE(((SubProgram *)0)->pNext, SubProgram *);
TYPE(((sqlite3 *)0)->pParse, Parse *);
TYPE(((Parse *)0)->nErr, int);
TYPE(((Parse *)0)->rc, int);
TYPE(sqlite3Error, void (*)(sqlite3 *, int));
TYPE(sqlite3ErrorMsg, void (*)(Parse *, const char *, ...));
TYPE(((sqlite3 *)0)->pSavepoint, Savepoint *);
TYPE(((Savepoint *)0)->pNext, Savepoint *);
TYPE(((Savepoint *)0)->zName, char *);
TYPE(((sqlite3 *)0)->isTransactionSavepoint, u8);
TYPE(((sqlite3 *)0)->nVdbeActive, int);
#if SQLITE_OS_UNIX
#include <pthread.h>
TYPE(inodeList, unixInodeInfo *);
TYPE(((unixInodeInfo *)0)->pNext, unixInodeInfo *);
TYPE(((unixInodeInfo *)0)->pShmNode, unixShmNode *);
TYPE(((unixInodeInfo *)0)->fileId.dev, dev_t);
TYPE(((unixInodeInfo *)0)->fileId.ino, u64);
TYPE(((unixShmNode *)0)->hShm, int);
TYPE(osFstat(0, (struct stat *)0), int);
TYPE(((unixShmNode *)0)->pShmMutex, sqlite3_mutex *);
TYPE(((unixShmNode *)0)->szRegion, int);
TYPE(unixShmRegionPerMap, int (*)(void));
TYPE(((unixShmNode *)0)->nRegion, u16);
TYPE(((unixShmNode *)0)->apRegion, char **);
TYPE(unixEnterMutex, void (*)(void));
TYPE(unixLeaveMutex, void (*)(void));
TYPE(vfsList, sqlite3_vfs *);
TYPE(unixFileSize, int (*)(sqlite3_file *, i64 *));
TYPE(((unixFile *)0)->h, int);
TYPE(mcIoFileSize, int (*)(sqlite3_file *, sqlite3_int64 *));
TYPE(((sqlite3mc_file *)0)->pFile, sqlite3_file *);
TYPE(((sqlite3mc_file *)0)->tempCipher, mcTempCipher *);
TYPE(((sqlite3mc_vfs *)0)->mutex, sqlite3_mutex *);
TYPE(((sqlite3_mutex *)0)->mutex, pthread_mutex_t);
#endif
TYPE(sqlite3BtreePager, Pager *(*)(Btree *));
TYPE(sqlite3BtreeTxnState, int (*)(Btree *));
TYPE(sqlite3BtreeLastPage, Pgno (*)(Btree *));
TYPE(sqlite3BtreeSetCacheSize, int (*)(Btree *, int));
TYPE(sqlite3BtreeGetPageSize, int (*)(Btree *));
TYPE(sqlite3PagerGet, int (*)(Pager *, Pgno, DbPage **, int));
TYPE(sqlite3PagerGetData, void *(*)(DbPage *));
TYPE(sqlite3PagerUnref, void (*)(DbPage *));
TYPE(sqlite3mcSecureZeroMemory, void (*)(void *, size_t));
TYPE(((CipherDescriptor *)0)->m_generateKey, GenerateKey_t);
TYPE(((CipherDescriptor *)0)->m_encryptPage, EncryptPage_t);
TYPE(((CipherDescriptor *)0)->m_decryptPage, DecryptPage_t);
TYPE(argon2id_hash_raw, int (*)(uint32_t, uint32_t, uint32_t, const void *, size_t, const void *, size_t, void *, size_t));
TYPE(fastpbkdf2_hmac_sha512, void (*)(const uint8_t *, size_t, const uint8_t *, size_t, uint32_t, uint8_t *, size_t));

/* The ciphers derive a key for each connection. To derive it once for a store, their functions are called by name. */

/* The second recommendation of RFC 9106, but with one lane: the engine would take several one after the other. */
#define ARGON2_PASSES 3
#define ARGON2_KIBIBYTES 65536
#define ARGON2_LANES 1

/* The number of SQLCipher 4; another one would make other files. */
#define PBKDF2_ROUNDS 256000

/* More bytes than the functions below have on the stack with all that they call: up to 7,000 for Argon2 and 3,100 for a
 * page or PBKDF2 (GCC 12, with and without optimization). */
#define CLEARED_BYTES 8192

/* Overwrites the part of the stack that a function has used before it returned. A thread's stack outlives the store,
 * even that of a thread that has ended: the C library keeps it for the next thread. */
static SQLITE_NOINLINE void clear_stack(void) {
  unsigned char left[CLEARED_BYTES];
  sqlite3mcSecureZeroMemory(left, sizeof(left));
}

int touchstone_derive_argon2id(const unsigned char *words, size_t length, const unsigned char *salt,
                               unsigned char *key) {
  int code = argon2id_hash_raw(ARGON2_PASSES, ARGON2_KIBIBYTES, ARGON2_LANES, words, length, salt, 16, key, 32);
  clear_stack();
  return code;
}

void touchstone_derive_pbkdf2(const unsigned char *words, size_t length, const unsigned char *salt,
                              unsigned char *key) {
  fastpbkdf2_hmac_sha512(words, length, salt, 16, PBKDF2_ROUNDS, key, 32);
  clear_stack();
}

/* SQLCipher's cipher copies the key to the stack for each page. AEGIS has the key in registers only. */
static void generate_key(void *cipher, char *words, int length, int rekey, unsigned char *salt) {
  mcSQLCipherDescriptor.m_generateKey(cipher, words, length, rekey, salt);
  clear_stack();
}

static int encrypt_page(void *cipher, int page, unsigned char *data, int length, int reserved) {
  int code = mcSQLCipherDescriptor.m_encryptPage(cipher, page, data, length, reserved);
  clear_stack();
  return code;
}

static int decrypt_page(void *cipher, int page, unsigned char *data, int length, int reserved, int check) {
  int code = mcSQLCipherDescriptor.m_decryptPage(cipher, page, data, length, reserved, check);
  clear_stack();
  return code;
}

/* Makes SQLCipher's cipher leave no key on the stack, from now on. The engine keeps its ciphers' functions in a table,
 * which each initialization fills again. */
void touchstone_clear_after_ciphers(void) {
  sqlite3_mutex *mutex = sqlite3_mutex_alloc(SQLITE_MUTEX_STATIC_MAIN);
  int at;
  sqlite3_mutex_enter(mutex);
  for (at = 0; at < globalCipherCount; at++) {
    CipherDescriptor *known = &globalCodecDescriptorTable[at];
    if (known->m_encryptPage != mcSQLCipherDescriptor.m_encryptPage) continue;
    known->m_generateKey = generate_key;
    known->m_encryptPage = encrypt_page;
    known->m_decryptPage = decrypt_page;
  }
  sqlite3_mutex_leave(mutex);
}

/* Copies bytes of a page as the connection's transaction sees it. `sqlite_dbpage` takes a step of a virtual machine, an
 * allocation and a copy of the whole page for the same. */
int touchstone_page_copy(sqlite3 *connection, unsigned number, unsigned from, unsigned char *bytes, unsigned length) {
  Btree *tree = connection->aDb[0].pBt;
  DbPage *page = 0;
  int code = SQLITE_MISUSE;
  if (sqlite3BtreeTxnState(tree) != SQLITE_TXN_NONE) {
    if (number == 0 || number > sqlite3BtreeLastPage(tree)) return SQLITE_CORRUPT;
    if ((u64)from + length > (u64)sqlite3BtreeGetPageSize(tree)) return SQLITE_CORRUPT;
    code = sqlite3PagerGet(sqlite3BtreePager(tree), number, &page, 0);
  }
  if (code != SQLITE_OK) {
    sqlite3Error(connection, code);
    return code;
  }
  memcpy(bytes, (unsigned char *)sqlite3PagerGetData(page) + from, length);
  sqlite3PagerUnref(page);
  return SQLITE_OK;
}

/* The number of pages of the file, as the connection's transaction sees it; 0 outside of a transaction. */
unsigned touchstone_page_count(sqlite3 *connection) {
  Btree *tree = connection->aDb[0].pBt;
  return sqlite3BtreeTxnState(tree) == SQLITE_TXN_NONE ? 0 : sqlite3BtreeLastPage(tree);
}

/* The size of a page, after the first read. Unlike the pragma, it is no statement, which could be interrupted. */
unsigned touchstone_page_bytes(sqlite3 *connection) {
  return sqlite3BtreeGetPageSize(connection->aDb[0].pBt);
}

/* Whether the transaction has the last page number, 0xffffffff, to which only damage leads. A commit drops cached pages
 * from the page after the last one on. Here that number wraps to 0: even the first page, which is in use, would go. */
int touchstone_has_last_page(sqlite3 *connection) {
  return sqlite3BtreePager(connection->aDb[0].pBt)->dbSize == 0xffffffff;
}

/* Whether the file had the last page number before the transaction, as a damaged log's header may say. A rollback drops
 * pages after the last one too, so the number is changed here. The caller rolls back at once. */
int touchstone_spare_last_page(sqlite3 *connection) {
  Pager *pager = sqlite3BtreePager(connection->aDb[0].pBt);
  if (pager->dbOrigSize != 0xffffffff) return 0;
  pager->dbOrigSize = pager->dbSize = 0xfffffffe;
  return 1;
}

/* Whether the last frame of an index header is unchanged in the log, and so, by its cumulative checksum, all frames
 * before it. A recovered log may have lost frames, and have others in their place under the same salts. */
static int has_frame(Wal *log, const WalIndexHdr *header) {
  u8 sum[8];
  i64 place = walFrameOffset(header->mxFrame, log->szPage) + WAL_FRAME_HDRSIZE - sizeof(sum);
  if (header->mxFrame == 0) return 1;
  return sqlite3OsRead(log->pWalFd, sum, sizeof(sum), place) == SQLITE_OK
    && sqlite3Get4byte(sum) == header->aFrameCksum[0]
    && sqlite3Get4byte(sum + 4) == header->aFrameCksum[1];
}

/* Whether each frame from one index header to another is known: the log has not restarted or lost frames between them,
 * and the frames are no more than the pages that would be dropped without knowing them. */
static int are_known(Wal *log, const WalIndexHdr *from, int pages) {
  const WalIndexHdr *to = &log->hdr;
  return memcmp(from->aSalt, to->aSalt, sizeof(to->aSalt)) == 0
    && from->szPage == to->szPage
    && from->bigEndCksum == to->bigEndCksum
    && from->mxFrame <= to->mxFrame
    && to->mxFrame - from->mxFrame <= (u32)pages
    && to->mxFrame <= HASHTABLE_NPAGE_ONE + (u32)(log->nWiData - 1) * HASHTABLE_NPAGE
    && has_frame(log, from);
}

/* Drops the cached pages that the frames from `first` to `last` hold; whether that was possible. Another process may
 * write the index meanwhile. It changes the index's header before that, and SQLite compares the header after this. */
static SQLITE_NO_TSAN int drop_written(Pager *pager, u32 first, u32 last) {
  u32 frame;
  for (frame = first; frame <= last; frame++) {
    int region = walFramePage(frame);
    volatile u32 *index = pager->pWal->apWiData[region];
    Pgno number;
    DbPage *page;
    if (index == 0) return 0;
    number = region == 0 ? index[WALINDEX_HDR_SIZE / sizeof(u32) + frame - 1]
                         : index[(frame - 1 - HASHTABLE_NPAGE_ONE) % HASHTABLE_NPAGE];
    if (number == 0) return 0;
    page = sqlite3PagerLookup(pager, number);
    if (page != 0) sqlite3PcacheDrop(page);
  }
  return 1;
}

/* Whether the connection has no transaction, and SQLite would find its page cache as its last one left it. */
static int rests(const Pager *pager) {
  const Wal *log = pager->pWal;
  return pager->eState == PAGER_OPEN
    && pager->errCode == SQLITE_OK
    && pager->pBackup == 0
    && !USEFETCH(pager)
    && sqlite3PcacheRefCount(pager->pPCache) == 0
    && log != 0
    && log->readLock < 0
    && log->exclusiveMode == WAL_NORMAL_MODE
    && !log->bShmUnreliable
    && log->nWiData > 0
    && log->apWiData[0] != 0
    && log->hdr.isInit;
}

/* Updates the copy of the index header and drops the pages of the frames since then; whether that was possible. */
static int catch_up(Pager *pager, const WalIndexHdr *from) {
  Wal *log = pager->pWal;
  int is_other = 0;
  return walIndexTryHdr(log, &is_other) == 0
    && is_other
    && are_known(log, from, sqlite3PcachePagecount(pager->pPCache))
    && drop_written(pager, from->mxFrame + 1, log->hdr.mxFrame);
}

/* Keeps the cached pages that nobody has written since the connection's last transaction, for one that begins now.
 * SQLite compares the header of the index with the connection's copy of it: if nobody has committed it keeps all pages,
 * and otherwise none. So the copy is updated here, and the pages of the log's new frames are dropped. If another commit
 * follows, SQLite finds a header that differs from the copy, and drops all pages as usual. */
void touchstone_keep_pages(sqlite3 *connection) {
  Pager *pager = sqlite3BtreePager(connection->aDb[0].pBt);
  Wal *pWal = pager->pWal; /* SEH_TRY needs this name. */
  WalIndexHdr before;
  u32 page_bytes;
  int is_kept = 0;
  if (!rests(pager)) return;
  before = pWal->hdr;
  page_bytes = pWal->szPage;
  SEH_TRY {
    is_kept = catch_up(pager, &before);
  }
  SEH_EXCEPT( is_kept = 0; )
  if (is_kept) {
    pager->iDataVersion++;
    walShmBarrier(pWal);
    return;
  }
  pWal->hdr = before;
  pWal->szPage = page_bytes;
}

/* Limits the page cache to this many KiB. The pragma would read the whole schema first. */
void touchstone_cache(sqlite3 *connection, int kibibytes) {
  Db *file = &connection->aDb[0];
  file->pSchema->cache_size = -kibibytes;
  sqlite3BtreeSetCacheSize(file->pBt, -kibibytes);
}

static int drops_pages(const VdbeOp *step, int count) {
  for (; count > 0; count--, step++) {
    if (step->opcode == OP_Clear) return 1;
  }
  return 0;
}

/* Makes statements that drop a table's pages instead of deleting its rows be prepared again before they next run.
 * SQLite chooses that when it prepares without a hook; a hook that is set later is not called for those rows. */
void touchstone_expire_page_drops(sqlite3 *connection) {
  Vdbe *statement;
  for (statement = connection->pVdbe; statement; statement = statement->pVNext) {
    int drops = drops_pages(statement->aOp, statement->nOp);
    SubProgram *trigger;
    for (trigger = statement->pProgram; trigger && !drops; trigger = trigger->pNext) {
      drops = drops_pages(trigger->aOp, trigger->nOp);
    }
    if (drops && !statement->expired) statement->expired = 2;
  }
}

/* Prepares a statement, and lets the authorizer see what it reads. If SQLite's own function set the authorizer, every
 * statement of the connection would be prepared again, twice. */
int touchstone_prepare_asking(sqlite3 *connection, const char *sql, int length,
                              int (*authorizer)(void *, int, const char *, const char *, const char *, const char *),
                              void *argument, sqlite3_stmt **statement, const char **rest) {
  sqlite3_xauth before = connection->xAuth;
  void *argument_before = connection->pAuthArg;
  int code;
  connection->xAuth = (sqlite3_xauth)authorizer;
  connection->pAuthArg = argument;
  code = sqlite3_prepare_v3(connection, sql, length, 0, statement, rest);
  connection->xAuth = before;
  connection->pAuthArg = argument_before;
  return code;
}

/* Whether the main file or the connection itself (its temporary schema) has a trigger; also 1 if a schema is not in
 * memory, because then it is unknown. The schema is that of the last statement that ran. */
int touchstone_may_have_triggers(sqlite3 *connection) {
  int at;
  for (at = 0; at < 2; at++) {
    Schema *schema = connection->aDb[at].pSchema;
    if (schema == 0 || !(schema->schemaFlags & DB_SchemaLoaded) || schema->trigHash.count > 0) return 1;
  }
  return 0;
}

/* The root page of a table of the main file, by SQLite's schema in memory, which is read if there is none. 0 if that
 * schema has no such table, or is of another version than the transaction's. */
unsigned touchstone_root(sqlite3 *connection, const char *name) {
  Db *file = &connection->aDb[0];
  Table *table;
  u32 version;
  if (sqlite3BtreeTxnState(file->pBt) == SQLITE_TXN_NONE) return 0;
  if (sqlite3_table_column_metadata(connection, "main", name, 0, 0, 0, 0, 0, 0) != SQLITE_OK) return 0;
  sqlite3BtreeGetMeta(file->pBt, BTREE_SCHEMA_VERSION, &version);
  table = sqlite3FindTable(connection, name, "main");
  return table != 0 && (u32)file->pSchema->schema_cookie == version ? table->tnum : 0;
}

/* Drops the backups (`sqlite3_backup`) of the connection's files. A forgotten one keeps the connection from closing,
 * and each commit goes to its target too, which may be freed. By now nobody uses it. */
void touchstone_forget_copies(sqlite3 *connection) {
  int at;
  for (at = 0; at < connection->nDb; at++) {
    Btree *tree = connection->aDb[at].pBt;
    if (tree == 0) continue;
    tree->nBackup = 0;
    *sqlite3PagerBackupPtr(sqlite3BtreePager(tree)) = 0;
  }
}

/* A virtual table that one of these operations held, and does not hold any more. */
static VTable *release_in(Op *operations, int count) {
  int at;
  for (at = 0; at < count; at++) {
    if (operations[at].p4type == P4_VTAB) {
      operations[at].p4type = P4_NOTUSED;
      return operations[at].p4.pVtab;
    }
  }
  return 0;
}

/* The same for all statements of the connection and the triggers in them. */
static VTable *release_one(sqlite3 *connection) {
  VTable *table = 0;
  Vdbe *statement = connection->pVdbe;
  for (; statement != 0 && table == 0; statement = statement->pVNext) {
    SubProgram *trigger = statement->pProgram;
    table = release_in(statement->aOp, statement->nOp);
    for (; trigger != 0 && table == 0; trigger = trigger->pNext) {
      table = release_in(trigger->aOp, trigger->nOp);
    }
  }
  return table;
}

/* Releases the virtual tables of statements that do not run any more. Such a table has statements that only it may
 * finalize. It does so once no statement holds it, so the list of statements may change each time. */
void touchstone_release_tables(sqlite3 *connection) {
  VTable *table;
  while ((table = release_one(connection)) != 0) {
    sqlite3VtabUnlock(table);
  }
}

/* The connection's log, if its file has one. */
static Wal *log_of(sqlite3 *connection) {
  return sqlite3BtreePager(connection->aDb[0].pBt)->pWal;
}

/* Copies the connection's own copy of the index header: after a commit, the header of that commit; in a transaction
 * that has written nothing yet, the header of the commit before. Later commits of others are not in it. */
int touchstone_log_header(sqlite3 *connection, unsigned long long *header) {
  Wal *log = log_of(connection);
  if (log == 0) return SQLITE_MISUSE;
  memcpy(header, &log->hdr, sizeof(log->hdr));
  return SQLITE_OK;
}

/* A file that a process has open is not its child's: see fork.rs. SQLite identifies files by device and inode, and
 * keeps the process's locks with them. A child has none of these locks. If it found its parent's entry for a file, it
 * would ask the system for no lock. So in the child these entries match no file. This also keeps a connection that the
 * child closes from copying and removing the log: its file seems to have moved. */
#if SQLITE_OS_UNIX
/* The mutexes that connections of different threads share, in the order in which they nest: open files, random numbers,
 * VFSes and extensions, memory of pages. If a thread of the parent held one at the fork, nobody would release it in the
 * child, which may open files of its own. */
static const int shared_mutexes[] = {
  SQLITE_MUTEX_STATIC_VFS1, SQLITE_MUTEX_STATIC_PRNG, SQLITE_MUTEX_STATIC_MAIN, SQLITE_MUTEX_STATIC_PMEM
};

static void (*before_callback)(void) = 0;
static void (*after_callback)(int) = 0;

/* Calls `act` with each cipher VFS's mutex, which guards its list of files. The caller holds the mutex of all VFSes. */
static void each_cipher_mutex(void (*act)(sqlite3_mutex *)) {
  sqlite3_vfs *vfs;
  for (vfs = vfsList; vfs; vfs = vfs->pNext) {
    if (vfs->xOpen == mcVfsOpen) act(((sqlite3mc_vfs *)vfs)->mutex);
  }
}

/* Calls `act` with the mutex of each log's index. The caller holds the mutex of all open files. */
static void each_index_mutex(void (*act)(sqlite3_mutex *)) {
  unixInodeInfo *inode;
  for (inode = inodeList; inode; inode = inode->pNext) {
    if (inode->pShmNode) act(inode->pShmNode->pShmMutex);
  }
}

static void before_fork(void) {
  int at;
  before_callback();
  for (at = 0; at < ArraySize(shared_mutexes); at++) sqlite3_mutex_enter(sqlite3_mutex_alloc(shared_mutexes[at]));
  each_cipher_mutex(sqlite3_mutex_enter);
  each_index_mutex(sqlite3_mutex_enter);
}

/* A recursive mutex knows its owner by the thread's number. The child's only thread has another number than the thread
 * that forked: it cannot leave the mutex, and initializes it again, with the type that SQLite gave it. */
static void remake(sqlite3_mutex *mutex) {
  pthread_mutexattr_t recursive;
  pthread_mutexattr_init(&recursive);
  pthread_mutexattr_settype(&recursive, PTHREAD_MUTEX_RECURSIVE);
  pthread_mutex_init(&mutex->mutex, &recursive);
  pthread_mutexattr_destroy(&recursive);
}

static void leave_mutexes(void (*leave_recursive)(sqlite3_mutex *)) {
  int at;
  each_index_mutex(sqlite3_mutex_leave);
  each_cipher_mutex(leave_recursive);
  for (at = ArraySize(shared_mutexes) - 1; at >= 0; at--) sqlite3_mutex_leave(sqlite3_mutex_alloc(shared_mutexes[at]));
}

static void after_fork(void) {
  leave_mutexes(sqlite3_mutex_leave);
  after_callback(0);
}

/* Maps an index for the child alone, at the same address. A transaction that the fork interrupts is undone in the child
 * as soon as a statement fails. Undoing takes frames out of the index, which would be the parent's. */
static void take_index_apart(unixShmNode *index) {
  int at, together = unixShmRegionPerMap();
  if (index->hShm < 0) return;
  for (at = 0; at < index->nRegion; at += together) {
    osMmap(index->apRegion[at], (size_t)index->szRegion * together, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED,
           index->hShm, index->szRegion * (i64)at);
  }
}

static void in_child(void) {
  unixInodeInfo *inode;
  for (inode = inodeList; inode; inode = inode->pNext) {
    memset(&inode->fileId, 0xff, sizeof(inode->fileId));
    if (inode->pShmNode) take_index_apart(inode->pShmNode);
  }
  leave_mutexes(remake);
  after_callback(1);
}

void touchstone_watch_forks(void (*before)(void), void (*after)(int in_child)) {
  /* This creates the mutexes. */
  if (sqlite3_initialize() != SQLITE_OK) return;
  before_callback = before;
  after_callback = after;
  pthread_atfork(before_fork, after_fork, in_child);
}

/* Whether an index has its first region mapped at this address. The caller holds the mutex of all open files, under
 * which no index goes away. The list of regions has a mutex of its own, because a thread that maps more of a growing
 * log moves it. That mutex is taken within the other, and never the other way round. */
static int is_mapped_at(unixShmNode *index, const void *region) {
  int is_it;
  sqlite3_mutex_enter(index->pShmMutex);
  is_it = index->nRegion > 0 && (const void *)index->apRegion[0] == region;
  sqlite3_mutex_leave(index->pShmMutex);
  return is_it;
}

/* The descriptor of an index, found by its main file and by the address of its first region, not through the layers of
 * a connection; less than 0 if there is none. By then another index may be mapped at that address. The caller holds the
 * mutex of all open files. */
static int index_file(u64 device, u64 number, const void *region) {
  unixInodeInfo *inode;
  for (inode = inodeList; inode; inode = inode->pNext) {
    unixShmNode *index = inode->pShmNode;
    if (inode->fileId.dev != (dev_t)device || inode->fileId.ino != number || index == 0) continue;
    if (is_mapped_at(index, region)) return index->hShm;
  }
  return -1;
}

/* The length of a file, for which a writer asks before each write to the log. For a file of the system, seeking to the
 * end takes less than half of the time of `fstat`. Nobody reads or writes at a file's own offset. */
int touchstone_file_bytes(sqlite3_file *file, i64 *bytes) {
  sqlite3_file *own = file;
  off_t end;
  if (own->pMethods->xFileSize == mcIoFileSize && ((sqlite3mc_file *)own)->tempCipher == 0) own = ((sqlite3mc_file *)own)->pFile;
  if (own->pMethods->xFileSize != unixFileSize) return file->pMethods->xFileSize(file, bytes);
  end = lseek(((unixFile *)own)->h, 0, SEEK_END);
  if (end < 0) return SQLITE_IOERR_FSTAT;
  *bytes = end;
  return SQLITE_OK;
}

/* The device and inode of the file whose index is mapped at this address, as SQLite found them when it opened the file,
 * and those of the index's own open file. So no caller looks either up by a name, which may be another file's by then.
 * 0 if no file has that index, or if the index lies in the process's own memory. */
int touchstone_indexed(const void *region, u64 *file, u64 *index) {
  unixInodeInfo *inode;
  struct stat own;
  int is_found = 0;
  unixEnterMutex();
  for (inode = inodeList; inode && !is_found; inode = inode->pNext) {
    unixShmNode *node = inode->pShmNode;
    if (node == 0 || !is_mapped_at(node, region)) continue;
    if (node->hShm < 0 || osFstat(node->hShm, &own) != 0) break;
    file[0] = (u64)inode->fileId.dev;
    file[1] = inode->fileId.ino;
    index[0] = (u64)own.st_dev;
    index[1] = (u64)own.st_ino;
    is_found = 1;
  }
  unixLeaveMutex();
  return is_found;
}

/* Locks of the index's file that show which durability classes have it open: see classes.rs. They lie outside of
 * SQLite's locks and bytes, and end with their process. */
#define CLASSES_AT 0x546f7573

static int class_lock(int file, int command, short kind, int which, struct flock *lock) {
  memset(lock, 0, sizeof(*lock));
  lock->l_whence = SEEK_SET;
  lock->l_start = CLASSES_AT + which;
  lock->l_len = 1;
  lock->l_type = kind;
  return osFcntl(file, command, lock);
}

/* Sets or clears the mark that a store of that class has the file open. An index that is gone, or that lies in the
 * process's own memory, has no file, and no other process to see the mark. */
int touchstone_mark_class(u64 device, u64 number, const void *region, int which, int mark) {
  struct flock lock;
  int file, code = SQLITE_OK;
  unixEnterMutex();
  file = index_file(device, number, region);
  if (file < 0) {
    code = SQLITE_NOTFOUND;
  } else if (class_lock(file, F_SETLK, mark ? F_RDLCK : F_UNLCK, which, &lock) != 0) {
    code = SQLITE_IOERR_LOCK;
  }
  unixLeaveMutex();
  return code;
}

/* Whether another process has a store of that class open on the file; less than 0 if that is unknown. */
int touchstone_is_class_marked(u64 device, u64 number, const void *region, int which) {
  struct flock lock;
  int file, marked = 0;
  unixEnterMutex();
  file = index_file(device, number, region);
  if (file >= 0) {
    marked = class_lock(file, F_GETLK, F_WRLCK, which, &lock) != 0 ? -1 : lock.l_type != F_UNLCK;
  }
  unixLeaveMutex();
  return marked;
}
#else
void touchstone_watch_forks(void (*before)(void), void (*after)(int in_child)) {
  (void)before; (void)after;
}

int touchstone_indexed(const void *region, u64 *file, u64 *index) {
  (void)region; (void)file; (void)index;
  return 0;
}

int touchstone_file_bytes(sqlite3_file *file, i64 *bytes) { return file->pMethods->xFileSize(file, bytes); }

int touchstone_mark_class(u64 device, u64 number, const void *region, int which, int mark) {
  (void)device; (void)number; (void)region; (void)which; (void)mark;
  return SQLITE_NOTFOUND;
}

int touchstone_is_class_marked(u64 device, u64 number, const void *region, int which) {
  (void)device; (void)number; (void)region; (void)which;
  return 0;
}
#endif
/* Sets the authorizer for statements that are prepared from now on. If SQLite's own function set it, every statement of
 * the connection would be prepared again. */
void touchstone_ask(sqlite3 *connection,
                    int (*authorizer)(void *, int, const char *, const char *, const char *, const char *),
                    void *argument) {
  connection->xAuth = (sqlite3_xauth)authorizer;
  connection->pAuthArg = argument;
}

/* Refuses the statement that is being prepared. The authorizer calls this, and returns its result. If an authorizer
 * denies, SQLite reports "not authorized" and nothing else; `why` replaces that. SQLITE_IGNORE keeps the action from
 * being done too, and a statement with an error is not prepared. */
int touchstone_refuse(sqlite3 *connection, const char *why) {
  Parse *parse = connection->pParse;
  if (parse == 0) return SQLITE_DENY;
  sqlite3ErrorMsg(parse, "%s", why);
  if (parse->nErr == 0) return SQLITE_DENY;
  parse->rc = SQLITE_AUTH;
  return SQLITE_IGNORE;
}

/* Whether a statement was stepped, and has neither been reset nor finished. */
int touchstone_is_running(sqlite3 *connection) {
  return connection->nVdbeActive > 0;
}

int touchstone_savepoints(sqlite3 *connection) {
  int count = 0;
  Savepoint *open;
  for (open = connection->pSavepoint; open; open = open->pNext) count++;
  return count;
}

/* Releases the savepoints that were opened last, until `left` remain. If the transaction had ended, one of them has
 * begun another, which nobody would commit: it is rolled back. */
void touchstone_release_savepoints(sqlite3 *connection, int left) {
  if (connection->isTransactionSavepoint) sqlite3_exec(connection, "rollback", 0, 0, 0);
  while (touchstone_savepoints(connection) > left) {
    char *sql = sqlite3_mprintf("release \"%w\"", connection->pSavepoint->zName);
    int code = sql ? sqlite3_exec(connection, sql, 0, 0, 0) : SQLITE_NOMEM;
    sqlite3_free(sql);
    if (code != SQLITE_OK) return;
  }
}

#ifdef TOUCHSTONE_CANARY
#include "canary.c"
#endif
