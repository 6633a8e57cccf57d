// Package deployment releases native Deployments. In the partition style the native Deployment
// controller does the rolling; this package only opens and shuts the gate it rolls through.
//
// A pod that has been ready for less than minReadySeconds is not available, and a rolling update
// never takes more pods than maxUnavailable allows. With an endless minReadySeconds, maxSurge and
// maxUnavailable are therefore a gate for a known number of pods (package window). A Deployment is
// in one of four states:
//
//	held   paused, the user's minReadySeconds: at rest before, between and after batches
//	armed  paused, endless minReadySeconds: in a batch, between two windows
//	open   not paused, endless minReadySeconds: the native controller moves pods
//	loose  not paused, the user's minReadySeconds: not ours, or resumed by somebody
//
// A batch goes held, armed, open, armed, open, …, held. The Deployment is open only for the moment
// in which the native controller acts, so an operator that dies leaves a paused Deployment that
// changes no pod by itself or, in that moment, a window for a known number of pods.
//
// The package is pure and knows neither the state machines nor any client.
package deployment
