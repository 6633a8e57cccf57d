package programs

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"k8s.io/utils/clock"
)

// Program is one program that can be found or built.
type Program struct {
	// Name is the name of the program and of its file.
	Name string
	// Module is the folder of test/programs that pins it.
	Module string
	// Package is built.
	Package string
	// Cold is roughly how long its build takes on two cores when the Go build cache is empty.
	Cold time.Duration
}

// All lists every program. Another one is another row, and a module beside the others if it needs one.
func All() []Program {
	return []Program{
		{"etcd", "kubernetes", "go.etcd.io/etcd/server/v3", 90 * time.Second},
		{"kube-apiserver", "kubernetes", "k8s.io/kubernetes/cmd/kube-apiserver", 7 * time.Minute},
		{"kube-controller-manager", "kubernetes", "k8s.io/kubernetes/cmd/kube-controller-manager", 2 * time.Minute},
		{"kube-scheduler", "kubernetes", "k8s.io/kubernetes/cmd/kube-scheduler", 30 * time.Second},
		{"kubectl", "kubernetes", "k8s.io/kubernetes/cmd/kubectl", time.Minute},
		{"kwok", "kwok", "sigs.k8s.io/kwok/cmd/kwok", 2 * time.Minute},
	}
}

// assetsVariable is the variable that envtest reads, too.
const assetsVariable = "KUBEBUILDER_ASSETS"

// Finder turns names of programs into paths. A program is looked for in its own environment variable
// (KRUISE_ROLLOUT_KUBE_APISERVER), in the folder KUBEBUILDER_ASSETS, in the cache, and is built last.
type Finder struct {
	// Modules is the folder with one Go module per set of programs.
	Modules string
	// Cache keeps what was built.
	Cache string
	// Out gets the progress of builds; a person reads it.
	Out io.Writer
	// Getenv reads the environment.
	Getenv func(string) string
	// Clock measures builds.
	Clock clock.WithTicker
}

// New returns a Finder for the checkout that the working directory is in.
func New(out io.Writer) (*Finder, error) {
	modules, err := modules()
	if err != nil {
		return nil, err
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return nil, fmt.Errorf("finding the cache folder for the control plane's programs (set HOME or XDG_CACHE_HOME): %w", err)
	}
	return &Finder{
		Modules: modules,
		Cache:   filepath.Join(cache, "kruise-rollout", "programs"),
		Out:     out,
		Getenv:  os.Getenv,
		Clock:   clock.RealClock{},
	}, nil
}

// Find returns the path of every named program, after building those that are missing.
func (f *Finder) Find(ctx context.Context, names ...string) (map[string]string, error) {
	paths := make(map[string]string, len(names))
	for _, name := range names {
		program, err := lookUp(name)
		if err != nil {
			return nil, err
		}
		path, err := f.atHand(program)
		if err != nil {
			return nil, err
		}
		if path == "" {
			path, err = f.built(ctx, program)
		}
		if err != nil {
			return nil, err
		}
		paths[name] = path
	}
	return paths, nil
}

// Assets returns a folder with etcd, kube-apiserver and kubectl, as envtest wants it.
func (f *Finder) Assets(ctx context.Context) (string, error) {
	paths, err := f.Find(ctx, "etcd", "kube-apiserver", "kubectl")
	if err != nil {
		return "", err
	}
	dir := filepath.Dir(paths["etcd"])
	together := true
	for name, path := range paths {
		together = together && path == filepath.Join(dir, name)
	}
	if together {
		return dir, nil
	}
	return f.linked("assets-"+hash([]byte(fmt.Sprint(paths))), paths)
}

// linked returns a folder in the cache that shows the programs side by side.
func (f *Finder) linked(name string, paths map[string]string) (string, error) {
	dir := filepath.Join(f.Cache, name)
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return "", fmt.Errorf("making a folder of programs: %w", err)
	}
	for name, path := range paths {
		target, err := filepath.Abs(path)
		if err != nil {
			return "", fmt.Errorf("finding %s: %w", name, err)
		}
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil && !errors.Is(err, os.ErrExist) {
			return "", fmt.Errorf("making a folder of programs: %w", err)
		}
	}
	return dir, nil
}

// Variable is the environment variable that names a program to use instead of building it.
func Variable(name string) string {
	return "KRUISE_ROLLOUT_" + strings.ToUpper(strings.ReplaceAll(name, "-", "_"))
}

// atHand returns the program that the environment offers, or "".
func (f *Finder) atHand(p Program) (string, error) {
	if path := f.Getenv(Variable(p.Name)); path != "" {
		if err := executable(path); err != nil {
			return "", fmt.Errorf("using the %s that %s names: %w", p.Name, Variable(p.Name), err)
		}
		return path, nil
	}
	if dir := f.Getenv(assetsVariable); dir != "" {
		// The folder need not have them all: envtest's own has no kube-controller-manager.
		if path := filepath.Join(dir, p.Name); executable(path) == nil {
			return path, nil
		}
	}
	return "", nil
}

func executable(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if info.IsDir() || info.Mode()&0o111 == 0 {
		return fmt.Errorf("%s is no program", path)
	}
	return nil
}

func lookUp(name string) (Program, error) {
	for _, p := range All() {
		if p.Name == name {
			return p, nil
		}
	}
	return Program{}, fmt.Errorf("finding program %q: it is not in the table of test/controlplane/programs", name)
}

// folder is where the programs of a module are kept. Its name changes with everything that changes
// them, so a checkout of another version does not use the wrong ones.
func (f *Finder) folder(module string) (string, error) {
	pins := []byte(fmt.Sprintln(runtime.Version(), runtime.GOOS, runtime.GOARCH, flags()))
	for _, name := range []string{"go.mod", "go.sum"} {
		content, err := os.ReadFile(filepath.Join(f.Modules, module, name)) //nolint:gosec // the path is made of our own names
		if err != nil {
			return "", fmt.Errorf("reading the pins of module %s: %w", module, err)
		}
		pins = append(pins, content...)
	}
	return filepath.Join(f.Cache, module+"-"+hash(pins)), nil
}

// hash is short because people read it in paths; it only has to tell a few versions apart.
func hash(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])[:12]
}

// modules finds test/programs upward of the working directory, because `go test` runs in the folder
// of the package, and beside this file, in case the working directory is elsewhere.
func modules() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("finding test/programs: %w", err)
	}
	for _, start := range []string{dir, here()} {
		for at := start; at != filepath.Dir(at); at = filepath.Dir(at) {
			candidate := filepath.Join(at, "test", "programs")
			if _, err := os.Stat(filepath.Join(candidate, "kubernetes", "go.mod")); err == nil {
				return candidate, nil
			}
		}
	}
	return "", fmt.Errorf("finding test/programs: neither %s nor a folder above it has it; run this inside a checkout of kruise-rollout", dir)
}

// here is the folder of this file; with -trimpath it is no real folder, which is no harm.
func here() string {
	_, file, _, ok := runtime.Caller(0)
	if !ok {
		return string(filepath.Separator)
	}
	return filepath.Dir(file)
}
