// Services that begin, end and crash, and what is kept then.

package tests

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/pocketbase/pocketbase/core"
)

func TestWhatWasAcknowledgedIsThereAfterAKill(t *testing.T) {
	directory := t.TempDir()
	s := serving(t, directory, nothing)
	told := make(chan acknowledged)
	for number := range writers {
		name := fmt.Sprintf("writer-%d", number)
		// There are always more to come, until the service dies.
		go write(s.device("ann", name), told, name, 1<<30)
	}
	sent := map[string]string{}
	var highest int64
	for open, count := writers, 0; open > 0; count++ {
		if count == 100 {
			must(t, s.command.Process.Kill())
		}
		batch := <-told
		if batch.err != nil {
			open--
			continue
		}
		highest = max(highest, batch.cursor)
		for _, change := range batch.changes {
			sent[change.ID] = change.Data
		}
	}
	_ = s.command.Wait()
	again := serving(t, directory, nothing)
	reader := device{again, "writer-0"}
	kept := map[string]string{}
	for _, change := range reader.full().Changes {
		kept[change.ID] = change.Data
	}
	for id, data := range sent {
		equal(t, kept[id], data)
	}
	if next := reader.upload(change{ID: "next", Data: ""}); next <= highest || len(sent) < 300 {
		t.Errorf("%d were acknowledged, up to revision %d; the next is %d", len(sent), highest, next)
	}
	again.end()
}

func TestAPortInUseIsNamedAndTheKitGoesOn(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	port := taken.Addr().(*net.TCPAddr).Port
	p, directory := started(t), t.TempDir()
	told := p.ask(map[string]any{"request": "serve", "directory": directory, "port": port, "settings": nothing})
	if told["kind"] != "busy" || !strings.Contains(told["message"].(string), strconv.Itoa(port)) {
		t.Error(told)
	}
	files, err := os.ReadDir(directory)
	must(t, err)
	equal(t, len(files), 0)
	must(t, taken.Close())
	s := &served{process: p}
	s.serve(directory, port, nothing)
	equal(t, s.port, port)
	s.end()
}

func TestAServiceThatIsClosedFreesItsPortAndAnotherGoesOn(t *testing.T) {
	directory := t.TempDir()
	s := serving(t, directory, nothing)
	phone := s.device("ann", "phone")
	phone.upload(numbered("note", 3)...)
	before := phone.full()
	for range 2 {
		// Somebody who never asks does not keep a connection. It is accepted before one that is made later.
		silent, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", s.port))
		must(t, err)
		http.DefaultClient.CloseIdleConnections()
		phone.full()
		equal(t, s.ask(map[string]any{"request": "close"})["reply"], any("close"))
		_, err = io.ReadAll(silent)
		must(t, err)
		must(t, silent.Close())
		free, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", s.port))
		must(t, err)
		must(t, free.Close())
		s.serve(directory, s.port, nothing)
		equal(t, phone.full(), before)
	}
	equal(t, phone.upload(change{ID: "note-0", Data: "new"}), 4)
	equal(t, s.ask(map[string]any{"request": "quit"})["reply"], any("quit"))
	s.end()
}

func TestADamagedDatabaseIsSaidToBeSo(t *testing.T) {
	directory := t.TempDir()
	must(t, os.WriteFile(filepath.Join(directory, "data.db"), []byte(strings.Repeat("no database", 1000)), 0o600))
	p := started(t)
	for range 2 {
		told := p.ask(map[string]any{"request": "serve", "directory": directory, "port": 0, "settings": nothing})
		equal(t, told["kind"], any("corrupt"))
	}
	s := &served{process: p}
	s.serve(t.TempDir(), 0, nothing)
	s.end()
}

func TestADownloadStoresWhereTheClientStandsOrNothing(t *testing.T) {
	for download, expected := range map[string]int64{"writes": 2, "reads": 0} {
		directory := t.TempDir()
		s := serving(t, directory, map[string]any{"download": download})
		phone := s.device("ann", "phone")
		phone.upload(numbered("note", 3)...)
		phone.full()
		phone.page(0, 2)
		s.end()
		database, err := core.DefaultDBConnect(filepath.Join(directory, "data.db"))
		must(t, err)
		var cursor int64
		must(t, database.NewQuery("select cursor from clients").Row(&cursor))
		must(t, database.Close())
		equal(t, cursor, expected)
	}
}
