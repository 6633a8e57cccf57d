// Package batch decides what a BatchRelease does next.
//
// A pass goes: Want tells what the workload's driver should bring about, the driver answers with
// the writes that are still needed, and Decide turns both into a plan. A state is left only once
// its order needs no more writes, so there is no half move. The package is pure: it knows no
// workload kind, and no Rollout: a BatchRelease works without one.
package batch
