/* The engine in one unit with what this store adds to it: the ciphers derive a key on every connection and tell nobody,
 * and the functions that derive it are the unit's own. Deriving once for a store needs them by name. */

#include "sqlite3mc_amalgamation.c"

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
