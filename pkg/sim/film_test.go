package sim_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kruise-rollout/kruise-rollout/apis/rollouts/v1beta1"
	"github.com/kruise-rollout/kruise-rollout/pkg/sim"
)

var update = flag.Bool("update", false, "rewrite the films in testdata")

// take is a release being filmed.
type take struct {
	t       *testing.T
	cluster *sim.Cluster
	film    strings.Builder
}

func roll(t *testing.T, d *appsv1.Deployment, r *v1beta1.Rollout) *take {
	t.Helper()
	f := &take{t: t, cluster: sim.New()}
	f.must(f.cluster.Create(d))
	f.must(f.cluster.Settle(func(string) {}))
	f.must(f.cluster.Create(r))
	f.settle("a Rollout is attached")
	return f
}

func (f *take) must(err error) {
	f.t.Helper()
	if err != nil {
		f.t.Fatalf("%v\nfilm so far:\n%s%s", err, f.film.String(), f.cluster.Describe())
	}
}

// settle notes what the user did and films what follows until everything rests.
func (f *take) settle(what string) {
	f.t.Helper()
	f.film.WriteString("# " + what + "\n")
	last := ""
	f.must(f.cluster.Settle(func(who string) {
		if now := f.cluster.Describe(); now != last {
			last = now
			f.film.WriteString(who + ": " + now + "\n")
		}
	}))
	f.film.WriteString("= " + f.cluster.Describe() + "\n")
}

func (f *take) deployment(what string, edit func(*appsv1.Deployment)) {
	f.t.Helper()
	f.must(f.cluster.UpdateDeployment(edit))
	f.settle(what)
}

func (f *take) rollout(what string, edit func(*v1beta1.Rollout)) {
	f.t.Helper()
	f.must(f.cluster.UpdateRollout(edit))
	f.settle(what)
}

func (f *take) approve() {
	f.t.Helper()
	f.must(f.cluster.Approve())
	f.settle("approved")
}

// cut compares the film with the one in testdata.
func (f *take) cut() {
	f.t.Helper()
	file := filepath.Join("testdata", strings.ReplaceAll(strings.TrimPrefix(f.t.Name(), "TestFilm/"), "/", "_")+".film")
	if *update {
		f.must(os.MkdirAll("testdata", 0o755))
		f.must(os.WriteFile(file, []byte(f.film.String()), 0o644))
	}
	want, err := os.ReadFile(file)
	f.must(err)
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(f.film.String(), "\n")); diff != "" {
		f.t.Errorf("the release went another way (-want +got):\n%s", diff)
	}
}

