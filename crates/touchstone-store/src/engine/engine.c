/* The engine in one unit with what this store adds to it, which calls functions that are the unit's own. */

#include "sqlite3mc_amalgamation.c"

/* The ciphers derive a key on every connection and tell nobody. Deriving once for a store needs their functions by name. */

/* RFC 9106's second recommendation but for its lanes, which the engine would take one after the other. */
#define ARGON2_PASSES 3
#define ARGON2_KIBIBYTES 65536
#define ARGON2_LANES 1

/* What SQLCipher 4 does; a change would make other files. */
#define PBKDF2_ROUNDS 256000

int touchstone_derive_argon2id(const unsigned char *words, size_t length, const unsigned char *salt,
                               unsigned char *key) {
  return argon2id_hash_raw(ARGON2_PASSES, ARGON2_KIBIBYTES, ARGON2_LANES, words, length, salt, 16, key, 32);
}

void touchstone_derive_pbkdf2(const unsigned char *words, size_t length, const unsigned char *salt,
                              unsigned char *key) {
  fastpbkdf2_hmac_sha512(words, length, salt, 16, PBKDF2_ROUNDS, key, 32);
}

/* Copies bytes of a page as the connection's transaction has it. `sqlite_dbpage` does the same with a step of a virtual
 * machine, an allocation and a whole page. */
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

static int drops_pages(const VdbeOp *step, int count) {
  for (; count > 0; count--, step++) {
    if (step->opcode == OP_Clear) return 1;
  }
  return 0;
}

/* Has statements prepared anew, before they next run, that drop a table's pages instead of deleting its rows. SQLite
 * chooses that when it prepares while no hook is set, and a hook that is set later hears nothing of those rows. */
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

/* Prepares a statement and asks the authorizer meanwhile what it reads. SQLite's own setting of one has every statement
 * of the connection prepared anew, twice. */
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

/* The log that the connection's file has, if any. */
static Wal *log_of(sqlite3 *connection) {
  return sqlite3BtreePager(connection->aDb[0].pBt)->pWal;
}

/* Copies the header of the log's index as the connection has it: that of its last commit, after one; in a transaction
 * that has written nothing yet, that of the commit before. Whatever others have done since is not in it. */
int touchstone_log_header(sqlite3 *connection, unsigned long long *header) {
  Wal *log = log_of(connection);
  if (log == 0) return SQLITE_MISUSE;
  memcpy(header, &log->hdr, sizeof(log->hdr));
  return SQLITE_OK;
}

/* Lets the transaction that is under way count as that commit. The counter only says that there was a commit: whoever
 * looks at it asks whether it is another than before. A rollback takes the header back as a whole.
 *
 * Where all of the log was copied, the first thing that a commit does is to begin it anew, and for that its header must
 * be the one that everybody has. So that is done here, before. */
int touchstone_count_commit_as(sqlite3 *connection, unsigned count) {
  Wal *log = log_of(connection);
  int code;
  if (log == 0 || !log->writeLock) return SQLITE_MISUSE;
  code = walRestartLog(log);
  if (code != SQLITE_OK) return code;
  log->hdr.iChange = count - 1;
  return SQLITE_OK;
}
