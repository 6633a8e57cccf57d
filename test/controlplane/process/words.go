package process

import (
	"encoding/json"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
)

const (
	// tail is how much of a log is searched for the telling line.
	tail = 64 << 10
	// longest is how much of that line fits into an error.
	longest = 400
)

// words returns the line of the log from offset on that tells most about why the program ended.
func words(path string, offset int64) string {
	file, err := os.Open(path) //nolint:gosec // our own log
	if err != nil {
		return "its log cannot be read"
	}
	defer func() { _ = file.Close() }() // only read
	info, err := file.Stat()
	if err != nil {
		return "its log cannot be read"
	}
	offset = max(offset, info.Size()-tail)
	content, err := io.ReadAll(io.NewSectionReader(file, offset, tail))
	if err != nil {
		return "its log cannot be read"
	}
	return telling(string(content))
}

// telling picks the last line that reports an error: not the last line, since programs go on to print
// their usage, stacks, or how they shut down. A panic is told by its first line.
func telling(log string) string {
	lines := strings.Split(strings.TrimSpace(log), "\n")
	for _, line := range lines {
		if strings.HasPrefix(line, "panic: ") || strings.HasPrefix(line, "fatal error: ") {
			return clean(line)
		}
	}
	for _, line := range slices.Backward(lines) {
		if alarm(line) {
			return clean(line)
		}
	}
	last := clean(lines[len(lines)-1])
	if last == "" {
		return "it said nothing"
	}
	return last
}

// klog is the header that Kubernetes programs put before a line: level, date, time, thread, file.
func klog() *regexp.Regexp {
	return regexp.MustCompile(`^[EFIW]\d{4} [\d:.]+\s+\d+ \S+\] `)
}

func alarm(line string) bool {
	if klog().MatchString(line) {
		return line[0] == 'E' || line[0] == 'F'
	}
	for _, sign := range []string{`"level":"fatal"`, `"level":"error"`, `"level":"panic"`, `"level":"ERROR"`, "level=ERROR"} {
		if strings.Contains(line, sign) {
			return true
		}
	}
	lower := strings.ToLower(line)
	return strings.HasPrefix(lower, "error") || strings.HasPrefix(lower, "fatal") || strings.HasPrefix(lower, "fail")
}

// clean takes off what says nothing to a person.
func clean(line string) string {
	line = strings.TrimSpace(klog().ReplaceAllString(line, ""))
	var entry struct {
		Message string `json:"msg"`
		Error   string `json:"error"`
		Err     string `json:"err"`
	}
	if json.Unmarshal([]byte(line), &entry) == nil && entry.Message != "" {
		line = entry.Message
		if cause := entry.Error + entry.Err; cause != "" {
			line += ": " + cause
		}
	}
	if len(line) > longest {
		line = line[:longest] + "…"
	}
	return line
}
