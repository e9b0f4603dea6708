// PocketBase as a framework: a program that embeds it, with the service's tables as collections and its requests as routes.
//
// Changes are records. They are stored by `Save`, with the validation and the hooks of every record, inside of `RunInTransaction`,
// as PocketBase's documentation shows it; pages of them are read by its query builder, as it shows it for routes with an answer of
// their own. Clients and changes have their user by a relation field, which PocketBase checks on each save. Its own collection `users`
// is of accounts with passwords, and nobody logs in here: so the service's users are in one that is called `people`.
package main

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"runtime/debug"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/pocketbase/dbx"
	"github.com/pocketbase/pocketbase"
	"github.com/pocketbase/pocketbase/apis"
	"github.com/pocketbase/pocketbase/core"
	"github.com/pocketbase/pocketbase/migrations"
	"github.com/pocketbase/pocketbase/tools/router"

	"touchstone/kits/go/kit"
)

// textMax is above what a body may hold, so that no text is refused for its length: PocketBase's own limit is 5,000 characters.
const textMax = 32 << 20

// numberMax is the protocol's, and that of PocketBase's numbers, which are floating.
const numberMax = 1<<53 - 1

func main() {
	migrations.Register(makeSchema, nil, "1764000000_service.go")
	kit.Main(driver{})
}

type driver struct{}

// About asks the SQLite that PocketBase links.
func (driver) About() (kit.About, error) {
	about := kit.About{Subject: "pocketbase"}
	database, err := core.DefaultDBConnect(":memory:")
	if err != nil {
		return about, err
	}
	defer database.Close()
	var version string
	err = errors.Join(
		database.NewQuery("select sqlite_version()").Row(&version),
		database.NewQuery("select sqlite_source_id()").Row(&about.EngineSource),
		database.NewQuery("pragma compile_options").Column(&about.CompileOptions),
	)
	linked := map[string]string{}
	if info, known := debug.ReadBuildInfo(); known {
		for _, module := range info.Deps {
			linked[module.Path] = module.Version
		}
	}
	about.Version = strings.TrimPrefix(linked["github.com/pocketbase/pocketbase"], "v")
	about.Engine = fmt.Sprintf("SQLite %s in Go (modernc.org/sqlite %s)", version, linked["modernc.org/sqlite"])
	return about, err
}

// makeSchema is a migration, as PocketBase's users have their schema: it is applied to a new database once.
func makeSchema(app core.App) error {
	people := core.NewBaseCollection("people")
	people.Fields.Add(&core.TextField{Name: "name", Required: true, Max: textMax})
	people.AddIndex("people_name", true, "name", "")
	if err := app.Save(people); err != nil {
		return err
	}
	user := func() core.Field {
		return &core.RelationField{Name: "user", CollectionId: people.Id, Required: true}
	}
	clients := core.NewBaseCollection("clients")
	clients.Fields.Add(
		user(),
		&core.TextField{Name: "device", Required: true, Max: textMax},
		&core.NumberField{Name: "cursor", OnlyInt: true},
	)
	clients.AddIndex("clients_device", true, "device", "")
	if err := app.Save(clients); err != nil {
		return err
	}
	changes := core.NewBaseCollection("changes")
	changes.Fields.Add(
		user(),
		&core.TextField{Name: "object", Max: textMax},
		&core.NumberField{Name: "revision", OnlyInt: true},
		&core.TextField{Name: "data", Max: textMax},
	)
	changes.AddIndex("changes_user_object", true, "user, object", "")
	changes.AddIndex("changes_user_revision", false, "user, revision", "")
	if err := app.Save(changes); err != nil {
		return err
	}
	settings := app.Settings()
	settings.Logs.MaxDays = 0
	return app.Save(settings)
}

// service is one app that serves.
type service struct {
	app       *pocketbase.PocketBase
	downloads string
	server    *http.Server
	ended     chan error
}

