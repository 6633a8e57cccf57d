package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"strings"
	"testing"
)

// The whole demo. It checks its own promises; what is left to test is that it tells of them.
func TestDemo(t *testing.T) {
	out := &bytes.Buffer{}
	if err := perform(t.Context(), &printer{Writer: out}, ""); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	said := out.String()
	for _, line := range []string{
		"$ kubectl apply -f config/samples/rollout_v1beta1.yaml\n",
		"$ kubectl apply -f config/samples/rollout_v1alpha1.yaml\n",
		"$ " + approve + "\n",
		"held  old 10/10 v1  new 0/0 v2",
		"Progressing 1/3 StepPaused         held  old 8/8 v1  new 2/2 v2",
		"Progressing 2/3 StepPaused         held  old 5/5 v1  new 5/5 v2",
		"Progressing 2/3 StepPaused         held  old 5/5 v2  new 5/5 v3",
		"Healthy                                  new 10/10 v2",
		"ok  the Deployment was held in the request that changed it, with 0 new pods\n",
		"ok  the pods that still ran v2 were not replaced\n",
		"ok  nothing of ours is left on the Deployment and its ReplicaSets\n",
		"everything was as promised",
	} {
		if !strings.Contains(said, line) {
			t.Errorf("the demo does not say %q", line)
		}
	}
	if strings.Contains(said, "\x1b") {
		t.Error("there are colors where no terminal is")
	}
	if t.Failed() {
		t.Log(said)
	}
}

func TestAnEndedContextEndsTheDemo(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := perform(ctx, &printer{Writer: &bytes.Buffer{}}, os.Args[0]); !errors.Is(err, context.Canceled) {
		t.Errorf("it ended with: %v", err)
	}
}
