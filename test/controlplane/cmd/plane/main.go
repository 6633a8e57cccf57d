package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"syscall"

	"github.com/kruise-rollout/kruise-rollout/test/controlplane/programs"
)

const usage = `usage:
  plane programs             build the programs of a control plane that are missing
  plane up --dir DIR         start a control plane and leave it running
  plane down --dir DIR       take it down
  plane run -- COMMAND...    run a command with a control plane of its own (KUBECONFIG is set)
`

func main() {
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := command(ctx, os.Args[1:])
	cancel()
	if err != nil {
		_, _ = fmt.Fprintln(os.Stderr, "plane:", err) // there is nobody else to tell
		os.Exit(code(err))
	}
}

// code is that of the command that `run` ran, if it is the reason.
func code(err error) int {
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() > 0 {
		return exit.ExitCode()
	}
	return 1
}

// options are the flags of all commands.
type options struct {
	dir      string
	operator string
	command  []string
	out      io.Writer
}

func command(ctx context.Context, args []string) error {
	commands := map[string]func(context.Context, options) error{
		"programs":  buildPrograms,
		"up":        up,
		"down":      down,
		"run":       run,
		"supervise": supervise, // what up starts
	}
	if len(args) == 0 || commands[args[0]] == nil {
		_, _ = io.WriteString(os.Stderr, usage) // there is nobody else to tell
		return errors.New("which command?")
	}
	o := options{out: os.Stdout}
	fs := flag.NewFlagSet("plane "+args[0], flag.ContinueOnError)
	fs.StringVar(&o.dir, "dir", "", "the folder of the control plane")
	fs.StringVar(&o.operator, "operator", "", "the operator to start, too")
	if err := fs.Parse(args[1:]); err != nil {
		return err
	}
	o.command = fs.Args()
	return commands[args[0]](ctx, o)
}

func buildPrograms(ctx context.Context, o options) error {
	finder, err := programs.New(o.out)
	if err != nil {
		return err
	}
	for _, p := range programs.All() {
		path, err := finder.Find(ctx, p.Name)
		if err != nil {
			return err
		}
		_, _ = fmt.Fprintf(o.out, "%-24s %s\n", p.Name, path[p.Name]) // for a person to read
	}
	return nil
}