func (driver) Serve(listener net.Listener, directory string, asked kit.Settings) (kit.Service, error) {
	connect, err := connection(asked)
	downloads, wrong := asked.Word("download", "writes", "reads")
	if err = errors.Join(err, wrong); err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	if downloads == "" {
		downloads = "writes"
	}
	app := pocketbase.NewWithConfig(pocketbase.Config{
		HideStartBanner: true,
		DefaultDataDir:  directory,
		DBConnect:       connect,
	})
	s := &service{app: app, downloads: downloads, ended: make(chan error, 1)}
	app.OnServe().BindFunc(func(e *core.ServeEvent) error {
		// Without the installer: it opens a browser.
		e.Listener, e.InstallerFunc = listener, nil
		s.server = e.Server
		s.route(e.Router)
		return e.Next()
	})
	if err := app.Bootstrap(); err != nil {
		return nil, errors.Join(inKind(err), listener.Close(), app.ResetBootstrapState())
	}
	address := listener.Addr().String()
	go func() { s.ended <- apis.Serve(app, apis.ServeConfig{HttpAddr: address}) }()
	answers := make(chan error, 1)
	go func() { answers <- ask("http://" + address + "/api/health") }()
	select {
	case err := <-answers:
		if err != nil {
			return nil, errors.Join(err, s.Close())
		}
		return s, nil
	case err := <-s.ended:
		return nil, errors.Join(inKind(err), listener.Close(), app.ResetBootstrapState())
	}
}

// ask waits for the first answer, on a connection that ends with it.
func ask(address string) error {
	request, err := http.NewRequest(http.MethodGet, address, nil)
	if err != nil {
		return err
	}
	request.Close = true
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	return answer.Body.Close()
}

// Close ends the app as PocketBase's own command does: requests are let finish, then the database is closed.
func (s *service) Close() error {
	event := &core.TerminateEvent{App: s.app}
	err := s.app.OnTerminate().Trigger(event, func(e *core.TerminateEvent) error { return e.App.ResetBootstrapState() })
	return errors.Join(err, s.server.Close(), <-s.ended)
}

func (s *service) route(routes *router.Router[*core.RequestEvent]) {
	routes.POST("/v1/clients", register)
	sync := routes.Group("/v1/sync")
	sync.BindFunc(know)
	sync.GET("/full", s.downloadAll)
	sync.GET("/delta", s.downloadPage)
	sync.POST("/delta", upload)
}

// register makes a device known, and its user where that is new.
func register(e *core.RequestEvent) error {
	var body struct{ User, Device *string }
	if err := read(e, &body); err != nil {
		return err
	}
	if body.User == nil || body.Device == nil || *body.User == "" || *body.Device == "" {
		return e.BadRequestError("A client has a user and a device.", nil)
	}
	status := http.StatusOK
	err := e.App.RunInTransaction(func(tx core.App) error {
		_, err := tx.FindFirstRecordByData("clients", "device", *body.Device)
		if !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		user, err := tx.FindFirstRecordByData("people", "name", *body.User)
		if errors.Is(err, sql.ErrNoRows) {
			user, err = save(tx, "people", map[string]any{"name": *body.User})
		}
		if err != nil {
			return err
		}
		status = http.StatusCreated
		_, err = save(tx, "clients", map[string]any{"user": user.Id, "device": *body.Device})
		return err
	})
	if err != nil {
		return e.InternalServerError("", err)
	}
	return e.JSON(status, struct {
		ID string `json:"id"`
	}{*body.Device})
}

// save stores a new record.
func save(tx core.App, name string, values map[string]any) (*core.Record, error) {
	collection, err := tx.FindCachedCollectionByNameOrId(name)
	if err != nil {
		return nil, err
	}
	record := core.NewRecord(collection)
	record.Load(values)
	return record, tx.Save(record)
}

// know finds the client that a request is of.
func know(e *core.RequestEvent) error {
	client, err := e.App.FindFirstRecordByData("clients", "device", e.Request.Header.Get("x-client"))
	if errors.Is(err, sql.ErrNoRows) {
		return e.UnauthorizedError("The client is not known.", nil)
	}
	if err != nil {
		return e.InternalServerError("", err)
	}
	e.Set("client", client)
	return e.Next()
}

