// Devices of a service: what each asks over HTTP, and what it must be answered.

package tests

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"testing"
)

// served is a service and the kit that serves it.
type served struct {
	*process
	port     int
	settings map[string]any
}

// serving starts a kit and has it serve.
func serving(t *testing.T, directory string, settings map[string]any) *served {
	t.Helper()
	s := &served{process: started(t)}
	s.serve(directory, 0, settings)
	return s
}

func (s *served) serve(directory string, port int, settings map[string]any) {
	s.t.Helper()
	told := s.ask(map[string]any{"request": "serve", "directory": directory, "port": port, "settings": settings})
	if told["reply"] != "serve" {
		s.t.Fatal(told)
	}
	s.port, s.settings = int(told["port"].(float64)), told["settings"].(map[string]any)
}

// request gives the status and the body of an answer. A client of nobody has no header.
func (s *served) request(method, path, client, body string) (int, []byte, error) {
	address := fmt.Sprintf("http://127.0.0.1:%d%s", s.port, path)
	request, err := http.NewRequest(method, address, bytes.NewBufferString(body))
	if err != nil {
		return 0, nil, err
	}
	if client != "" {
		request.Header.Set("x-client", client)
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, nil, err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	return answer.StatusCode, text, err
}

// device is a client of a service.
type device struct {
	*served
	name string
}

type change struct {
	ID       string `json:"id"`
	Revision int64  `json:"revision,omitempty"`
	Data     string `json:"data"`
}

type page struct {
	Changes []change `json:"changes"`
	Cursor  int64    `json:"cursor"`
	More    bool     `json:"more"`
}

// device registers one.
func (s *served) device(user, name string) device {
	s.t.Helper()
	body := fmt.Sprintf(`{"user":%q,"device":%q}`, user, name)
	status, text, err := s.request("POST", "/v1/clients", "", body)
	must(s.t, err)
	if expected := fmt.Sprintf("{\"id\":%q}\n", name); status != 200 && status != 201 || string(text) != expected {
		s.t.Fatalf("registering %s is answered %d %s", body, status, text)
	}
	return device{s, name}
}

// tryUpload gives the cursor of an upload that is acknowledged. It fails no test, so it is for threads and for a service that dies.
func (d device) tryUpload(changes ...change) (int64, error) {
	body, err := json.Marshal(map[string]any{"changes": append([]change{}, changes...)})
	if err != nil {
		return 0, err
	}
	status, text, err := d.request("POST", "/v1/sync/delta", d.name, string(body))
	if err == nil && status != 200 {
		err = fmt.Errorf("an upload is answered %d %s", status, text)
	}
	var told page
	if err == nil {
		err = json.Unmarshal(text, &told)
	}
	return told.Cursor, err
}

func (d device) upload(changes ...change) int64 {
	d.t.Helper()
	cursor, err := d.tryUpload(changes...)
	must(d.t, err)
	return cursor
}

// page downloads what is above a cursor.
func (d device) page(cursor int64, limit int) page {
	d.t.Helper()
	return d.download(fmt.Sprintf("/v1/sync/delta?cursor=%d&limit=%d", cursor, limit))
}

// full downloads everything.
func (d device) full() page {
	d.t.Helper()
	return d.download("/v1/sync/full")
}

func (d device) download(path string) page {
	d.t.Helper()
	status, text, err := d.request("GET", path, d.name, "")
	must(d.t, err)
	var told page
	if status != 200 {
		d.t.Fatalf("%s is answered %d %s", path, status, text)
	}
	must(d.t, json.Unmarshal(text, &told))
	return told
}

// numbered are so many changes of objects of their own.
func numbered(name string, count int) []change {
	changes := make([]change, count)
	for number := range changes {
		changes[number] = change{ID: fmt.Sprintf("%s-%d", name, number), Data: fmt.Sprintf("data of %s %d", name, number)}
	}
	return changes
}

func equal[T any](t *testing.T, told, expected T) {
	t.Helper()
	if fmt.Sprint(told) != fmt.Sprint(expected) {
		t.Errorf("told %v, expected %v", told, expected)
	}
}
