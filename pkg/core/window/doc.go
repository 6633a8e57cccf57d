// Package window computes how far the native Deployment controller may be let loose, so that a
// batch of a release gets exactly its pods and no user ever sees too few.
//
// The trick it rests on: while minReadySeconds is endless no new pod ever counts as available, so
// maxUnavailable and maxSurge together are a gate for a known number of pods. The package is pure
// arithmetic; package workload/deployment decides when the gate is opened.
package window
