package controlplane

import "testing"

// ForTest starts a plane that lives as long as the test. The logs stay when the test fails, and the test
// fails when a program of the plane ends by itself.
func ForTest(t testing.TB, o Options) *Plane {
	t.Helper()
	p, err := Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Err(); err != nil {
			t.Error(err)
		}
		if t.Failed() {
			p.Keep()
			t.Logf("the logs of the control plane are in %s", p.folder.join(logsDir))
		}
		if err := p.Stop(); err != nil {
			t.Error(err)
		}
	})
	return p
}
