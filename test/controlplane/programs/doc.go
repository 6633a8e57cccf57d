// Package programs finds the programs of the local control plane, and builds those that are missing.
//
// Nothing is downloaded but Go modules: each folder of test/programs is a Go module of its own that
// pins one set of programs, because their requirements contradict each other and must not reach the
// operator's go.mod. Results are kept in the user's cache folder, outside the checkout, under a hash
// of the module files, so that a fresh clone on the same machine starts at once.
//
// The package knows no control plane: it turns names into paths. It works on Linux and macOS.
package programs
