package controlplane

import (
	"bytes"
	"crypto/rand"
	"encoding/csv"
	"fmt"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// OperatorUser is who the operator is to the API server: its ServiceAccount in a cluster, so that the
// project's own role bindings fit, and writes of the operator can be told from those of users.
const OperatorUser = "system:serviceaccount:kruise-rollout:kruise-rollout-controller-manager"

// masters may do everything.
const masters = "system:masters"

// user is one who talks to the API server of a plane.
type user struct {
	name, group string
	// kubeconfig is where the user's is written, in the plane's folder.
	kubeconfig string
	token      string
}

// Every program has a name of its own, because the audit log tells them apart by it. The native
// controllers would have roles of their own in a cluster, one per controller; here that buys nothing.
func newUsers(f *folder) map[string]user {
	users := map[string]user{}
	for _, u := range []user{
		{name: admin, group: masters, kubeconfig: f.join(kubeconfigFile)},
		{name: OperatorUser, group: "system:serviceaccounts", kubeconfig: f.join(operatorKubeconfig)},
		{name: "system:kube-controller-manager", group: masters, kubeconfig: f.data(controllerManager + ".kubeconfig")},
		{name: "system:kube-scheduler", group: masters, kubeconfig: f.data(scheduler + ".kubeconfig")},
		{name: kwok, group: masters, kubeconfig: f.data(kwok + ".kubeconfig")},
	} {
		u.token = rand.Text()
		users[u.name] = u
	}
	return users
}

const admin = "admin"

// writeUsers writes the token file of the API server and everybody's kubeconfig.
func writeUsers(f *folder, users map[string]user, server string, authority []byte) error {
	var table bytes.Buffer
	w := csv.NewWriter(&table)
	for _, u := range users {
		if err := w.Write([]string{u.token, u.name, u.name, u.group}); err != nil {
			return fmt.Errorf("writing tokens: %w", err)
		}
		if err := clientcmd.WriteToFile(*kubeconfig(u, server, authority), u.kubeconfig); err != nil {
			return fmt.Errorf("writing the kubeconfig of %s: %w", u.name, err)
		}
	}
	w.Flush()
	if err := w.Error(); err != nil {
		return fmt.Errorf("writing tokens: %w", err)
	}
	return f.write(tokensFile, table.Bytes())
}

func kubeconfig(u user, server string, authority []byte) *clientcmdapi.Config {
	const name = "plane"
	config := clientcmdapi.NewConfig()
	config.Clusters[name] = &clientcmdapi.Cluster{Server: server, CertificateAuthorityData: authority}
	config.AuthInfos[u.name] = &clientcmdapi.AuthInfo{Token: u.token}
	config.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: u.name, Namespace: "default"}
	config.CurrentContext = name
	return config
}

// restConfig has no limit of its own: the API server has, and tests want to see the server's.
func restConfig(u user, server string, authority []byte) *rest.Config {
	return &rest.Config{
		Host:            server,
		BearerToken:     u.token,
		TLSClientConfig: rest.TLSClientConfig{CAData: authority},
		QPS:             -1,
	}
}
