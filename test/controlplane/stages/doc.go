// Package stages says how pods and nodes of the local control plane behave; kwok plays it.
//
// The image chooses, as a bad release would in life, by a word in its tag:
//
//	failed  never becomes ready; the pod of a Job fails
//	slow    becomes ready after 3 s, or after the pod's annotation kruise-rollout.test/ready-after;
//	        the pod of a Job ends then
//	crash   becomes ready and, 1 s later or after the annotation kruise-rollout.test/crash-after, is not
//	        ready any more, for good
//	any other is ready at once; the pod of a Job succeeds
//
// An annotation holds a duration such as "1500ms"; a change of the pod starts it anew. A running pod
// whose image is changed in place reports the new image and imageID and behaves by it from then on.
// Readiness gates are left to their owners: the pod is Ready when its containers are and all its gates
// are True, as with a kubelet. Deleted pods are gone at once.
package stages
