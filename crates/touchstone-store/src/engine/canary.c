/* Mistakes on purpose, in the engine's own unit and with its own allocator: see canary.rs. No part of the store. */

int touchstone_canary_beyond(int length) {
  unsigned char *block = sqlite3_malloc(length);
  int found = ((volatile unsigned char *)block)[length];
  sqlite3_free(block);
  return found;
}

int touchstone_canary_freed(int length) {
  unsigned char *block = sqlite3_malloc(length);
  sqlite3_free(block);
  return *(volatile unsigned char *)block;
}

void touchstone_canary_raced(int *number) {
  volatile int *shared = number;
  *shared = *shared + 1;
}
