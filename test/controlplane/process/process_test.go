package process

import (
	"bufio"
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

// parentVariable makes this test binary a parent that starts a program and waits to be killed.
const parentVariable = "PROCESS_TEST_PARENT"

func TestMain(m *testing.M) {
	if log := os.Getenv(parentVariable); log != "" {
		os.Exit(beParent(context.Background(), log))
	}
	os.Exit(m.Run())
}

func beParent(ctx context.Context, log string) int {
	p, err := Start(ctx, Spec{Name: "sleep", Path: "sleep", Args: []string{"600"}, Log: log})
	if err != nil {
		return 1
	}
	_, _ = os.Stdout.WriteString(strconv.Itoa(p.Pid()) + "\n")
	<-p.Ended()
	return 0
}

func shell(t *testing.T, script string) Spec {
	t.Helper()
	return Spec{Name: "shell", Path: "/bin/sh", Args: []string{"-c", script}, Log: filepath.Join(t.TempDir(), "shell.log")}
}

func TestAProgramIsReadyWhenItsAddressAnswers(t *testing.T) {
	asked := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if asked++; asked < 3 {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	defer server.Close()
	spec := shell(t, "sleep 600")
	spec.Ready = Answers(server.Client(), server.URL)
	p, err := Start(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Stop()
	if asked != 3 {
		t.Errorf("ready after %d questions, want 3", asked)
	}
}

func TestAnAnswerDoesNotCountForADeadProgram(t *testing.T) {
	spec := shell(t, "echo 'Error: listen tcp: bind: address already in use'; exit 3")
	ended := make(chan struct{})
	spec.Ready = func(context.Context) error {
		<-ended // a neighbor answers when the program is dead already
		return nil
	}
	p, err := launch(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	<-p.Ended()
	close(ended)
	err = p.await(t.Context())
	want := "shell ended by itself (exit status 3): Error: listen tcp: bind: address already in use; log: " + spec.Log
	if err == nil || err.Error() != want {
		t.Errorf("error is %v, want %s", err, want)
	}
	if !PortTaken(err) {
		t.Error("the port was in use, but that is not seen")
	}
}

func TestAProgramThatEndsIsToldUnlessItWasAskedTo(t *testing.T) {
	own, err := Start(t.Context(), shell(t, "exit 0"))
	if err == nil {
		<-own.Ended()
		err = own.Err()
	}
	var ended *EndedError
	if !errors.As(err, &ended) || ended.Words != "it said nothing" {
		t.Errorf("error is %v, want that it ended and said nothing", err)
	}
	asked, err := Start(t.Context(), shell(t, "sleep 600"))
	if err != nil {
		t.Fatal(err)
	}
	asked.Stop()
	if err := asked.Err(); err != nil {
		t.Error(err)
	}
}

func TestAnErrorIsOfThisRunNotOfAnEarlierOne(t *testing.T) {
	spec := shell(t, "echo quiet; exit 1")
	if err := os.WriteFile(spec.Log, []byte("Error: an old one\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	p, err := launch(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	<-p.Ended()
	if err := p.Err(); !strings.Contains(err.Error(), "quiet") {
		t.Errorf("error is %v", err)
	}
}

func TestStartGivesUpWhenItsContextEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	spec := shell(t, "sleep 600")
	spec.Ready = func(context.Context) error {
		cancel()
		return errors.New("not yet")
	}
	if _, err := Start(ctx, spec); !errors.Is(err, context.Canceled) {
		t.Errorf("error is %v", err)
	}
}

func TestAProgramDiesWithItsParent(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux tells children of their parent's death")
	}
	parent := exec.CommandContext(t.Context(), os.Args[0])
	parent.Env = append(os.Environ(), parentVariable+"="+filepath.Join(t.TempDir(), "log"))
	out, err := parent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	child, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = parent.Wait() // it was killed
	const patience = 10 * time.Second
	err = wait.PollUntilContextTimeout(t.Context(), poll, patience, true, func(context.Context) (bool, error) {
		return gone(child), nil
	})
	if err != nil {
		t.Errorf("process %d outlives its parent", child)
		_ = syscall.Kill(child, syscall.SIGKILL)
	}
}

// gone tells whether the process has ended; a zombie that nobody has waited for has.
func gone(pid int) bool {
	stat, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	return err != nil || strings.Contains(string(stat), ") Z ")
}
