//go:build linux

package cluster

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// startOf tells when a process started, in ticks since the machine did: with its number, that names it for good.
func startOf(pid int) (uint64, error) {
	content, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	// The second field is the program's name and may hold anything, a parenthesis too.
	fields := bytes.Fields(content[bytes.LastIndexByte(content, ')')+1:])
	if len(fields) < 20 {
		return 0, fmt.Errorf("/proc/%d/stat is too short", pid)
	}
	if state := fields[0][0]; state == 'Z' || state == 'X' {
		return 0, os.ErrProcessDone
	}
	return strconv.ParseUint(string(fields[19]), 10, 64)
}

func sameProcess(pid int, start uint64) bool {
	if pid == 0 {
		return false
	}
	now, err := startOf(pid)
	return err == nil && now == start
}

// kill ends the process with that number and start. The descriptor holds on to the process between the look
// and the signal.
func kill(pid int, start uint64) error {
	p, err := os.FindProcess(pid)
	if err != nil {
		return err
	}
	defer func() { _ = p.Release() }()
	if !sameProcess(pid, start) {
		return nil
	}
	return p.Signal(syscall.SIGKILL)
}

// hostPID is the number that the host knows a child of the hub by, given the one that the hub knows.
func hostPID(hub, inner int) (int, error) {
	statuses, err := filepath.Glob("/proc/[0-9]*/status")
	if err != nil {
		return 0, err
	}
	for _, path := range statuses {
		content, err := os.ReadFile(path)
		if err != nil {
			continue // ended meanwhile
		}
		fields := statusFields(string(content))
		numbers := strings.Fields(fields["NSpid"]) // the host's, the hub's, the node's own
		if fields["PPid"] == strconv.Itoa(hub) && len(numbers) > 2 && numbers[len(numbers)-2] == strconv.Itoa(inner) {
			return strconv.Atoi(filepath.Base(filepath.Dir(path)))
		}
	}
	return 0, fmt.Errorf("no process of the hub is its number %d", inner)
}

func statusFields(content string) map[string]string {
	fields := map[string]string{}
	for line := range strings.Lines(content) {
		name, value, _ := strings.Cut(line, ":")
		fields[name] = strings.TrimSpace(value)
	}
	return fields
}
