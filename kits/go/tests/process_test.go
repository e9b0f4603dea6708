// The built program as the lab has it: a process that is talked to in lines.

package tests

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// program is where the build in `kit.toml` puts it.
const program = "../target/pocketbase"

func TestMain(m *testing.M) {
	build := exec.Command("go", "build", "-buildvcs=false", "-trimpath", "-o", "target/pocketbase", "./drivers/pocketbase")
	build.Dir, build.Stderr = "..", os.Stderr
	if err := build.Run(); err != nil {
		fmt.Fprintln(os.Stderr, "the driver does not build:", err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// process is a kit at work.
type process struct {
	t       *testing.T
	command *exec.Cmd
	said    io.WriteCloser
	replies *bufio.Reader
}

// started starts the kit in an empty folder, without a home and without a folder for temporary files.
func started(t *testing.T) *process {
	t.Helper()
	path, err := filepath.Abs(program)
	must(t, err)
	command := exec.Command(path)
	command.Dir, command.Stderr = t.TempDir(), os.Stderr
	nowhere := filepath.Join(command.Dir, "nowhere")
	command.Env = append(os.Environ(), "HOME="+nowhere, "TMPDIR="+nowhere)
	said, err := command.StdinPipe()
	must(t, err)
	replies, err := command.StdoutPipe()
	must(t, err)
	must(t, command.Start())
	p := &process{t, command, said, bufio.NewReader(replies)}
	t.Cleanup(p.kill)
	return p
}

// say says a line and gives the reply's.
func (p *process) say(line string) string {
	p.t.Helper()
	_, err := io.WriteString(p.said, line+"\n")
	must(p.t, err)
	reply, err := p.replies.ReadString('\n')
	must(p.t, err)
	return reply
}

// ask makes a request and gives the reply.
func (p *process) ask(request map[string]any) map[string]any {
	p.t.Helper()
	line, err := json.Marshal(request)
	must(p.t, err)
	var reply map[string]any
	must(p.t, json.Unmarshal([]byte(p.say(string(line))), &reply))
	return reply
}

// end hangs up. The kit leaves with status 0, says nothing more, and has left nothing where it was started.
func (p *process) end() {
	p.t.Helper()
	p.said.Close()
	rest, err := io.ReadAll(p.replies)
	must(p.t, err)
	must(p.t, p.command.Wait())
	left, err := os.ReadDir(p.command.Dir)
	must(p.t, err)
	if len(rest) > 0 || len(left) > 0 {
		p.t.Errorf("after its end: said %q, left %v", rest, left)
	}
}

// kill ends the kit as a crash does, if it has not ended.
func (p *process) kill() {
	if p.command.ProcessState == nil {
		_ = p.command.Process.Kill()
		_ = p.command.Wait()
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
