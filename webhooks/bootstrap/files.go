package bootstrap

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// The names under which a certificate is stored, in Secrets and directories alike. Serving
// certificate and key have two names each: the peer's and Kubernetes' own.
const (
	caKeyFile     = "ca-key.pem"
	caCertFile    = "ca-cert.pem"
	keyFile       = "key.pem"
	certFile      = "cert.pem"
	serverKeyFile = "tls.key"
	serverCrtFile = "tls.crt"
)

// current is the link to the folder that holds the files in force, as in mounted Secrets.
const current = "..data"

// files returns m under all its names.
func (m Material) files() map[string][]byte {
	return map[string][]byte{
		caKeyFile: m.CAKey, caCertFile: m.CACert,
		keyFile: m.Key, certFile: m.Cert,
		serverKeyFile: m.Key, serverCrtFile: m.Cert,
	}
}

// fromFiles is the inverse of files; it also reads what has only the older names.
func fromFiles(f map[string][]byte) Material {
	m := Material{CAKey: f[caKeyFile], CACert: f[caCertFile], Key: f[serverKeyFile], Cert: f[serverCrtFile]}
	if len(m.Key) == 0 || len(m.Cert) == 0 {
		m.Key, m.Cert = f[keyFile], f[certFile]
	}
	return m
}

// readDir returns what dir holds of the six files; missing ones are left out.
func readDir(dir string) (map[string][]byte, error) {
	found := map[string][]byte{}
	for name := range (Material{}).files() {
		content, err := os.ReadFile(filepath.Join(dir, name)) //nolint:gosec // the names are ours
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("reading the webhook certificate: %w", err)
		}
		found[name] = content
	}
	return found, nil
}

// writeDir makes dir hold the files, all of them at one instant: a server that reloads while only
// one of key and certificate is new would fail. It writes nothing when they are there already.
func writeDir(dir string, files map[string][]byte) error {
	if same(dir, files) {
		return nil
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	fresh, err := os.MkdirTemp(dir, "..")
	if err != nil {
		return err
	}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(fresh, name), content, 0o600); err != nil {
			return errors.Join(err, os.RemoveAll(fresh))
		}
	}
	return publish(dir, fresh, files)
}

func same(dir string, files map[string][]byte) bool {
	found, err := readDir(dir)
	if err != nil || len(found) != len(files) {
		return false
	}
	for name, content := range files {
		if !bytes.Equal(found[name], content) {
			return false
		}
	}
	return true
}

// publish turns the link to fresh, lets each file name lead through it, and removes what was in
// force before.
func publish(dir, fresh string, files map[string][]byte) error {
	link := filepath.Join(dir, current)
	before, err := os.Readlink(link)
	if err != nil {
		before = ""
	}
	if err := replaceLink(filepath.Base(fresh), link); err != nil {
		return err
	}
	for name := range files {
		if err := replaceLink(filepath.Join(current, name), filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	if strings.HasPrefix(before, "..") && filepath.Base(before) == before && before != ".." {
		return os.RemoveAll(filepath.Join(dir, before))
	}
	return nil
}

// replaceLink makes path a link to target, whatever it was before, in one step.
func replaceLink(target, path string) error {
	if found, err := os.Readlink(path); err == nil && found == target {
		return nil
	}
	next := path + ".next"
	if err := os.Remove(next); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.Symlink(target, next); err != nil {
		return err
	}
	return os.Rename(next, path)
}
