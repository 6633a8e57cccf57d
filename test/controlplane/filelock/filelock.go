package filelock

import (
	"errors"
	"os"
	"syscall"
)

// ErrHeld says that another holds the lock.
var ErrHeld = errors.New("another process holds the lock")

// Try locks the file, which is made if need be, and returns at once. Closing the file drops the lock.
func Try(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600) //nolint:gosec // the caller's own file
	if err != nil {
		return nil, err
	}
	err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if err == nil {
		return file, nil
	}
	if errors.Is(err, syscall.EWOULDBLOCK) {
		err = ErrHeld
	}
	return nil, errors.Join(err, file.Close())
}
