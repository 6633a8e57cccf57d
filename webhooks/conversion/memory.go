package conversion

import (
	"encoding/json"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// take removes an annotation and returns the JSON it holds; the zero value if there is none that can
// be read.
func take[M any](o metav1.Object, key string) M {
	annotations := o.GetAnnotations()
	text, found := annotations[key]
	memory := new(M)
	if !found {
		return *memory
	}
	drop(o, key)
	if err := json.Unmarshal([]byte(text), memory); err != nil {
		return *new(M)
	}
	return *memory
}

// drop removes an annotation.
func drop(o metav1.Object, key string) {
	annotations := o.GetAnnotations()
	delete(annotations, key)
	if len(annotations) == 0 {
		o.SetAnnotations(nil)
	}
}

// keep writes memory to an annotation, unless there is nothing to remember.
func keep[M any](o metav1.Object, key string, memory M) {
	if equality.Semantic.DeepEqual(memory, *new(M)) {
		return
	}
	text, err := json.Marshal(memory)
	if err != nil {
		return // strings, numbers and API types always marshal
	}
	write(o, key, string(text))
}

func write(o metav1.Object, key, value string) {
	annotations := o.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[key] = value
	o.SetAnnotations(annotations)
}

// annotations are those of the stored object that v1alpha1 shows with another value; nil where the
// object has none.
type annotations map[string]*string

// hidden lists the annotations of hub that the values shown instead of them hide.
func hidden(hub metav1.Object, shown map[string]string) annotations {
	all := annotations{}
	for key, value := range shown {
		own, found := hub.GetAnnotations()[key]
		switch {
		case !found:
			all[key] = nil
		case own != value:
			all[key] = &own
		}
	}
	return all
}

// restore brings the hidden annotations back to hub, as far as others are still shown instead.
func (a annotations) restore(hub metav1.Object, shown map[string]string) {
	for key := range shown {
		switch own, hidden := a[key]; {
		case !hidden:
		case own == nil:
			drop(hub, key)
		default:
			write(hub, key, *own)
		}
	}
}

// pair finds for every element of now the element of seen that it equals: from both ends, and between
// them wherever it went; -1 where there is none. No element is used twice.
func pair[V any](now, seen []V) []int {
	pairs := make([]int, len(now))
	head, tail := 0, 0
	for ; head < min(len(now), len(seen)) && same(now[head], seen[head]); head++ {
		pairs[head] = head
	}
	for ; tail < min(len(now), len(seen))-head && same(now[len(now)-1-tail], seen[len(seen)-1-tail]); tail++ {
		pairs[len(now)-1-tail] = len(seen) - 1 - tail
	}
	free := map[string][]int{}
	for j := head; j < len(seen)-tail; j++ {
		free[text(seen[j])] = append(free[text(seen[j])], j)
	}
	for i := head; i < len(now)-tail; i++ {
		pairs[i] = -1
		if left := free[text(now[i])]; len(left) > 0 {
			pairs[i], free[text(now[i])] = left[0], left[1:]
		}
	}
	return pairs
}

// same compares what two values look like to a client: empty and absent lists are alike.
func same[V any](a, b V) bool { return equality.Semantic.DeepEqual(a, b) }

func text(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return ""
	}
	return string(b)
}
