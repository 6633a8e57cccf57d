package bootstrap

import (
	"context"
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// renew returns what should be stored in place of old; old itself when that will do.
type renew func(old Material) (Material, error)

// store keeps the certificate all replicas share.
type store interface {
	// refresh stores what renew makes of what is stored, if it differs, and returns it. A replica
	// that was faster shows as an error; the next attempt finds its certificate.
	refresh(ctx context.Context, r renew) (Material, error)
}

// secretStore is the store of an operator that runs in the cluster.
type secretStore struct {
	client client.Client
	key    client.ObjectKey
}

func (s secretStore) refresh(ctx context.Context, r renew) (Material, error) {
	found := &corev1.Secret{}
	err := s.client.Get(ctx, s.key, found)
	missing := apierrors.IsNotFound(err)
	if err != nil && !missing {
		return Material{}, fmt.Errorf("reading Secret %s: %w", s.key, err)
	}
	old := fromFiles(found.Data)
	m, err := r(old)
	if err != nil {
		return Material{}, err
	}
	switch {
	case missing:
		err = s.client.Create(ctx, &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: s.key.Namespace, Name: s.key.Name},
			Data:       m.files(),
		})
	case !m.Equal(old):
		after := found.DeepCopy()
		if after.Data == nil {
			after.Data = map[string][]byte{}
		}
		maps.Copy(after.Data, m.files())
		// found's resourceVersion lets only one of several replicas replace it.
		err = s.client.Update(ctx, after)
	}
	if err != nil {
		return Material{}, fmt.Errorf("storing a certificate in Secret %s: %w", s.key, err)
	}
	return m, nil
}

// dirStore is the store of an operator that runs outside the cluster: its own directory.
type dirStore struct{ dir string }

func (s dirStore) refresh(_ context.Context, r renew) (Material, error) {
	found, err := readDir(s.dir)
	if err != nil {
		return Material{}, err
	}
	m, err := r(fromFiles(found))
	if err != nil {
		return Material{}, err
	}
	if err := writeDir(s.dir, m.files()); err != nil {
		return Material{}, fmt.Errorf("storing a certificate in %s: %w", s.dir, err)
	}
	return m, nil
}
