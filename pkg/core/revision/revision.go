// Package revision compares pod templates and gives them names.
//
// Names are for people, labels and clients that recompute them. Whether two revisions are the same
// is decided by comparing templates: a name changes when the Kubernetes types behind it do, and an
// upgrade of the operator must not restart a release.
package revision

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/utils/dump"
)

// SameTemplate reports whether two pod templates are semantically equal, the pod-template-hash
// label apart.
func SameTemplate(a, b *corev1.PodTemplateSpec) bool {
	return equality.Semantic.DeepEqual(withoutHash(a), withoutHash(b))
}

func withoutHash(t *corev1.PodTemplateSpec) *corev1.PodTemplateSpec {
	if _, found := t.Labels[appsv1.DefaultDeploymentUniqueLabelKey]; !found {
		return t
	}
	t = t.DeepCopy()
	delete(t.Labels, appsv1.DefaultDeploymentUniqueLabelKey)
	return t
}

// Hash names a pod template: 32-bit FNV-1a of its dump, in the alphabet of Kubernetes' safe
// names. Clients recompute it, so the algorithm stays. A collision count, if any, is mixed in as
// the native controller does.
func Hash(t *corev1.PodTemplateSpec, collisions *int32) string {
	h := fnv.New32a()
	_, _ = h.Write([]byte(dump.ForHash(*t))) // hash.Hash never returns an error
	if collisions != nil {
		var count [8]byte
		binary.LittleEndian.PutUint32(count[:], uint32(*collisions)) //nolint:gosec // the bits are what is hashed
		_, _ = h.Write(count[:])
	}
	return rand.SafeEncodeString(fmt.Sprint(h.Sum32()))
}

// Of reports whether a pod with these labels is at the revision. Revisions are written in full
// ("web-6b4d") or as a hash ("6b4d"), so either label may be the revision's ending.
func Of(pod metav1.Object, revision string) bool {
	labels := pod.GetLabels()
	for _, key := range []string{appsv1.DefaultDeploymentUniqueLabelKey, appsv1.ControllerRevisionHashLabelKey} {
		if hash := labels[key]; hash != "" && strings.HasSuffix(revision, hash) {
			return true
		}
	}
	return false
}
