package programs

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/utils/clock"
)

// finder returns a Finder whose module "hello" has one program, and what it says.
func finder(t *testing.T, env map[string]string) (*Finder, *bytes.Buffer) {
	t.Helper()
	out := &bytes.Buffer{}
	f := &Finder{
		Modules: t.TempDir(),
		Cache:   t.TempDir(),
		Out:     out,
		Getenv:  func(name string) string { return env[name] },
		Clock:   clock.RealClock{},
	}
	for name, content := range map[string]string{
		"go.mod":         "module hello\n\ngo 1.26.0\n",
		"go.sum":         "",
		"good/main.go":   "package main\n\nfunc main() {}\n",
		"broken/main.go": "package main\n\nfunc main() { undefined() }\n",
	} {
		write(t, filepath.Join(f.Modules, "hello", name), content, 0o600)
	}
	return f, out
}

func write(t *testing.T, path, content string, mode os.FileMode) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), mode); err != nil {
		t.Fatal(err)
	}
}

func TestAMissingProgramIsBuiltOnce(t *testing.T) {
	f, out := finder(t, nil)
	good := Program{Name: "good", Module: "hello", Package: "hello/good"}
	for range 2 {
		path, err := f.built(t.Context(), good)
		if err != nil {
			t.Fatal(err)
		}
		if err := executable(path); err != nil {
			t.Error(err)
		}
	}
	if built := strings.Count(out.String(), "built good in"); built != 1 {
		t.Errorf("built %d times, want once:\n%s", built, out)
	}
}

func TestTwoWhoBuildAtOnceBuildOnce(t *testing.T) {
	f, out := finder(t, nil)
	other, more := *f, &bytes.Buffer{}
	other.Out = more
	good := Program{Name: "good", Module: "hello", Package: "hello/good"}
	done := make(chan error)
	go func() {
		_, err := other.built(t.Context(), good)
		done <- err
	}()
	if _, err := f.built(t.Context(), good); err != nil {
		t.Error(err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
	if built := strings.Count(out.String()+more.String(), "built good in"); built != 1 {
		t.Errorf("built %d times, want once:\n%s%s", built, out, more)
	}
}

func TestAFailedBuildIsToldInOneLine(t *testing.T) {
	f, _ := finder(t, nil)
	_, err := f.built(t.Context(), Program{Name: "broken", Module: "hello", Package: "hello/broken"})
	if err == nil {
		t.Fatal("a program that does not compile was built")
	}
	text := err.Error()
	_, log, _ := strings.Cut(text, "log: ")
	if strings.Contains(text, "\n") || !strings.Contains(text, "undefined: undefined") {
		t.Errorf("the error does not tell the reason in one line: %s", text)
	}
	if _, err := os.Stat(log); err != nil {
		t.Errorf("the log that the error names is not there: %v", err)
	}
}

func TestWithoutACompilerTheErrorSaysWhatToDo(t *testing.T) {
	f, _ := finder(t, nil)
	t.Setenv("PATH", t.TempDir())
	_, err := f.built(t.Context(), Program{Name: "kube-apiserver", Module: "hello", Package: "hello/good"})
	if err == nil || !strings.Contains(err.Error(), "KRUISE_ROLLOUT_KUBE_APISERVER=") {
		t.Errorf("error %v does not say how to name a program", err)
	}
}

func TestTheFolderChangesWithThePins(t *testing.T) {
	f, _ := finder(t, nil)
	before, err := f.folder("hello")
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(f.Modules, "hello", "go.mod"), "module hello\n\ngo 1.26.1\n", 0o600)
	after, err := f.folder("hello")
	if err != nil {
		t.Fatal(err)
	}
	if before == after {
		t.Errorf("programs of other pins would be taken from %s", after)
	}
}

func TestProgramsAtHandAreUsed(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"own/etcd", "assets/etcd", "assets/kwok", "assets/kubectl"} {
		write(t, filepath.Join(dir, name), "", 0o700)
	}
	env := map[string]string{
		"KRUISE_ROLLOUT_ETCD": filepath.Join(dir, "own/etcd"),
		"KUBEBUILDER_ASSETS":  filepath.Join(dir, "assets"),
	}
	f, _ := finder(t, env)
	paths, err := f.Find(t.Context(), "etcd", "kwok")
	if err != nil {
		t.Fatal(err)
	}
	if want := filepath.Join(dir, "own/etcd"); paths["etcd"] != want {
		t.Errorf("etcd is %s, want %s", paths["etcd"], want)
	}
	if want := filepath.Join(dir, "assets/kwok"); paths["kwok"] != want {
		t.Errorf("kwok is %s, want %s", paths["kwok"], want)
	}
	env["KRUISE_ROLLOUT_ETCD"] = filepath.Join(dir, "none")
	if _, err := f.Find(t.Context(), "etcd"); err == nil {
		t.Error("a program that is not there was accepted")
	}
}

func TestAssetsAreShownInOneFolder(t *testing.T) {
	dir := t.TempDir()
	env := map[string]string{}
	for _, name := range []string{"etcd", "kube-apiserver", "kubectl"} {
		env[Variable(name)] = filepath.Join(dir, "of-"+name, name)
		write(t, env[Variable(name)], name, 0o700)
	}
	f, _ := finder(t, env)
	for range 2 {
		assets, err := f.Assets(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"etcd", "kube-apiserver", "kubectl"} {
			if err := executable(filepath.Join(assets, name)); err != nil {
				t.Error(err)
			}
		}
	}
}

func TestTheTableFitsTheModules(t *testing.T) {
	f, err := New(&bytes.Buffer{})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range All() {
		pins, err := os.ReadFile(filepath.Join(f.Modules, p.Module, "tools.go"))
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(pins), `"`+p.Package+`"`) {
			t.Errorf("module %s does not pin %s", p.Module, p.Package)
		}
	}
}
