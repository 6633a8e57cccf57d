// Command plane builds the programs of the local control plane, and starts and stops a control plane
// that stays up after the command ends. The Makefile runs it; tests use package controlplane itself.
//
// `plane up` starts a supervisor, which is this program again: the supervisor owns the programs, and
// when it dies, however it does, they die with it. It holds the lock in the plane's folder, which is how
// `plane down` and a second `plane up` know that it lives.
package main
