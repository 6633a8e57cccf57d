// Package contract holds tests of what users of the API rely on, seen from outside: they read what is
// shipped and talk to real programs, and know nothing of how the operator is built.
package contract
