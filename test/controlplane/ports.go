package controlplane

import (
	"context"
	"fmt"
	"net"
	"strconv"
)

const loopback = "127.0.0.1"

// FreePorts returns n different ports of loopback that nobody listened on a moment ago. They are all
// held until the last is found, so that none is given out twice.
func FreePorts(ctx context.Context, n int) ([]int, error) {
	var config net.ListenConfig
	ports := make([]int, 0, n)
	for range n {
		listener, err := config.Listen(ctx, "tcp", net.JoinHostPort(loopback, "0"))
		if err != nil {
			return nil, fmt.Errorf("looking for free ports: %w", err)
		}
		defer func() { _ = listener.Close() }() // nobody ever connected
		ports = append(ports, listener.Addr().(*net.TCPAddr).Port)
	}
	return ports, nil
}

func address(port int) string { return net.JoinHostPort(loopback, strconv.Itoa(port)) }
