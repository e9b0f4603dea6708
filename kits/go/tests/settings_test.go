// Settings are read back from the service's own connections, in each profile of the kit's table.

package tests

import (
	"encoding/json"
	"maps"
	"os"
	"strings"
	"testing"
)

var nothing = map[string]any{}

// own is what PocketBase sets itself.
var own = map[string]any{
	"journal_mode": "wal", "synchronous": "normal", "locking_mode": "normal", "busy_timeout_ms": 10_000, "foreign_keys": "yes",
	"temp_store": "memory", "cache_size_bytes": 32_768_000, "page_size_bytes": 4096, "mmap_size_bytes": 0,
	"wal_autocheckpoint_pages": 1000, "fullfsync": "no", "checkpoint_fullfsync": "no", "checkpoint": "commit", "cipher": "none",
	"download": "writes",
}

// with is what PocketBase sets itself, and some of it otherwise.
func with(others map[string]any) map[string]any {
	all := maps.Clone(own)
	maps.Copy(all, others)
	return all
}

// took compares what took effect with what should have.
func took(t *testing.T, s *served, expected map[string]any) {
	t.Helper()
	told, err := json.Marshal(s.settings)
	must(t, err)
	should, err := json.Marshal(expected)
	must(t, err)
	equal(t, string(told), string(should))
}

func TestEachProfileHasItsSettings(t *testing.T) {
	s := serving(t, t.TempDir(), nothing)
	took(t, s, own)
	s.end()
	full := map[string]any{"journal_mode": "wal", "synchronous": "full"}
	s = serving(t, t.TempDir(), full)
	took(t, s, with(full))
	s.end()
	table, err := os.ReadFile("../kit.toml")
	must(t, err)
	equal(t, strings.Count(string(table), "[[subject.profile]]"), 2)
	equal(t, strings.Count(string(table), "\n  settings = "), 1)
	equal(t, strings.Count(string(table), `settings = { journal_mode = "wal", synchronous = "full" }`), 1)
}

func TestWhatCanBeAskedForTakesEffect(t *testing.T) {
	asked := map[string]any{
		"journal_mode": "delete", "synchronous": "extra", "busy_timeout_ms": 1234, "foreign_keys": "no", "temp_store": "file",
		"cache_size_bytes": 8 << 20, "page_size_bytes": 16384, "mmap_size_bytes": 1 << 20, "wal_autocheckpoint_pages": 77,
		"fullfsync": "yes", "checkpoint_fullfsync": "yes", "download": "reads",
	}
	directory := t.TempDir()
	s := serving(t, directory, asked)
	took(t, s, with(asked))
	phone := s.device("ann", "phone")
	phone.upload(numbered("note", 3)...)
	equal(t, phone.full().Cursor, 3)
	s.ask(map[string]any{"request": "close"})
	// A wish for another page size comes too late, and PocketBase's own log comes back.
	s.serve(directory, 0, map[string]any{"page_size_bytes": 4096})
	took(t, s, with(map[string]any{"page_size_bytes": 16384}))
	s.end()
}

func TestWhatCannotBeAskedForIsRefusedAndWhatIsNoNotionIsLeftOut(t *testing.T) {
	p := started(t)
	for name, value := range map[string]any{
		"journal_mode": "WAL2", "synchronous": 2, "busy_timeout_ms": "1", "page_size_bytes": -1, "cache_size_bytes": 1.5,
		"locking_mode": "exclusive", "checkpoint": "background", "cipher": "sqlcipher-4", "download": "sometimes",
	} {
		settings := map[string]any{name: value}
		told := p.ask(map[string]any{"request": "serve", "directory": t.TempDir(), "port": 0, "settings": settings})
		if told["kind"] != "unsupported" || !strings.Contains(told["message"].(string), name) {
			t.Errorf("%s: told %v", name, told)
		}
	}
	s := &served{process: p}
	s.serve(t.TempDir(), 0, map[string]any{"endpoints": "threads", "durability": "immediate"})
	took(t, s, own)
	s.end()
}
