package stages

import (
	_ "embed" // for the two files
	"strings"
)

// ReadyAfter and CrashAfter are the pod annotations that say when the pod of a slow image becomes ready,
// and when the pod of a crashing image ceases to be. This package reads them; tests write them.
const (
	ReadyAfter = "kruise-rollout.test/ready-after"
	CrashAfter = "kruise-rollout.test/crash-after"
)

//go:embed stages.yaml
var stages string

//go:embed pod.jq
var definitions string

// Config returns the configuration file of kwok. The conditions of stages are jq programs that kwok
// compiles one by one, so the words that they share are put in front of each.
func Config() []byte {
	words := strings.Join(strings.Fields(definitions), " ")
	return []byte(strings.ReplaceAll(stages, "WORDS", words))
}
