// Package controlplane starts and stops a real Kubernetes control plane on this machine: etcd, the API
// server, the native workload controllers, the scheduler and kwok, which stands in for the kubelets.
// The demo, the end-to-end tests and the benchmarks run on it.
//
// Everything the operator does is a conversation with an API server and with the native controllers;
// a fake client cannot show a race with the Deployment controller. So a plane is made of the programs
// that a cluster runs, as plain processes on loopback: no container, no kernel feature, no root. It is
// up in seconds, and as many planes as fit run side by side, each with ports, certificates and tokens of
// its own. A plane trusts only its own authority, so it cannot take a neighbor's program for its own.
//
// Pods do not run. Package stages says how they behave: their image chooses, as a bad release would.
//
// The package imports nothing of the operator, which is one more program for [Plane.Run].
package controlplane
