// The protocol loop: one request, one reply, until standard input ends or the lab says `quit`.

package kit

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"runtime"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

const protocol = 1

type reply map[string]any

// session speaks for one driver. It has a service while that serves.
type session struct {
	driver  Driver
	service Service
}

// Main talks to the lab over standard input and output until one of them ends.
func Main(driver Driver) {
	replies, err := takeOutput()
	if err == nil {
		err = (&session{driver: driver}).talk(os.Stdin, replies)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// takeOutput keeps the standard output for replies. What a library prints goes to standard error, also where it has the file open
// already.
func takeOutput() (*os.File, error) {
	kept, err := unix.FcntlInt(1, unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(kept), "replies"), unix.Dup2(2, 1)
}

// talk answers each line.
func (s *session) talk(said io.Reader, answered io.Writer) error {
	input := bufio.NewReaderSize(said, 64<<10)
	output := json.NewEncoder(answered)
	output.SetEscapeHTML(false)
	for {
		line, err := readLine(input)
		if errors.Is(err, io.EOF) {
			return s.end()
		}
		var asked request
		if err == nil {
			asked, err = parse(line)
		}
		var told reply
		if err == nil {
			told, err = s.answer(asked)
		}
		if err != nil {
			told = reply{"reply": "error", "kind": kindOf(err), "message": err.Error()}
		} else {
			told["reply"] = asked.Request
		}
		if err := output.Encode(told); err != nil {
			return err
		}
		if told["reply"] == "quit" {
			return nil
		}
	}
}

func (s *session) answer(asked request) (reply, error) {
	switch asked.Request {
	case "hello":
		return s.hello(asked.Protocol)
	case "serve":
		return s.serve(asked)
	case "close":
		if s.service == nil {
			return nil, Fail("protocol", "nothing is served")
		}
	}
	return reply{}, s.end()
}

func (s *session) hello(spoken int64) (reply, error) {
	if spoken != protocol {
		return nil, Fail("protocol", "the lab speaks protocol %d, this kit speaks %d", spoken, protocol)
	}
	about, err := s.driver.About()
	if err != nil {
		return nil, err
	}
	return reply{
		"protocol":        protocol,
		"kit":             "go " + strings.TrimPrefix(runtime.Version(), "go"),
		"subject":         about.Subject,
		"version":         about.Version,
		"engine":          about.Engine,
		"engine_source":   about.EngineSource,
		"compile_options": about.CompileOptions,
		"capabilities":    []string{"change.serve"},
		"clock":           measureClock(),
	}, nil
}

func (s *session) serve(asked request) (reply, error) {
	if s.service != nil {
		return nil, Fail("protocol", "something is served already: close it first")
	}
	listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", asked.Port))
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, Fail("busy", "port %d is in use", asked.Port)
	}
	if err != nil {
		return nil, err
	}
	port := listener.Addr().(*net.TCPAddr).Port
	service, err := s.driver.Serve(listener, asked.Directory, asked.Settings)
	if err != nil {
		return nil, err
	}
	settings, err := service.Settings()
	if err != nil {
		return nil, errors.Join(err, service.Close())
	}
	s.service = service
	return reply{"port": port, "settings": settings}, nil
}

// end closes what is served, if anything is.
func (s *session) end() error {
	if s.service == nil {
		return nil
	}
	ending := s.service
	s.service = nil
	return ending.Close()
}

// kindOf is the protocol's word for an error.
func kindOf(err error) string {
	var failure *Failure
	var path *fs.PathError
	var number syscall.Errno
	switch {
	case errors.As(err, &failure):
		return failure.Kind
	case errors.Is(err, syscall.ENOSPC):
		return "full"
	case errors.As(err, &path), errors.As(err, &number):
		return "io"
	}
	return "other"
}
