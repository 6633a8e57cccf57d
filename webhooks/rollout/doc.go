// Package rollout serves the admission of Rollouts: package core/rules decides, this package reads
// what the rules need and answers.
//
// One path serves both versions, because the manifests of existing installations register it so; the
// version of the request chooses the typed validator. A second path changes nothing and only warns:
// the API server has dropped changes of status by the time it asks a validating webhook, so only a
// mutating one can tell a user that an approval written to the wrong place has no effect.
package rollout
