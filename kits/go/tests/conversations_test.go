// Plays the lab's part of the protocol's golden conversations.

package tests

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

const conversations = "../../../protocol/conversations"

func TestTheKitSpeaksTheGoldenConversations(t *testing.T) {
	paths, err := filepath.Glob(conversations + "/*.jsonl")
	must(t, err)
	p := started(t)
	told := p.ask(map[string]any{"request": "hello", "protocol": 1})["capabilities"].([]any)
	p.end()
	played := 0
	for _, path := range paths {
		text, err := os.ReadFile(path)
		must(t, err)
		lines := strings.Split(strings.TrimSpace(string(text)), "\n")
		var head struct{ Needs []string }
		must(t, json.Unmarshal([]byte(lines[0]), &head))
		// What a driver cannot do the lab does not ask of it.
		if slices.ContainsFunc(head.Needs, func(need string) bool { return !slices.Contains(told, any(need)) }) {
			continue
		}
		played++
		t.Run(filepath.Base(path), func(t *testing.T) { play(t, lines[1:]) })
	}
	if played == 0 {
		t.Errorf("%d conversations, and none is played", len(paths))
	}
}

func play(t *testing.T, lines []string) {
	here, err := filepath.Abs(conversations)
	must(t, err)
	fill := strings.NewReplacer("<here>", here, "<directory>", t.TempDir())
	p, reply := started(t), ""
	for number, line := range lines {
		var message map[string]any
		must(t, json.Unmarshal([]byte(line), &message))
		said, fromLab := message["lab"]
		expected := message["kit"]
		switch {
		case fromLab && said == nil:
			p.said.Close()
		case fromLab:
			text, isText := said.(string)
			if !isText {
				object, err := json.Marshal(said)
				must(t, err)
				text = string(object)
			}
			// Go writes angle brackets as escapes.
			text = strings.NewReplacer(`\u003c`, "<", `\u003e`, ">").Replace(text)
			reply = p.say(fill.Replace(text))
		case expected == nil:
			p.end()
		default:
			var told any
			must(t, json.Unmarshal([]byte(reply), &told))
			if !matches(expected, told) {
				t.Fatalf("line %d: expected %v, not %s", number+2, expected, reply)
			}
		}
	}
}

// matches says whether an answer is what a conversation expects.
func matches(expected, told any) bool {
	switch expected := expected.(type) {
	case string:
		switch expected {
		case "<number>":
			return reflect.TypeOf(told) == reflect.TypeFor[float64]()
		case "<text>":
			return reflect.TypeOf(told) == reflect.TypeFor[string]()
		case "<list>":
			return reflect.TypeOf(told) == reflect.TypeFor[[]any]()
		case "<object>":
			return reflect.TypeOf(told) == reflect.TypeFor[map[string]any]()
		}
	case map[string]any:
		fields, isObject := told.(map[string]any)
		// A field that is `{}` may also be left out.
		for name, value := range expected {
			if _, there := fields[name]; !there && !reflect.DeepEqual(value, map[string]any{}) {
				return false
			}
		}
		unlike := func(name string) bool {
			value, known := expected[name]
			return !known || !matches(value, fields[name])
		}
		return isObject && !slices.ContainsFunc(slices.Collect(maps.Keys(fields)), unlike)
	}
	return reflect.DeepEqual(expected, told)
}

func TestWhatIsNoRequestOfAServiceIsRefusedAndTheKitGoesOn(t *testing.T) {
	p := started(t)
	long := `{"request":"hello","protocol":"` + strings.Repeat("1", 1<<20) + `"}`
	for line, kind := range map[string]string{
		"this is no JSON": "protocol", `[]`: "protocol", `{"request":"dance"}`: "protocol", long: "protocol",
		`{"request":"hello"}`: "protocol", `{"request":"hello","protocol":2}`: "protocol", `{"request":7}`: "protocol",
		`{"request":"hello","protocol":null}`: "protocol", `{"request":"close","now":true}`: "protocol",
		`{"request":"serve","directory":"x","port":-1,"settings":{}}`: "protocol",
		`{"request":"serve","directory":"x","port":0,"settings":[]}`:  "protocol",
		`{"request":"check"}`:          "unsupported",
		`{"request":"run","lanes":[]}`: "unsupported",
		`{"request":"serve","directory":"/proc/x","port":0,"settings":{}}`: "io",
	} {
		var told map[string]any
		must(t, json.Unmarshal([]byte(p.say(line)), &told))
		if told["reply"] != "error" || told["kind"] != kind {
			t.Errorf("%.60s: told %v", line, told)
		}
	}
	if told := p.ask(map[string]any{"request": "quit"}); told["reply"] != "quit" {
		t.Error(told)
	}
	p.end()
}
