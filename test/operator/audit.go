package operator

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"

	"github.com/kruise-rollout/kruise-rollout/test/controlplane"
	"github.com/kruise-rollout/kruise-rollout/test/record"
)

// changing are the verbs that write.
var changing = map[string]bool{"create": true, "update": true, "patch": true, "delete": true}

// Writes returns what the operator has changed in a namespace since a moment, events apart, from
// the API server's audit log. Requests that were refused changed nothing. An object that is created
// again under its old name counts as another one, its creation apart.
func Writes(auditLog, ns string, since time.Time) (writes []record.Write, err error) {
	f, err := os.Open(auditLog) //nolint:gosec // the plane's own file
	if err != nil {
		return nil, fmt.Errorf("reading the audit log: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	created := map[string]int{}
	for r := bufio.NewReader(f); ; {
		text, err := r.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return writes, nil // a last line without its end is still being written
		}
		if err != nil {
			return nil, fmt.Errorf("reading the audit log: %w", err)
		}
		var e auditv1.Event
		if err := json.Unmarshal(text, &e); err != nil {
			return nil, fmt.Errorf("reading the audit log: %w", err)
		}
		w, ours := written(e, ns, since)
		switch {
		case !ours:
			continue
		case e.Verb == "create":
			created[w.Object]++
		case created[w.Object] > 1:
			w.Object += fmt.Sprintf(" (%d)", created[w.Object])
		}
		writes = append(writes, w)
	}
}

func written(e auditv1.Event, ns string, since time.Time) (record.Write, bool) {
	const refused = 300
	ref := e.ObjectRef
	if ref == nil || ref.Namespace != ns || ref.Resource == "events" || !changing[e.Verb] ||
		e.User.Username != controlplane.OperatorUser || e.RequestReceivedTimestamp.Time.Before(since) ||
		e.ResponseStatus != nil && e.ResponseStatus.Code >= refused {
		return record.Write{}, false
	}
	return record.Write{At: e.RequestReceivedTimestamp.Time, Object: ref.Resource + "/" + ref.Name}, true
}
