// Package rules says which Rollouts are valid, for the webhook and for command-line checks alike.
// It is pure: the object, the one it replaces and the other Rollouts of the namespace come in, a
// list of field errors goes out.
//
// Field paths and the first words of every text are those users of the peer have seen for years and
// match in scripts; what follows a colon is ours and says what to do. A change that leaves the spec
// alone is never refused: whoever removes a finalizer can't be asked to repair a spec.
package rules
