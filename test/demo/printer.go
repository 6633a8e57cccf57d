package main

import (
	"fmt"
	"io"
	"os"
	"strings"
)

// width is where prose is wrapped.
const width = 100

// printer writes for a person to read: plain text, with a little emphasis where a terminal shows it.
// What can't be written is nobody's concern, so errors are dropped.
type printer struct {
	io.Writer

	bold, faint, plain string
}

func newPrinter(f *os.File) *printer {
	p := &printer{Writer: f}
	info, err := f.Stat()
	if err == nil && info.Mode()&os.ModeCharDevice != 0 && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" {
		p.bold, p.faint, p.plain = "\x1b[1m", "\x1b[2m", "\x1b[0m"
	}
	return p
}

func (p *printer) line(text string) { _, _ = fmt.Fprintln(p, text) }

func (p *printer) title(text string) { p.line("\n" + p.bold + "== " + text + p.plain) }

func (p *printer) command(text string) { p.line(p.bold + "$ " + text + p.plain) }

func (p *printer) kept(text string) { p.line(p.faint + "     ok  " + text + p.plain) }

// say wraps prose.
func (p *printer) say(text string) {
	line := ""
	for word := range strings.FieldsSeq(text) {
		if line != "" && len(line)+1+len(word) > width {
			p.line(line)
			line = ""
		}
		line = strings.TrimLeft(line+" "+word, " ")
	}
	p.line(line)
}
