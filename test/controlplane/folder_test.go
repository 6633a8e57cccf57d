package controlplane

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestAFolderIsUsedByOnePlaneAtATime(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "plane")
	f, err := openFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := openFolder(dir); err == nil {
		t.Error("a second plane was let in")
	}
	if running, err := Running(dir); err != nil || !running {
		t.Errorf("running is %v, %v while the folder is in use", running, err)
	}
	if err := f.close(); err != nil {
		t.Fatal(err)
	}
	if running, err := Running(dir); err != nil || running {
		t.Errorf("running is %v, %v after the folder was closed", running, err)
	}
}

func TestOnlyWhatAPlaneWroteIsRemoved(t *testing.T) {
	dir := t.TempDir()
	foreign := filepath.Join(dir, "notes.txt")
	if err := os.WriteFile(foreign, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := openFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.close(); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != 1 || entries[0].Name() != "notes.txt" {
		t.Errorf("the folder holds %v, want the caller's file only", entries)
	}
}

func TestLogsCanBeLeft(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	f, err := openFolder("")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(f.log("etcd"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(f.join("program"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := f.leave(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(f.log("etcd")); err != nil {
		t.Error(err)
	}
	for _, name := range []string{"program", dataDir, kubeconfigFile} {
		if _, err := os.Stat(f.join(name)); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s is left: %v", name, err)
		}
	}
}

func TestFreePortsDiffer(t *testing.T) {
	const n = 50
	ports, err := FreePorts(t.Context(), n)
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(ports)
	if different := slices.Compact(ports); len(different) != n {
		t.Errorf("of %d ports %d differ", n, len(different))
	}
}
