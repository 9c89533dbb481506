// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Process is a child whose processor time and memory we account for.
type Process struct {
	Name    string
	command *exec.Cmd
	exited  chan struct{}
	log     *os.File
}

// startProcess runs path with args; both output streams go to logDir/name.log.
func startProcess(name, logDir, path string, args, env []string) (*Process, error) {
	if path == "" {
		return nil, fmt.Errorf("no path given for %s (see README.md for the environment variables)", name)
	}
	log, err := os.Create(filepath.Join(logDir, name+".log"))
	if err != nil {
		return nil, err
	}
	command := exec.Command(path, args...)
	command.Env = append(os.Environ(), env...)
	command.Dir = logDir
	command.Stdout, command.Stderr = log, log
	// A child must not outlive the harness, however the harness dies.
	command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := command.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	p := &Process{Name: name, command: command, exited: make(chan struct{}), log: log}
	go func() { _ = command.Wait(); close(p.exited) }()
	return p, nil
}

// Alive says whether the child still runs.
func (p *Process) Alive() bool {
	select {
	case <-p.exited:
		return false
	default:
		return true
	}
}

// Kill is kill -9, and returns when the child is gone.
func (p *Process) Kill() {
	_ = p.command.Process.Kill()
	<-p.exited
	_ = p.log.Close()
}

// Stop asks politely, then kills after five seconds.
func (p *Process) Stop() {
	if p.Alive() {
		_ = p.command.Process.Signal(syscall.SIGTERM)
		select {
		case <-p.exited:
		case <-time.After(5 * time.Second):
			_ = p.command.Process.Kill()
			<-p.exited
		}
	}
	_ = p.log.Close()
}

// clockTicksPerSecond is USER_HZ, fixed at 100 by the Linux ABI on every platform we run on.
const clockTicksPerSecond = 100

// cpuSeconds is the user plus system time of one process so far.
func cpuSeconds(pid int) float64 {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	text := string(raw)
	// The command name may hold spaces, so count fields after its closing bracket.
	fields := strings.Fields(text[strings.LastIndexByte(text, ')')+1:])
	user, _ := strconv.ParseFloat(fields[11], 64)
	system, _ := strconv.ParseFloat(fields[12], 64)
	return (user + system) / clockTicksPerSecond
}

// peakResidentMiB is VmHWM: the largest resident set that the process has had.
func peakResidentMiB(pid int) float64 {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	for _, line := range strings.Split(string(raw), "\n") {
		if strings.HasPrefix(line, "VmHWM:") {
			kib, _ := strconv.ParseFloat(strings.Fields(line)[1], 64)
			return kib / 1024
		}
	}
	return 0
}

func loadAverage() string {
	raw, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return ""
	}
	return strings.Join(strings.Fields(string(raw))[:3], " ")
}

// machineBusySeconds is the processor time that the whole machine has spent on anything but idling.
func machineBusySeconds() float64 {
	raw, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0
	}
	fields := strings.Fields(strings.SplitN(string(raw), "\n", 2)[0])[1:]
	total := 0.0
	for i, field := range fields {
		if i == 3 || i == 4 || i >= 8 { // idle, iowait; guest time is inside user time
			continue
		}
		ticks, _ := strconv.ParseFloat(field, 64)
		total += ticks
	}
	return total / clockTicksPerSecond
}
