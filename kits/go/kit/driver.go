// Package kit is what every Go driver shares: the protocol for services and the clock. It holds no generators, no
// statistics and no opinion, so that a driver is nothing but its subject.
package kit

import (
	"encoding/json"
	"fmt"
	"net"
	"slices"
	"strings"
)

// Driver is a subject that answers requests over HTTP.
type Driver interface {
	// About says who the driver is: ask the library that is linked, not the manifest.
	About() (About, error)
	// Serve makes the database of an empty directory, or goes on with what is there, and returns when requests are
	// answered. The listener is the driver's from then on: it closes it, when it fails too.
	Serve(listener net.Listener, directory string, asked Settings) (Service, error)
}

// Service is a subject that serves.
type Service interface {
	// Settings says what took effect, by the protocol's names, read back from a connection of the service's own.
	Settings() (map[string]any, error)
	// Close returns when nothing listens any more and what was acknowledged is stored.
	Close() error
}

// About is who a driver is.
type About struct {
	Subject        string
	Version        string
	Engine         string
	EngineSource   string
	CompileOptions []string
}

// Failure is an error in the protocol's terms: a kind that the lab tells apart, and a message.
type Failure struct {
	Kind    string
	Message string
}

func (f *Failure) Error() string { return f.Message }

// Fail makes a failure of a kind.
func Fail(kind, format string, values ...any) *Failure {
	return &Failure{kind, fmt.Sprintf(format, values...)}
}

// Settings are what was asked for, by the protocol's names.
type Settings map[string]any

// Word is the word that a setting asks for, which must be one of these; empty where nothing is asked.
func (s Settings) Word(name string, words ...string) (string, error) {
	value, asked := s[name]
	if !asked {
		return "", nil
	}
	word, isText := value.(string)
	if !isText || !slices.Contains(words, word) {
		return "", Fail("unsupported", "setting %s: `%v` is not one of %s", name, value, strings.Join(words, ", "))
	}
	return word, nil
}

// Number is the number that a setting asks for, and whether one is asked for.
func (s Settings) Number(name string) (int64, bool, error) {
	value, asked := s[name]
	if !asked {
		return 0, false, nil
	}
	number, isNumber := value.(json.Number)
	whole, err := number.Int64()
	if !isNumber || err != nil || whole < 0 {
		return 0, false, Fail("unsupported", "setting %s: `%v` is not a whole number", name, value)
	}
	return whole, true, nil
}
