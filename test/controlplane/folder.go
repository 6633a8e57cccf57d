package controlplane

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"k8s.io/utils/clock"

	"github.com/kruise-rollout/kruise-rollout/test/controlplane/filelock"
)

const (
	// prefix begins the names of folders that no caller chose.
	prefix = "kruise-rollout-plane-"
	// stale is the age from which on such a folder is removed if no plane holds it: long enough to
	// read the logs of a plane that failed.
	stale = time.Hour
)

// folder holds what a plane writes: logs, which are worth reading later, and data, which is not. The
// lock in it is held as long as the plane runs.
type folder struct {
	path string
	own  bool // nobody else has anything in it
	lock *os.File
}

// openFolder makes and locks the chosen folder, or one of its own if none is chosen.
func openFolder(chosen string) (*folder, error) {
	path, err := place(chosen)
	if err != nil {
		return nil, fmt.Errorf("making the control plane's folder: %w", err)
	}
	lock, err := filelock.Try(filepath.Join(path, lockFile))
	if errors.Is(err, filelock.ErrHeld) {
		return nil, fmt.Errorf("using folder %s: a control plane runs in it", path)
	}
	if err != nil {
		return nil, fmt.Errorf("locking the control plane's folder: %w", err)
	}
	f := &folder{path: path, own: chosen == "", lock: lock}
	if err := f.empty(); err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	return f, nil
}

func place(path string) (string, error) {
	if path == "" {
		sweep()
		return os.MkdirTemp("", prefix)
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	return path, os.MkdirAll(path, 0o750)
}

// sweep removes the folders of planes whose process died before it could.
func sweep() {
	paths, _ := filepath.Glob(filepath.Join(os.TempDir(), prefix+"*")) // the pattern is right
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil || (clock.RealClock{}).Since(info.ModTime()) < stale {
			continue
		}
		lock, err := filelock.Try(filepath.Join(path, lockFile))
		if err != nil {
			continue // it runs, or it is not ours to remove
		}
		_ = os.RemoveAll(path) // the next one tries again
		_ = lock.Close()
	}
}

// The names of what a plane writes. In a folder that the caller chose nothing else is ever removed.
const (
	lockFile           = "lock"
	kubeconfigFile     = "kubeconfig"
	operatorKubeconfig = "operator.kubeconfig"
	logsDir            = "logs"
	dataDir            = "data"
)

// Running tells whether a plane runs in the folder.
func Running(dir string) (bool, error) {
	path := filepath.Join(dir, lockFile)
	if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	lock, err := filelock.Try(path)
	if errors.Is(err, filelock.ErrHeld) {
		return true, nil
	}
	if err != nil {
		return false, fmt.Errorf("looking whether a control plane runs in %s: %w", dir, err)
	}
	return false, lock.Close()
}

// empty gets rid of what an earlier plane left, and makes room for a new one.
func (f *folder) empty() error {
	if err := f.remove(kubeconfigFile, operatorKubeconfig, logsDir, dataDir); err != nil {
		return err
	}
	for _, dir := range []string{logsDir, dataDir} {
		if err := os.MkdirAll(f.join(dir), 0o700); err != nil {
			return fmt.Errorf("making the control plane's folder: %w", err)
		}
	}
	return nil
}

// close lets go of the folder and removes it, or what is ours in it if the caller chose it.
func (f *folder) close() error {
	if f.own {
		return errors.Join(os.RemoveAll(f.path), f.lock.Close())
	}
	err := f.remove(kubeconfigFile, operatorKubeconfig, logsDir, dataDir, lockFile)
	_ = os.Remove(f.path) // fails if something of the caller's is in it, as it should
	return errors.Join(err, f.lock.Close())
}

// leave lets go of the folder and removes all but the logs.
func (f *folder) leave() error {
	names := []string{kubeconfigFile, operatorKubeconfig, dataDir, lockFile}
	if f.own {
		entries, err := os.ReadDir(f.path)
		if err != nil {
			return errors.Join(fmt.Errorf("emptying the control plane's folder: %w", err), f.lock.Close())
		}
		for _, entry := range entries {
			if entry.Name() != logsDir {
				names = append(names, entry.Name())
			}
		}
	}
	return errors.Join(f.remove(names...), f.lock.Close())
}

func (f *folder) remove(names ...string) error {
	for _, name := range names {
		if err := os.RemoveAll(f.join(name)); err != nil {
			return fmt.Errorf("emptying the control plane's folder: %w", err)
		}
	}
	return nil
}

func (f *folder) join(names ...string) string {
	return filepath.Join(append([]string{f.path}, names...)...)
}

func (f *folder) data(name string) string { return f.join(dataDir, name) }

func (f *folder) log(name string) string { return f.join(logsDir, name+".log") }

func (f *folder) write(name string, content []byte) error {
	if err := os.WriteFile(f.data(name), content, 0o600); err != nil {
		return fmt.Errorf("writing the control plane's files: %w", err)
	}
	return nil
}
