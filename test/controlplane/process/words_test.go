package process

import "testing"

func TestTheTellingLineIsPicked(t *testing.T) {
	cases := map[string]struct{ log, want string }{
		"nothing": {"", "it said nothing"},
		"the last line, if none is an error": {
			"starting\nbye\n", "bye",
		},
		"a klog error before the shutdown": {
			`I1201 01:50:29.274366   13408 serving.go:411] Generated self-signed cert in-memory
E1201 01:50:29.274501   13408 run.go:72] "command failed" err="listen tcp 127.0.0.1:1: bind: address already in use"
I1201 01:50:29.274600   13408 server.go:99] bye`,
			`"command failed" err="listen tcp 127.0.0.1:1: bind: address already in use"`,
		},
		"etcd's cause, not its stack": {
			`{"level":"fatal","ts":"2026-12-01T01:50:29Z","msg":"discovery failed","error":"listen tcp 1.2.3.4:1: bind: cannot assign","stacktrace":"main.main\n\t"}`,
			"discovery failed: listen tcp 1.2.3.4:1: bind: cannot assign",
		},
		"kwok's": {
			`{"time":"2026-12-01T01:50:28Z","level":"ERROR","source":{"line":42},"msg":"Init config flags","err":"stat /nonexistent: no such file"}`,
			"Init config flags: stat /nonexistent: no such file",
		},
		"an error before the usage": {
			"Error: unknown flag: --foo\nUsage:\n  --bar string\n", "Error: unknown flag: --foo",
		},
		"the first line of a panic": {
			"fine\npanic: index out of range\n\ngoroutine 1 [running]:\nError: no\n", "panic: index out of range",
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if got := telling(c.log); got != c.want {
				t.Errorf("telling line is %q, want %q", got, c.want)
			}
		})
	}
}
