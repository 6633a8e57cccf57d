// Package filelock locks a file against other processes. The kernel drops a lock when its holder dies,
// so a lock that is held is the proof that its holder lives, which no file with a process id is. It
// works on Linux and macOS.
package filelock
