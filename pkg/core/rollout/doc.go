// Package rollout decides what a Rollout does next: phases, steps, approval, jumps, changes of the
// plan, rollback and the ways in which a release ends.
//
// Everything is a table that can be read: phases.go (the life of a Rollout), rolling.go (what may
// interrupt a release), steps.go (the step machine), finalise.go (how a release is ended). A state
// is left only once its goal needs no more writes and nothing objects, so a stored status is never
// half of a move. States that have nothing to do are passed in one write.
//
// The package is pure: no clock, no client, no logger. It speaks to the workload only through a
// BatchRelease, an API object that works without a Rollout too.
package rollout
