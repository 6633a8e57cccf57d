package mechanism

import (
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/kruise-rollout/kruise-rollout/test/controlplane"
	"github.com/kruise-rollout/kruise-rollout/test/operator"
)

// late is how far behind a late watch of ReplicaSets is.
const late = 300 * time.Millisecond

// A native controller whose watch of ReplicaSets is late lets a whole batch too many through, but
// for the barrier. With it T is never exceeded, whoever is late: invariant 3 watches all the way.
func TestLateWatches(t *testing.T) {
	const controllerManager = "kube-controller-manager"
	dir := filepath.Join(filepath.Dir(shared.Log()), "late") // stays with the other logs when something fails
	native := delayed(t, filepath.Join(dir, "data", controllerManager+".kubeconfig"))
	plane := controlplane.ForTest(t, controlplane.Options{
		Dir:   dir,
		Flags: map[string][]string{controllerManager: {"--kubeconfig=" + native.kubeconfig}},
	})
	op, err := operator.Install(t.Context(), plane, shared.Plane.File("manager"))
	require.NoError(t, err)
	direct := filepath.Join(t.TempDir(), "kubeconfig")
	require.NoError(t, os.Rename(plane.OperatorKubeconfig(), direct))
	ours := delayed(t, direct)
	require.NoError(t, os.Rename(ours.kubeconfig, plane.OperatorKubeconfig()))
	require.NoError(t, op.Start(t.Context()))

	cases := []struct {
		name         string
		native, ours time.Duration
	}{
		{"the native controller's", late, 0},
		{"the operator's", 0, late},
		{"both", late, late},
	}
	for _, c := range cases {
		native.delay.Store(int64(c.native))
		ours.delay.Store(int64(c.ours))
		t.Run(c.name, func(t *testing.T) {
			for _, limits := range [][2]string{{"25%", "25%"}, {"0", "3"}, {"100%", "0"}} {
				t.Run("surge "+limits[0]+" unavailable "+limits[1], func(t *testing.T) {
					t.Parallel()
					s := begin(t, op)
					owner := s.deployment(20, limits[0], limits[1])
					s.rollout("4", "25%", "70%", "100%")
					s.release(image("v2"))
					assert.Equal(t, map[string]int{"v1": 16, "v2": 4}, s.pods())
					s.finish()
					s.plain(wanted(owner, image("v2")))
				})
			}
		})
	}
	assert.Positive(t, native.held.Load(), "pieces of the native controller's watches that were held up")
	assert.Positive(t, ours.held.Load(), "pieces of the operator's watches that were held up")
}

// forwarder stands between a program and the API server, and holds up what watches of ReplicaSets
// tell.
type forwarder struct {
	// kubeconfig is what the program is given.
	kubeconfig string
	// delay is how late watches are, in nanoseconds; held counts what was held up.
	delay, held atomic.Int64
	proxy       func() (*httputil.ReverseProxy, error)
}

// delayed forwards to the API server with the rights of a kubeconfig, which need not be there yet.
func delayed(t *testing.T, direct string) *forwarder {
	t.Helper()
	f := &forwarder{kubeconfig: filepath.Join(t.TempDir(), "kubeconfig")}
	f.proxy = sync.OnceValues(func() (*httputil.ReverseProxy, error) { return f.reverse(direct) })
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	server := &http.Server{Handler: f, ReadHeaderTimeout: time.Minute}
	done := make(chan struct{})
	// The goroutine ends when the server is closed.
	go func() {
		defer close(done)
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
	}()
	t.Cleanup(func() {
		assert.NoError(t, server.Close())
		<-done
	})
	config := clientcmdapi.NewConfig()
	config.Clusters["late"] = &clientcmdapi.Cluster{Server: "http://" + listener.Addr().String()}
	config.Contexts["late"] = &clientcmdapi.Context{Cluster: "late", Namespace: "default"}
	config.CurrentContext = "late"
	require.NoError(t, clientcmd.WriteToFile(*config, f.kubeconfig))
	return f
}

func (f *forwarder) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	proxy, err := f.proxy()
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	proxy.ServeHTTP(w, r)
}

func (f *forwarder) reverse(direct string) (*httputil.ReverseProxy, error) {
	config, err := clientcmd.BuildConfigFromFlags("", direct)
	if err != nil {
		return nil, err
	}
	target, err := url.Parse(config.Host)
	if err != nil {
		return nil, err
	}
	transport, err := rest.TransportFor(config)
	if err != nil {
		return nil, err
	}
	return &httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(target) },
		Transport:     transport,
		FlushInterval: -1,
		ModifyResponse: func(r *http.Response) error {
			if strings.HasSuffix(r.Request.URL.Path, "/replicasets") && r.Request.URL.Query().Get("watch") != "" {
				r.Body = f.holdUp(r.Body)
			}
			return nil
		},
	}, nil
}

// piece is what a watch told at some time.
type piece struct {
	at   time.Time
	data []byte
}

// holdUp returns a body that tells everything, in order, as late as delay says when it is told.
func (f *forwarder) holdUp(body io.ReadCloser) io.ReadCloser {
	const many = 1 << 12
	pieces := make(chan piece, many)
	out, in := io.Pipe()
	// Both goroutines end when either end of the watch is closed.
	go func() {
		defer close(pieces)
		buffer := make([]byte, many)
		for {
			n, err := body.Read(buffer)
			if n > 0 {
				pieces <- piece{time.Now(), append([]byte(nil), buffer[:n]...)}
			}
			if err != nil {
				return
			}
		}
	}()
	go func() {
		defer func() { _ = in.Close() }() // a pipe's never fails
		for p := range pieces {
			if left := time.Duration(f.delay.Load()) - time.Since(p.at); left > 0 {
				f.held.Add(1)
				<-time.After(left)
			}
			_, _ = in.Write(p.data) // the program has gone: the API server's end is closed next
		}
	}()
	return &heldUp{Reader: out, pipe: out, body: body}
}

type heldUp struct {
	io.Reader
	pipe *io.PipeReader
	body io.Closer
}

// Close ends both sides of a watch.
func (h *heldUp) Close() error { return errors.Join(h.pipe.Close(), h.body.Close()) }
