//go:build linux

package cluster_test

import (
	"bytes"
	"flag"
	"fmt"
	"hash/fnv"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/test/cluster"
	"github.com/holdfast-dev/holdfast/test/cluster/hoststate"
)

var (
	killAfter  = flag.String("kill-after", "", `phases of up after which the tool is killed, separated by commas, or "all"`)
	killRandom = flag.Int("kill-random", 0, "how many times the tool is killed at a random moment of up")
	killSeed   = flag.Uint64("kill-seed", uint64(time.Now().UnixNano()), "what the random moments follow from")
)

const (
	killed = "test-killed"
	// marker is an environment variable by which processes below the tool are known, whoever their parent is now.
	marker = "HOLDFAST_TEST_MARKER=" + killed
	// longestUp bounds the random moments: those after the end of up kill nothing, and are seen to.
	longestUp = 16 * time.Second
)

// TestKilledTwice kills up with everything running, then the up after it, and takes down the wreck.
func TestKilledTwice(t *testing.T) {
	before := capture(t)
	killUp(t, 0, cluster.DieAfter+"=nodes")
	killUp(t, 0, cluster.DieAfter+"=hub")
	down(t, killed)
	noneLeft(t, before)
}

// TestKilled kills up after each of the phases named on the command line, and at so many random moments, and
// each time compares the host before with the host after another up and a down. It takes half a minute for
// each, so without flags it does nothing.
func TestKilled(t *testing.T) {
	phases := strings.FieldsFunc(*killAfter, func(r rune) bool { return r == ',' })
	if *killAfter == "all" {
		phases = cluster.Phases()
	}
	for _, phase := range phases {
		t.Run("after "+phase, func(t *testing.T) {
			if !slices.Contains(cluster.Phases(), phase) {
				t.Fatalf("no phase %q; there are %v", phase, cluster.Phases())
			}
			before := capture(t)
			killUp(t, 0, cluster.DieAfter+"="+phase)
			upAndDown(t)
			noneLeft(t, before)
		})
	}
	t.Logf("random moments follow from -kill-seed=%d", *killSeed)
	for i := range *killRandom {
		moment := randomMoment(i)
		t.Run(fmt.Sprintf("%d at %s", i, moment), func(t *testing.T) {
			before := capture(t)
			killUp(t, moment, "")
			upAndDown(t)
			noneLeft(t, before)
		})
	}
}

// randomMoment follows from the seed, so that a failure can be had again.
func randomMoment(i int) time.Duration {
	hash := fnv.New64a()
	fmt.Fprint(hash, *killSeed, i)
	return time.Duration(hash.Sum64() % uint64(longestUp))
}

// killUp runs the tool until it kills itself, or kills it at the moment.
func killUp(t *testing.T, moment time.Duration, environment string) {
	t.Helper()
	t.Cleanup(func() { down(t, killed) })
	cmd := exec.Command(tool, "up", "--name", killed)
	cmd.Env = append(os.Environ(), marker, environment)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if moment > 0 {
		timer := time.AfterFunc(moment, func() { _ = cmd.Process.Kill() })
		defer timer.Stop()
	}
	_ = cmd.Wait()
	status := cmd.ProcessState.Sys().(syscall.WaitStatus)
	t.Logf("%s\n%s", cmd.ProcessState, out.String())
	if moment == 0 && status.Signal() != syscall.SIGKILL {
		t.Fatalf("up did not kill itself: %s", cmd.ProcessState)
	}
	if moment > 0 && status.Signal() != syscall.SIGKILL && !cmd.ProcessState.Success() {
		t.Fatalf("up failed by itself: %s", cmd.ProcessState)
	}
}

func upAndDown(t *testing.T) {
	t.Helper()
	cmd := exec.Command(tool, "up", "--name", killed)
	cmd.Env = append(os.Environ(), marker)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("up after a killed one: %v\n%s", err, out)
	}
	run(t, "down", "--name", killed)
}

func noneLeft(t *testing.T, before hoststate.State) {
	t.Helper()
	if lines := leftBehind(t, before, killed); len(lines) > 0 {
		t.Errorf("left behind:\n%s", strings.Join(lines, "\n"))
	}
}

// leftBehind compares the host with what it was, for what these clusters can have to do with: another
// program's processes and another cluster are left out. A compiler that a killed tool had started ends by
// itself, and is waited for.
func leftBehind(t *testing.T, before hoststate.State, names ...string) []string {
	t.Helper()
	again := time.NewTicker(100 * time.Millisecond)
	defer again.Stop()
	end := time.After(30 * time.Second)
	for {
		lines := slices.DeleteFunc(hoststate.Diff(before, capture(t)), func(line string) bool { return !concerns(line, names) })
		if len(lines) == 0 {
			return nil
		}
		select {
		case <-again.C:
		case <-end:
			return lines
		}
	}
}

func concerns(line string, names []string) bool {
	fields := strings.Fields(line)
	if fields[1] == "file" && strings.HasPrefix(fields[2], "/var/lib/holdfast") {
		// The folder of folders is left behind if there is nothing in it.
		clusters, _ := os.ReadDir("/var/lib/holdfast/clusters")
		return fields[0] == "+" && len(clusters) == 0 || slices.Contains(names, filepath.Base(fields[2]))
	}
	if i := strings.Index(line, "holdfast."); i >= 0 {
		return slices.ContainsFunc(names, func(name string) bool {
			rest := strings.TrimPrefix(line[i:], "holdfast."+name)
			return rest != line[i:] && (rest == "" || strings.ContainsAny(rest[:1], "/ "))
		})
	}
	if fields[1] != "process" {
		return true
	}
	environment, _ := os.ReadFile(filepath.Join("/proc", fields[2], "environ"))
	groups, _ := os.ReadFile(filepath.Join("/proc", fields[2], "cgroup"))
	return bytes.Contains(environment, []byte(marker)) ||
		slices.ContainsFunc(names, func(name string) bool { return bytes.Contains(groups, []byte("holdfast."+name+"/")) })
}
