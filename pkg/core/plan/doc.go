// Package plan is the vocabulary in which pure code says what should be written.
//
// Decisions return values of this package; only pkg/effect turns them into requests. That split
// is what lets a whole release be tested without a cluster. The package may import nothing that
// acts: no client, no clock, no logger.
package plan
