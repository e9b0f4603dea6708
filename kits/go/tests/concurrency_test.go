// Many devices at once, one of which follows its cursor meanwhile.

package tests

import (
	"fmt"
	"testing"
)

const (
	writers = 16
	batches = 20
	batch   = 3
)

// acknowledged is what a writer was told of one of its batches.
type acknowledged struct {
	changes []change
	cursor  int64
	err     error
}

// write uploads batches in a thread of their own, up to the first that is not acknowledged.
func write(d device, told chan<- acknowledged, name string, batches int) {
	for number := range batches {
		changes := numbered(fmt.Sprintf("%s-%d", name, number), batch)
		cursor, err := d.tryUpload(changes...)
		told <- acknowledged{changes, cursor, err}
		if err != nil {
			return
		}
	}
}

func TestADeviceThatFollowsHasEachChangeOfConcurrentUploadsOnce(t *testing.T) {
	s := serving(t, t.TempDir(), nothing)
	reader := s.device("ann", "reader")
	told := make(chan acknowledged, 2*writers*batches)
	others := make(chan acknowledged, 2*writers*batches)
	for number := range writers {
		name := fmt.Sprintf("writer-%d", number)
		go write(s.device("ann", name), told, name, batches)
		go write(s.device("bob", "of-bob-"+name), others, name, batches)
	}
	followed := map[string]change{}
	var revision, cursor int64
	revisions := map[int64]bool{}
	follow := func() page {
		page := reader.page(cursor, 7)
		for _, change := range page.Changes {
			if _, twice := followed[change.ID]; twice || change.Revision <= revision {
				t.Errorf("%v after revision %d", change, revision)
			}
			followed[change.ID], revision = change, change.Revision
		}
		cursor = page.Cursor
		return page
	}
	for range writers * batches {
		batch := <-told
		must(t, batch.err)
		if revisions[batch.cursor] {
			t.Errorf("two uploads were told cursor %d", batch.cursor)
		}
		revisions[batch.cursor] = true
		follow()
	}
	for follow().More {
	}
	equal(t, len(followed), writers*batches*batch)
	equal(t, cursor, writers*batches*batch)
	for writer := range writers {
		for number := range batches {
			for _, sent := range numbered(fmt.Sprintf("writer-%d-%d", writer, number), batch) {
				equal(t, followed[sent.ID].Data, sent.Data)
			}
		}
	}
	for range writers * batches {
		must(t, (<-others).err)
	}
	s.end()
}

func TestConcurrentUploadsOfOneObjectKeepItsLastState(t *testing.T) {
	s := serving(t, t.TempDir(), nothing)
	told := make(chan acknowledged, writers)
	for number := range writers {
		d := s.device("ann", fmt.Sprintf("writer-%d", number))
		go func() {
			changes := []change{{ID: "shared", Data: d.name}}
			cursor, err := d.tryUpload(changes...)
			told <- acknowledged{changes, cursor, err}
		}()
	}
	byRevision := map[int64]string{}
	for range writers {
		upload := <-told
		must(t, upload.err)
		byRevision[upload.cursor] = upload.changes[0].Data
	}
	equal(t, len(byRevision), writers)
	reader := s.device("ann", "reader")
	equal(t, reader.full(), page{Changes: []change{{"shared", writers, byRevision[writers]}}, Cursor: writers})
	s.end()
}

func TestOneDeviceThatRegistersManyTimesAtOnceIsOne(t *testing.T) {
	s := serving(t, t.TempDir(), nothing)
	answers := make(chan string, writers)
	for range writers {
		go func() {
			status, text, err := s.request("POST", "/v1/clients", "", `{"user":"ann","device":"phone"}`)
			answers <- fmt.Sprint(status/100, string(text), err)
		}()
	}
	for range writers {
		equal(t, <-answers, fmt.Sprint(2, "{\"id\":\"phone\"}\n", nil))
	}
	s.end()
}
