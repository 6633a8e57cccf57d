// Package pace keeps statuses from being written for every pod that gets ready.
package pace

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// interval is how often a status is written when only its counters have changed.
const interval = time.Second

// Counters returns how long to wait before a change of mere counters is worth a write; zero means
// now. It reads when the status was last written from the object's managed fields, so that it needs
// no memory and survives a restart.
func Counters(o metav1.Object, now time.Time) time.Duration {
	var last time.Time
	for _, f := range o.GetManagedFields() {
		if f.Subresource == "status" && f.Time != nil && f.Time.After(last) {
			last = f.Time.Time
		}
	}
	return max(0, interval-now.Sub(last))
}
