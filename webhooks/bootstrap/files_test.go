package bootstrap

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var (
	first  = Material{CAKey: []byte("1"), CACert: []byte("2"), Key: []byte("3"), Cert: []byte("4")}
	second = Material{CAKey: []byte("5"), CACert: []byte("6"), Key: []byte("7"), Cert: []byte("8")}
)

func TestDirectoryHoldsTheLastFilesWritten(t *testing.T) {
	t.Parallel()
	cases := map[string]func(t *testing.T, dir string){
		"new":                   func(*testing.T, string) {},
		"written before":        func(t *testing.T, dir string) { t.Helper(); require.NoError(t, writeDir(dir, first.files())) },
		"plain files":           func(t *testing.T, dir string) { t.Helper(); plain(t, dir, "tls.crt", "cert.pem") },
		"an unfinished attempt": func(t *testing.T, dir string) { t.Helper(); plain(t, dir, "tls.crt.next", "..data.next") },
		"a file was removed": func(t *testing.T, dir string) {
			t.Helper()
			require.NoError(t, writeDir(dir, second.files()))
			require.NoError(t, os.Remove(filepath.Join(dir, "tls.key")))
		},
	}
	for name, prepare := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "certs")
			prepare(t, dir)
			require.NoError(t, writeDir(dir, second.files()))
			found, err := readDir(dir)
			require.NoError(t, err)
			assert.Equal(t, second.files(), found)
			assert.Equal(t, second, fromFiles(found))
			left, err := filepath.Glob(filepath.Join(dir, "..[0-9]*"))
			require.NoError(t, err)
			assert.Len(t, left, 1, "old keys stay on disk")
		})
	}
}

func TestUnchangedFilesAreNotWritten(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, writeDir(dir, first.files()))
	before, err := os.Readlink(filepath.Join(dir, current))
	require.NoError(t, err)
	require.NoError(t, writeDir(dir, first.files()))
	after, err := os.Readlink(filepath.Join(dir, current))
	require.NoError(t, err)
	assert.Equal(t, before, after)
}

func TestPeersSecretIsUnderstood(t *testing.T) {
	t.Parallel()
	f := first.files()
	delete(f, "tls.crt")
	delete(f, "tls.key")
	assert.Equal(t, first, fromFiles(f))
}

func plain(t *testing.T, dir string, names ...string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(dir, 0o700))
	for _, n := range names {
		require.NoError(t, os.WriteFile(filepath.Join(dir, n), []byte("old"), 0o600))
	}
}
