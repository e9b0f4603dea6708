// What a sync service does, as the page about services has it.

package tests

import (
	"fmt"
	"strings"
	"testing"
)

func TestADeviceThatIsKnownStaysAsItIs(t *testing.T) {
	s := serving(t, t.TempDir(), nothing)
	phone := s.device("ann", "phone")
	cursor := phone.upload(numbered("note", 2)...)
	s.device("ann", "phone")
	s.device("bob", "phone")
	equal(t, len(phone.full().Changes), 2)
	equal(t, phone.page(cursor, 10), page{Cursor: cursor})
	equal(t, phone.upload(change{ID: "note-0", Data: "again"}), 3)
	s.end()
}

func TestAnUnknownClientIsRefused(t *testing.T) {
	s := serving(t, t.TempDir(), nothing)
	phone := s.device("ann", "phone")
	for _, client := range []string{"", "tablet", "ann"} {
		for request, body := range map[string]string{
			"GET /v1/sync/full":                   "",
			"GET /v1/sync/delta?cursor=0&limit=9": "",
			"POST /v1/sync/delta":                 `{"changes":[{"id":"a","data":"b"}]}`,
		} {
			method, path, _ := strings.Cut(request, " ")
			status, _, err := s.request(method, path, client, body)
			must(t, err)
			equal(t, status, 401)
		}
	}
	equal(t, len(phone.full().Changes), 0)
	s.end()
}

func TestABodyThatIsNoSuchObjectStoresNothing(t *testing.T) {
	s := serving(t, t.TempDir(), nothing)
	phone := s.device("ann", "phone")
	right := `{"id":"a","data":"b"}`
	for _, body := range []string{
		``, `no JSON`, `[]`, `7`, `null`, `{}`, `{"changes":null}`, `{"changes":{}}`, `{"changes":[7]}`, `{"changes":[null]}`,
		`{"changes":[` + right + `,{"id":"b"}]}`,
		`{"changes":[` + right + `,{"data":"b"}]}`,
		`{"changes":[` + right + `,{"id":7,"data":"b"}]}`,
		`{"changes":[` + right + `,{"id":"b","data":null}]}`,
		`{"changes":[` + right + `]} and more`,
		`{"changes":[` + right + `]`,
		"{\"changes\":[{\"id\":\"a\",\"data\":\"\xff\"}]}",
	} {
		status, _, err := s.request("POST", "/v1/sync/delta", "phone", body)
		must(t, err)
		if status != 400 && status != 422 {
			t.Errorf("%q is answered %d", body, status)
		}
	}
	for _, body := range []string{`{}`, `{"user":"ann"}`, `{"device":"tablet"}`, `{"user":7,"device":"tablet"}`, `tablet`} {
		status, _, err := s.request("POST", "/v1/clients", "", body)
		must(t, err)
		if status != 400 && status != 422 {
			t.Errorf("%q is answered %d", body, status)
		}
	}
	for _, query := range []string{"", "?cursor=0", "?cursor=-1&limit=9", "?cursor=0&limit=0", "?cursor=0&limit=1001", "?cursor=a&limit=9"} {
		status, _, err := s.request("GET", "/v1/sync/delta"+query, "phone", "")
		must(t, err)
		equal(t, status, 400)
	}
	equal(t, phone.full(), page{})
	equal(t, phone.upload(change{ID: "a", Data: "b"}), 1)
	s.end()
}

func TestABatchMayNameAnObjectTwice(t *testing.T) {
	s := serving(t, t.TempDir(), nothing)
	phone := s.device("ann", "phone")
	cursor := phone.upload(change{ID: "a", Data: "first"}, change{ID: "b", Data: "other"}, change{ID: "a", Data: "last"})
	equal(t, cursor, 3)
	equal(t, phone.full(), page{Changes: []change{{"b", 2, "other"}, {"a", 3, "last"}}, Cursor: 3})
	equal(t, phone.upload(change{ID: "b", Data: "new"}), 4)
	equal(t, phone.page(2, 10), page{Changes: []change{{"a", 3, "last"}, {"b", 4, "new"}}, Cursor: 4})
	equal(t, phone.upload(), 4)
	s.end()
}

