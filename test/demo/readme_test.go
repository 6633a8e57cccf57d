package main

import (
	"bytes"
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/kruise-rollout/kruise-rollout/config"
	"github.com/kruise-rollout/kruise-rollout/test/controlplane"
	"github.com/kruise-rollout/kruise-rollout/test/operator"
)

const root = "../../"

// Every sample is admitted, and every block of the README that is marked as shell runs, in their order.
func TestWhatUsersCopyWorks(t *testing.T) {
	out := &bytes.Buffer{}
	p := &printer{Writer: out}
	kubectl, err := findKubectl(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	plane := controlplane.ForTest(t, controlplane.Options{})
	installed, err := operator.Install(t.Context(), plane, "")
	if err != nil {
		t.Fatal(err)
	}
	if err := installed.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	samples, err := fs.Glob(config.Files, "samples/*.yaml")
	if err != nil || len(samples) == 0 {
		t.Fatalf("there are no samples: %v", err)
	}
	var commands []string
	for _, sample := range samples {
		commands = append(commands, "kubectl apply --dry-run=server -f config/"+sample)
	}
	for _, command := range append(commands, readmeCommands(t)...) {
		if err := (shell{kubectl, plane, p}).run(t.Context(), command); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
}

func TestReadmeNamesTargetsThatExist(t *testing.T) {
	makefile := read(t, "Makefile")
	names := regexp.MustCompile("(?m)(?:^|`)make ([a-z0-9-]+)").FindAllStringSubmatch(read(t, "README.md"), -1)
	if len(names) == 0 {
		t.Error("the README names no target")
	}
	for _, name := range names {
		if !strings.Contains(makefile, "\n"+name[1]+":") {
			t.Errorf("the README names `make %s`, which is not in the Makefile", name[1])
		}
	}
}

// What `make up` suggests is in the README, which is tested. Versions differ.
func TestSuggestionsAreInTheReadme(t *testing.T) {
	version := regexp.MustCompile(`:v\d+`)
	var known []string
	for _, command := range readmeCommands(t) {
		known = append(known, version.ReplaceAllString(command, ""))
	}
	suggested := regexp.MustCompile(`(?m)^  (kubectl .*?)(?: +# .*)?$`).FindAllStringSubmatch(read(t, "test/controlplane/cmd/plane/welcome.go"), -1)
	if len(suggested) == 0 {
		t.Error("nothing is suggested")
	}
	for _, command := range suggested {
		if !slices.Contains(known, version.ReplaceAllString(command[1], "")) {
			t.Errorf("%q is suggested and not in the README", command[1])
		}
	}
}

// readmeCommands are the lines of the blocks that are marked as shell.
func readmeCommands(t *testing.T) []string {
	t.Helper()
	var commands []string
	for _, block := range regexp.MustCompile("(?s)```shell\n(.*?)```").FindAllStringSubmatch(read(t, "README.md"), -1) {
		commands = append(commands, strings.Split(strings.TrimSpace(block[1]), "\n")...)
	}
	if len(commands) == 0 {
		t.Fatal("the README has no commands")
	}
	return commands
}

func read(t *testing.T, name string) string {
	t.Helper()
	content, err := os.ReadFile(root + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}
