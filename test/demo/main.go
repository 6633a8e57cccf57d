package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	binary := flag.String("operator", "", "the operator to run; empty means to build it from this checkout")
	flag.Parse()
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := perform(ctx, newPrinter(os.Stdout), *binary)
	interrupted := ctx.Err() != nil
	cancel()
	if interrupted {
		err = errors.New("interrupted; everything it started was taken down")
	}
	if err != nil {
		_, _ = fmt.Fprintln(os.Stderr, "demo:", err) // there is nobody else to tell
		os.Exit(1)
	}
}
