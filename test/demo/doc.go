// Command demo takes two releases of a Deployment through a real control plane, and tells what happens
// while it happens. `make demo` runs it.
//
// It does what a user does, with the user's tools: every change goes through kubectl, whose command it
// prints and then runs to the letter, on the manifests of config/samples. The story is a table (story.go),
// one row for each thing that the user does: the words, the commands, what to wait for, and the promises
// that must have been kept by then. The first promise that was not kept ends the demo with an error, so the
// demo is also a test.
//
// It waits by watching (package record), never by sleeping.
package main
