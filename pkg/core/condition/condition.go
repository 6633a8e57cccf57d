// Package condition reads and sets the conditions of a Rollout.
package condition

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kruise-rollout/kruise-rollout/apis/rollouts/v1beta1"
)

// Get returns the condition of a type, nil when there is none.
func Get(s v1beta1.RolloutStatus, t v1beta1.RolloutConditionType) *v1beta1.RolloutCondition {
	for i := range s.Conditions {
		if s.Conditions[i].Type == t {
			return &s.Conditions[i]
		}
	}
	return nil
}

// Reason returns the reason of a condition, "" when there is none.
func Reason(s v1beta1.RolloutStatus, t v1beta1.RolloutConditionType) string {
	if c := Get(s, t); c != nil {
		return c.Reason
	}
	return ""
}

// Set puts a condition. Nothing changes when status, reason and message are the same; the time of
// the last transition is kept while the status is.
func Set(s *v1beta1.RolloutStatus, c v1beta1.RolloutCondition, now time.Time) {
	stamp := metav1.NewTime(now)
	c.LastUpdateTime, c.LastTransitionTime = stamp, stamp
	if old := Get(*s, c.Type); old != nil {
		if old.Status == c.Status && old.Reason == c.Reason && old.Message == c.Message {
			return
		}
		if old.Status == c.Status {
			c.LastTransitionTime = old.LastTransitionTime
		}
		*old = c
		return
	}
	s.Conditions = append(s.Conditions, c)
}

// Remove takes a condition away.
func Remove(s *v1beta1.RolloutStatus, t v1beta1.RolloutConditionType) {
	s.Conditions = slices.DeleteFunc(s.Conditions, func(c v1beta1.RolloutCondition) bool { return c.Type == t })
}

// New returns a condition without its times.
func New(t v1beta1.RolloutConditionType, status corev1.ConditionStatus, reason, message string) v1beta1.RolloutCondition {
	return v1beta1.RolloutCondition{Type: t, Status: status, Reason: reason, Message: message}
}