func TestPagesEndWhereTheyShould(t *testing.T) {
	s := serving(t, t.TempDir(), nothing)
	phone := s.device("ann", "phone")
	equal(t, phone.page(0, 100), page{})
	phone.upload(numbered("note", 100)...)
	for limit, more := range map[int]bool{99: true, 100: false, 101: false, 1: true, 1000: false} {
		told, expected := phone.page(0, limit), min(limit, 100)
		equal(t, len(told.Changes), expected)
		equal(t, told.Cursor, int64(expected))
		equal(t, told.More, more)
	}
	equal(t, phone.page(99, 100), page{Changes: []change{{"note-99", 100, "data of note 99"}}, Cursor: 100})
	equal(t, phone.page(100, 100), page{Cursor: 100})
	equal(t, phone.page(1000, 100), page{Cursor: 1000})
	seen, cursor, more := 0, int64(0), true
	for more {
		told := phone.page(cursor, 10)
		for _, change := range told.Changes {
			seen++
			equal(t, change, numberedWith("note", seen))
		}
		cursor, more = told.Cursor, told.More
	}
	equal(t, seen, 100)
	s.end()
}

// numberedWith is the change of `numbered` that has a revision, where that is its place.
func numberedWith(name string, revision int) change {
	changed := numbered(name, revision)[revision-1]
	changed.Revision = int64(revision)
	return changed
}

func TestDevicesOfAUserShareAndOtherUsersDoNot(t *testing.T) {
	s := serving(t, t.TempDir(), nothing)
	phone, tablet, stranger := s.device("ann", "phone"), s.device("ann", "tablet"), s.device("bob", "other")
	phone.upload(change{ID: "a", Data: "of ann"})
	equal(t, stranger.upload(change{ID: "a", Data: "of bob"}), 1)
	equal(t, tablet.upload(change{ID: "b", Data: "of ann too"}), 2)
	of := []change{{"a", 1, "of ann"}, {"b", 2, "of ann too"}}
	equal(t, phone.full(), page{Changes: of, Cursor: 2})
	equal(t, tablet.full(), page{Changes: of, Cursor: 2})
	equal(t, tablet.page(1, 10), page{Changes: of[1:], Cursor: 2})
	equal(t, stranger.full(), page{Changes: []change{{"a", 1, "of bob"}}, Cursor: 1})
	s.end()
}

func TestTextsComeBackAsTheyWere(t *testing.T) {
	s := serving(t, t.TempDir(), nothing)
	phone := s.device("Ann O'Neil <ann@example.org>", "phone/of ann")
	texts := []string{
		"", " spaces\t\r\n ", `"quoted" \ <b>&amp;</b>`, "żółć 漢字 🧭 \u2028", "007", "1e3", "true", "null", "\u0000\u0001", strings.Repeat("é", 100_000),
	}
	var sent []change
	for number, text := range texts {
		sent = append(sent, change{ID: fmt.Sprintf("%d%.100s", number, text), Data: text})
	}
	phone.upload(sent...)
	told := phone.full()
	equal(t, len(told.Changes), len(sent))
	for number, change := range told.Changes {
		if change.ID != sent[number].ID || change.Data != sent[number].Data {
			t.Errorf("sent %.100q, told %.100q", sent[number], change)
		}
	}
	s.end()
}

func TestAnswersAreWrittenAsThePageHasThem(t *testing.T) {
	s := serving(t, t.TempDir(), nothing)
	phone := s.device("ann", "phone")
	phone.upload(change{ID: "a", Data: "x"})
	for request, expected := range map[string]string{
		"POST /v1/sync/delta":                 `{"cursor":1}`,
		"GET /v1/sync/full":                   `{"changes":[{"id":"a","revision":1,"data":"x"}],"cursor":1}`,
		"GET /v1/sync/delta?cursor=0&limit=9": `{"changes":[{"id":"a","revision":1,"data":"x"}],"cursor":1,"more":false}`,
		"GET /v1/sync/delta?cursor=1&limit=9": `{"changes":[],"cursor":1,"more":false}`,
	} {
		method, path, _ := strings.Cut(request, " ")
		// An upload of no change is answered with the last revision.
		_, text, err := s.request(method, path, "phone", `{"changes":[]}`)
		must(t, err)
		equal(t, strings.TrimSuffix(string(text), "\n"), expected)
	}
	s.end()
}
