// Command manager is the kruise-rollout operator.
package main

import (
	"os"

	"github.com/kruise-rollout/kruise-rollout/pkg/manager"
)

func main() { os.Exit(manager.Main()) }
