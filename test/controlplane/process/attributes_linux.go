package process

import "syscall"

// attributes put the program into a process group of its own, so that a Ctrl-C reaches only the
// parent, which takes everything down in order; and let the kernel kill it when the parent dies.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
