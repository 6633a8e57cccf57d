// Package process runs one program in the background: it starts it, waits until it answers, and takes
// it down again.
//
// A program that runs is a Spec, whatever it is: etcd and the operator are rows of the same kind. Two
// things shaped the package. A port that answers proves nothing about the process that was just started
// (a neighbour may hold the port), so an answer only counts while the process is alive. And nothing may
// be left behind, however the parent ends, so the kernel is asked to kill the program when the parent
// dies, where it can (Linux).
package process
