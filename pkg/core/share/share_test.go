package share

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"k8s.io/apimachinery/pkg/util/intstr"
)

func TestSharesOfPods(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		share             string
		replicas          int32
		pods, keepingOne  int32
		toleratedFailures int32
	}{
		"percentages round up":                    {"20%", 3, 1, 1, 1},
		"exact percentage":                        {"40%", 5, 2, 2, 2},
		"90% of 5 would be all":                   {"90%", 5, 5, 4, 5},
		"100% is all":                             {"100%", 5, 5, 5, 5},
		"99% of one pod is that pod":              {"99%", 1, 1, 1, 1},
		"integers are taken as they are":          {"3", 5, 3, 3, 3},
		"integers are cut to what there is":       {"100", 5, 5, 5, 5},
		"negative counts as nothing":              {"-3", 5, 0, 0, 0},
		"no replicas, no pods":                    {"100%", 0, 0, 0, 0},
		"what does not parse counts as nothing":   {"many", 5, 0, 0, 0},
		"0% is nothing":                           {"0%", 5, 0, 0, 0},
		"more than all is all":                    {"300%", 5, 5, 4, 5},
		"large numbers do not overflow":           {"100%", 1 << 30, 1 << 30, 1 << 30, 1 << 30},
		"an int of all pods does not keep one":    {"5", 5, 5, 5, 5},
		"percentage below a pod still gives one":  {"1%", 5, 1, 1, 1},
		"percentage with white space is nonsense": {"20 %", 5, 0, 0, 0},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := intstr.Parse(c.share)
			assert.Equal(t, c.pods, Pods(s, c.replicas), "pods")
			assert.Equal(t, c.keepingOne, KeepingOne(s, c.replicas), "keeping one")
			assert.Equal(t, c.toleratedFailures, Tolerated(&s, c.replicas), "tolerated")
		})
	}
	assert.Zero(t, Tolerated(nil, 5), "no threshold tolerates no failure")
}
