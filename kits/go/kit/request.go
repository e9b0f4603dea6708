// The lab's lines, and what stands in each request. A field that is missing, and one that is not known, is refused.

package kit

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"slices"
)

// lineBytesMax is the most bytes of a line, its line feed included.
const lineBytesMax = 1 << 20

type request struct {
	Request   string   `json:"request"`
	Protocol  int64    `json:"protocol"`
	Directory string   `json:"directory"`
	Port      uint16   `json:"port"`
	Settings  Settings `json:"settings"`
}

// fields are what each request has, all of them.
var fields = map[string][]string{
	"hello": {"protocol"},
	"serve": {"directory", "port", "settings"},
	"close": {},
	"quit":  {},
}

// others are the protocol's requests about databases that a kit plays operations on. No service has them.
var others = []string{"prepare", "open", "fill", "churn", "watch", "run", "explain", "check"}

// parse makes a request of a line.
func parse(line []byte) (request, error) {
	var given map[string]json.RawMessage
	var asked request
	if err := json.Unmarshal(line, &given); err != nil {
		return asked, Fail("protocol", "not a request: %v", err)
	}
	var name string
	if err := json.Unmarshal(given["request"], &name); err != nil {
		return asked, Fail("protocol", "not a request: `%s`", given["request"])
	}
	if slices.Contains(others, name) {
		return asked, Fail("unsupported", "a service has no `%s`", name)
	}
	names, known := fields[name]
	if !known {
		return asked, Fail("protocol", "not a request: `%s`", name)
	}
	for _, field := range names {
		if value, there := given[field]; !there || string(value) == "null" {
			return asked, Fail("protocol", "`%s` lacks its field `%s`", name, field)
		}
	}
	for field := range given {
		if field != "request" && !slices.Contains(names, field) {
			return asked, Fail("protocol", "`%s` has no field `%s`", name, field)
		}
	}
	// Numbers stay as they were written: a setting that is none is told as it was asked for.
	decoder := json.NewDecoder(bytes.NewReader(line))
	decoder.UseNumber()
	if err := decoder.Decode(&asked); err != nil {
		return asked, Fail("protocol", "`%s` makes no sense: %v", name, err)
	}
	return asked, nil
}

// readLine reads up to a line feed. What stands before the end of the input without one was cut off. A line that is too long is
// passed over, and is a failure.
func readLine(input *bufio.Reader) ([]byte, error) {
	var line []byte
	length := 0
	for {
		part, err := input.ReadSlice('\n')
		length += len(part)
		if length <= lineBytesMax {
			line = append(line, part...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err != nil:
			return nil, io.EOF
		case length > lineBytesMax:
			return nil, Fail("protocol", "a line is longer than %d bytes", lineBytesMax)
		}
		return line, nil
	}
}
