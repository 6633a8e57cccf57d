package controlplane

import "testing"

// ForTest starts a plane that lives as long as the test. The logs stay when the test fails, and the test
// fails when a program of the plane ends by itself.
func ForTest(tb testing.TB, o Options) *Plane {
	tb.Helper()
	p, err := Start(tb.Context(), o)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := p.Err(); err != nil {
			tb.Error(err)
		}
		if tb.Failed() {
			p.Keep()
			tb.Logf("the logs of the control plane are in %s", p.folder.join(logsDir))
		}
		if err := p.Stop(); err != nil {
			tb.Error(err)
		}
	})
	return p
}