func TestFilm(t *testing.T) {
	scenes := map[string]func(t *testing.T) *take{
		"release": func(t *testing.T) *take {
			f := roll(t, sim.Deployment(10, "25%", "25%"), sim.Rollout("20%", "50%", "100%"))
			f.deployment("image v2", sim.Image("web:v2"))
			f.approve()
			f.approve()
			return f
		},
		"release with surge only": func(t *testing.T) *take {
			f := roll(t, sim.Deployment(5, "1", "0"), sim.Rollout("20%", "60%", "100%"))
			f.deployment("image v2", sim.Image("web:v2"))
			f.approve()
			f.approve()
			return f
		},
		"rollback": func(t *testing.T) *take {
			f := roll(t, sim.Deployment(10, "25%", "25%"), sim.Rollout("20%", "50%", "100%"))
			f.deployment("image v2", sim.Image("web:v2"))
			f.approve()
			f.deployment("back to v1", sim.Image("web:v1"))
			return f
		},
		"continuous": func(t *testing.T) *take {
			f := roll(t, sim.Deployment(10, "25%", "25%"), sim.Rollout("20%", "50%", "100%"))
			f.deployment("image v2", sim.Image("web:v2"))
			f.approve()
			f.deployment("image v3", sim.Image("web:v3"))
			f.approve()
			f.approve()
			return f
		},
		"failed image then good": func(t *testing.T) *take {
			f := roll(t, sim.Deployment(10, "25%", "25%"), sim.Rollout("20%", "100%"))
			f.deployment("image failed", sim.Image("web:failed"))
			f.deployment("image v3", sim.Image("web:v3"))
			f.approve()
			return f
		},
		"scaled": func(t *testing.T) *take {
			f := roll(t, sim.Deployment(5, "1", "0"), sim.Rollout("20%", "60%", "100%"))
			f.deployment("image v2", sim.Image("web:v2"))
			f.deployment("10 replicas", func(d *appsv1.Deployment) { d.Spec.Replicas = new(int32(10)) })
			f.deployment("5 replicas", func(d *appsv1.Deployment) { d.Spec.Replicas = new(int32(5)) })
			f.deployment("0 replicas", func(d *appsv1.Deployment) { d.Spec.Replicas = new(int32(0)) })
			f.deployment("5 replicas", func(d *appsv1.Deployment) { d.Spec.Replicas = new(int32(5)) })
			f.approve()
			f.approve()
			return f
		},
		"jump": func(t *testing.T) *take {
			f := roll(t, sim.Deployment(5, "1", "0"), sim.Rollout("20%", "40%", "60%", "80%", "100%"))
			f.deployment("image v2", sim.Image("web:v2"))
			jump := func(k int32) func(*v1beta1.Rollout) {
				return func(r *v1beta1.Rollout) { r.Status.CanaryStatus.NextStepIndex = k }
			}
			f.rollout("jump to 3", jump(3))
			f.rollout("jump back to 1", jump(1))
			f.rollout("jump nowhere", jump(99))
			f.rollout("jump to 5", jump(5))
			return f
		},
		"plan changed": func(t *testing.T) *take {
			f := roll(t, sim.Deployment(10, "25%", "25%"), sim.Rollout("20%", "40%", "100%"))
			f.deployment("image v2", sim.Image("web:v2"))
			f.rollout("10%, 30%, 100%", func(r *v1beta1.Rollout) { r.Spec = sim.Rollout("10%", "30%", "100%").Spec })
			f.approve()
			return f
		},
		"disabled": func(t *testing.T) *take {
			f := roll(t, sim.Deployment(10, "25%", "25%"), sim.Rollout("20%", "100%"))
			f.deployment("image v2", sim.Image("web:v2"))
			f.rollout("disabled", func(r *v1beta1.Rollout) { r.Spec.Disabled = true })
			f.deployment("image v3", sim.Image("web:v3"))
			f.rollout("enabled", func(r *v1beta1.Rollout) { r.Spec.Disabled = false })
			return f
		},
		"deleted": func(t *testing.T) *take {
			f := roll(t, sim.Deployment(10, "25%", "25%"), sim.Rollout("20%", "100%"))
			f.deployment("image v2", sim.Image("web:v2"))
			f.must(f.cluster.Delete(&v1beta1.Rollout{ObjectMeta: f.meta()}))
			f.settle("Rollout deleted")
			return f
		},
		"paused by the user": func(t *testing.T) *take {
			f := roll(t, sim.Deployment(10, "25%", "25%"), sim.Rollout("20%", "100%"))
			f.deployment("image v2", sim.Image("web:v2"))
			f.rollout("paused", func(r *v1beta1.Rollout) { r.Spec.Strategy.Paused = true })
			f.approve()
			f.rollout("resumed", func(r *v1beta1.Rollout) { r.Spec.Strategy.Paused = false })
			return f
		},
		"workload deleted": func(t *testing.T) *take {
			f := roll(t, sim.Deployment(10, "25%", "25%"), sim.Rollout("20%", "100%"))
			f.deployment("image v2", sim.Image("web:v2"))
			f.must(f.cluster.Delete(&appsv1.Deployment{ObjectMeta: f.meta()}))
			f.settle("Deployment deleted")
			f.must(f.cluster.Create(sim.Deployment(10, "25%", "25%")))
			f.settle("Deployment created again")
			return f
		},
	}
	for name, scene := range scenes {
		t.Run(strings.ReplaceAll(name, " ", "-"), func(t *testing.T) {
			t.Parallel()
			scene(t).cut()
		})
	}
}

func (f *take) meta() metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: sim.Name, Namespace: sim.Namespace}
}