// upload stores changes. All writes go over one connection, which a transaction has for itself: so revisions are handed out and
// stored in one order.
func upload(e *core.RequestEvent) error {
	var body struct {
		Changes []struct{ ID, Data *string }
	}
	if err := read(e, &body); err != nil {
		return err
	}
	for _, change := range body.Changes {
		if change.ID == nil || change.Data == nil {
			return e.BadRequestError("A change has an id and data.", nil)
		}
	}
	if body.Changes == nil {
		return e.BadRequestError("There are no changes.", nil)
	}
	user := e.Get("client").(*core.Record).GetString("user")
	var revision int64
	err := e.App.RunInTransaction(func(tx core.App) error {
		err := tx.DB().Select("coalesce(max(revision), 0)").From("changes").Where(dbx.HashExp{"user": user}).Row(&revision)
		if err != nil {
			return err
		}
		for _, change := range body.Changes {
			revision++
			if err := store(tx, user, *change.ID, *change.Data, revision); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return e.InternalServerError("", err)
	}
	return e.JSON(http.StatusOK, struct {
		Cursor int64 `json:"cursor"`
	}{revision})
}

// store writes an object's state over the one that it has.
func store(tx core.App, user, object, data string, revision int64) error {
	record := &core.Record{}
	of := dbx.HashExp{"user": user, "object": object}
	err := tx.RecordQuery("changes").AndWhere(of).Limit(1).One(record)
	if errors.Is(err, sql.ErrNoRows) {
		_, err := save(tx, "changes", map[string]any{"user": user, "object": object, "data": data, "revision": revision})
		return err
	}
	if err != nil {
		return err
	}
	record.Set("data", data)
	record.Set("revision", revision)
	return tx.Save(record)
}

// change is one of an answer.
type change struct {
	ID       string `db:"object" json:"id"`
	Revision int64  `db:"revision" json:"revision"`
	Data     string `db:"data" json:"data"`
}

// changesAbove are a user's with higher revisions, in their order.
func changesAbove(e *core.RequestEvent, cursor int64) *dbx.SelectQuery {
	return e.App.DB().
		Select("object", "revision", "data").
		From("changes").
		Where(dbx.HashExp{"user": e.Get("client").(*core.Record).GetString("user")}).
		AndWhere(dbx.NewExp("revision > {:cursor}", dbx.Params{"cursor": cursor})).
		OrderBy("revision")
}

// last is where a client stands that had these.
func last(changes []change, cursor int64) int64 {
	if len(changes) == 0 {
		return cursor
	}
	return changes[len(changes)-1].Revision
}

func (s *service) downloadAll(e *core.RequestEvent) error {
	changes := []change{}
	if err := changesAbove(e, 0).All(&changes); err != nil {
		return e.InternalServerError("", err)
	}
	cursor := last(changes, 0)
	if err := s.stands(e, cursor); err != nil {
		return e.InternalServerError("", err)
	}
	return e.JSON(http.StatusOK, struct {
		Changes []change `json:"changes"`
		Cursor  int64    `json:"cursor"`
	}{changes, cursor})
}

func (s *service) downloadPage(e *core.RequestEvent) error {
	query := e.Request.URL.Query()
	cursor, known := number(query, "cursor", 0, numberMax)
	limit, limited := number(query, "limit", 1, 1000)
	if !known || !limited {
		return e.BadRequestError("A page has a cursor, and a limit from 1 to 1,000.", nil)
	}
	changes := []change{}
	// One more tells whether there are others.
	if err := changesAbove(e, cursor).Limit(limit + 1).All(&changes); err != nil {
		return e.InternalServerError("", err)
	}
	more := int64(len(changes)) > limit
	if more {
		changes = changes[:limit]
	}
	cursor = last(changes, cursor)
	if err := s.stands(e, cursor); err != nil {
		return e.InternalServerError("", err)
	}
	return e.JSON(http.StatusOK, struct {
		Changes []change `json:"changes"`
		Cursor  int64    `json:"cursor"`
		More    bool     `json:"more"`
	}{changes, cursor, more})
}

// stands stores where a client stands, if downloads store it.
func (s *service) stands(e *core.RequestEvent, cursor int64) error {
	if s.downloads == "reads" {
		return nil
	}
	client := e.Get("client").(*core.Record)
	client.Set("cursor", cursor)
	return e.App.Save(client)
}

// number is a whole number of the query.
func number(query url.Values, name string, least, most int64) (int64, bool) {
	value, err := strconv.ParseInt(query.Get(name), 10, 64)
	return value, err == nil && value >= least && value <= most
}

// read makes a value of the whole body. PocketBase's own reading passes over what follows it.
func read(e *core.RequestEvent, into any) error {
	body, err := io.ReadAll(e.Request.Body)
	if err != nil {
		return err
	}
	if !utf8.Valid(body) {
		return e.BadRequestError("The body is not UTF-8.", nil)
	}
	if err := json.Unmarshal(body, into); err != nil {
		return e.BadRequestError("The body is no such object.", err)
	}
	return nil
}

// setting is one of the protocol's that SQLite has: its pragma, and the words for the numbers from 0. Without words it is a number.
type setting struct {
	name   string
	pragma string
	words  []string
}

// settings are in the order in which a connection has to be asked for them.
var settings = []setting{
	{"busy_timeout_ms", "busy_timeout", nil},
	{"page_size_bytes", "page_size", nil},
	{"journal_mode", "journal_mode", []string{"delete", "truncate", "persist", "memory", "off", "wal"}},
	{"synchronous", "synchronous", []string{"off", "normal", "full", "extra"}},
	{"foreign_keys", "foreign_keys", []string{"no", "yes"}},
	{"temp_store", "temp_store", []string{"default", "file", "memory"}},
	{"cache_size_bytes", "cache_size", nil},
	{"mmap_size_bytes", "mmap_size", nil},
	{"wal_autocheckpoint_pages", "wal_autocheckpoint", nil},
	{"fullfsync", "fullfsync", []string{"no", "yes"}},
	{"checkpoint_fullfsync", "checkpoint_fullfsync", []string{"no", "yes"}},
	// PocketBase has several connections, none of which could have the file for itself.
	{"locking_mode", "locking_mode", []string{"normal"}},
	{"checkpoint", "", []string{"commit"}},
	{"cipher", "", []string{"none"}},
}

// usual are what PocketBase asks of each connection. Whoever asks for something else connects on his own, and asks for these again:
// PocketBase has no settings for them.
var usual = map[string]string{
	"busy_timeout":       "10000",
	"journal_mode":       "wal",
	"journal_size_limit": "200000000",
	"synchronous":        "normal",
	"foreign_keys":       "yes",
	"temp_store":         "memory",
	"cache_size":         "-32000",
}

// connection is how PocketBase is to connect: its own way, where nothing is asked.
func connection(asked kit.Settings) (core.DBConnectFunc, error) {
	pragmas := map[string]string{}
	for _, setting := range settings {
		value, err := setting.asked(asked)
		if err != nil {
			return nil, err
		}
		if value != "" && setting.pragma != "" {
			pragmas[setting.pragma] = value
		}
	}
	if len(pragmas) == 0 {
		return nil, nil
	}
	all := maps.Clone(usual)
	maps.Copy(all, pragmas)
	query := url.Values{}
	for _, setting := range settings {
		if value, wanted := all[setting.pragma]; wanted {
			query.Add("_pragma", fmt.Sprintf("%s(%s)", setting.pragma, value))
		}
	}
	query.Add("_pragma", fmt.Sprintf("journal_size_limit(%s)", all["journal_size_limit"]))
	return func(path string) (*dbx.DB, error) { return dbx.Open("sqlite", path+"?"+query.Encode()) }, nil
}

// asked is what the pragma is given; empty where nothing is asked.
func (s setting) asked(all kit.Settings) (string, error) {
	if s.words != nil {
		return all.Word(s.name, s.words...)
	}
	value, isAsked, err := all.Number(s.name)
	if err != nil || !isAsked {
		return "", err
	}
	if s.pragma == "cache_size" {
		// SQLite takes kibibytes as a negative number.
		return strconv.FormatInt(-value/1024, 10), nil
	}
	return strconv.FormatInt(value, 10), nil
}

// Settings reads from both of PocketBase's pools: the connection that all writes go over, and one of those that reads go over.
func (s *service) Settings() (map[string]any, error) {
	writes, err := took(s.app.NonconcurrentDB())
	if err != nil {
		return nil, err
	}
	reads, err := took(s.app.ConcurrentDB())
	if err != nil {
		return nil, err
	}
	if !maps.Equal(writes, reads) {
		return nil, kit.Fail("other", "settings differ: %v where it writes, %v where it reads", writes, reads)
	}
	writes["download"] = s.downloads
	return writes, nil
}

// took is what took effect on a connection.
func took(database dbx.Builder) (map[string]any, error) {
	told := map[string]any{}
	for _, setting := range settings {
		if setting.pragma == "" {
			told[setting.name] = setting.words[0]
			continue
		}
		var value string
		if err := database.NewQuery("pragma " + setting.pragma).Row(&value); err != nil {
			return nil, err
		}
		number, err := strconv.ParseInt(value, 10, 64)
		switch {
		case err != nil:
			told[setting.name] = value
		case setting.words != nil:
			told[setting.name] = setting.words[number]
		default:
			told[setting.name] = number
		}
	}
	cache, pageSize := told["cache_size_bytes"].(int64), told["page_size_bytes"].(int64)
	if cache < 0 {
		told["cache_size_bytes"] = -cache * 1024
	} else {
		told["cache_size_bytes"] = cache * pageSize
	}
	return told, nil
}

// inKind tells the lab what SQLite says of itself.
func inKind(err error) error {
	var told interface{ Code() int }
	if !errors.As(err, &told) {
		return err
	}
	kinds := map[int]string{5: "busy", 6: "busy", 10: "io", 11: "corrupt", 13: "full", 14: "io", 26: "corrupt"}
	if kind, known := kinds[told.Code()&0xff]; known {
		return kit.Fail(kind, "%v", err)
	}
	return err
}
