// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Process is a child whose output goes to a file. It dies with this program, however that dies.
type Process struct {
	Name    string
	LogFile string
	command *exec.Cmd
	exited  chan struct{}
}

// starter is one thread that starts all children and never ends: the kernel kills a child when the
// thread that started it is gone, so that must not be one that the runtime may let go.
var starter = sync.OnceValue(func() chan func() {
	work := make(chan func())
	go func() {
		runtime.LockOSThread()
		for job := range work {
			job()
		}
	}()
	return work
})

// StartProcess runs a program in a process group of its own, in the folder of its log.
func StartProcess(name, folder, path string, args, environment []string) (*Process, error) {
	// Appended, so that a restart does not wipe out what came before.
	log, err := os.OpenFile(filepath.Join(folder, name+".log"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	command := exec.Command(path, args...)
	command.Env = append(os.Environ(), environment...)
	command.Dir = folder
	command.Stdout, command.Stderr = log, log
	command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
	started := make(chan error)
	starter() <- func() { started <- command.Start() }
	if err := <-started; err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	p := &Process{Name: name, LogFile: log.Name(), command: command, exited: make(chan struct{})}
	go func() { _ = command.Wait(); close(p.exited) }()
	return p, nil
}

// PID is the process id.
func (p *Process) PID() int { return p.command.Process.Pid }

// Alive says whether the child still runs.
func (p *Process) Alive() bool {
	select {
	case <-p.exited:
		return false
	default:
		return true
	}
}

// Exited is closed when the child has ended.
func (p *Process) Exited() <-chan struct{} { return p.exited }

// ExitCode is -1 while the child runs and when a signal ended it.
func (p *Process) ExitCode() int {
	if p.Alive() {
		return -1
	}
	return p.command.ProcessState.ExitCode()
}

// Signal goes to the whole process group.
func (p *Process) Signal(signal syscall.Signal) {
	if p.Alive() {
		_ = syscall.Kill(-p.PID(), signal)
	}
}

// Kill is kill -9, and returns when the child is gone.
func (p *Process) Kill() {
	p.Signal(syscall.SIGKILL)
	<-p.exited
}

// Stop asks politely; after the limit it kills and says so.
func (p *Process) Stop(limit time.Duration) error {
	p.Signal(syscall.SIGTERM)
	select {
	case <-p.exited:
		return nil
	case <-time.After(limit):
		p.Kill()
		return fmt.Errorf("%s did not stop within %s", p.Name, limit)
	}
}

// Log is what the child has written so far.
func (p *Process) Log() string {
	text, err := os.ReadFile(p.LogFile)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// LogTail is the end of the log, for messages about failures.
func (p *Process) LogTail(lines int) string {
	all := strings.Split(strings.TrimRight(p.Log(), "\n"), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}

// repositoryRoot is found from the working folder upwards.
func repositoryRoot() (string, error) {
	folder, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for folder != "/" {
		if _, err := os.Stat(filepath.Join(folder, "CMakePresets.json")); err == nil {
			return folder, nil
		}
		folder = filepath.Dir(folder)
	}
	return "", errors.New("not inside the repository")
}

// programs finds the control plane's programs: in the folders of MAINSPRING_CONTROLPLANE, which
// `make controlplane` prints, or else in those that the build script names.
var programs = sync.OnceValues(func() ([]string, error) {
	if folders := os.Getenv("MAINSPRING_CONTROLPLANE"); folders != "" {
		return strings.Split(folders, ":"), nil
	}
	root, err := repositoryRoot()
	if err != nil {
		return nil, err
	}
	build := exec.Command(filepath.Join(root, "tests/e2e/controlplane/build"), Minor())
	build.Stderr = os.Stderr
	folders, err := build.Output()
	if err != nil {
		return nil, fmt.Errorf("build the control plane: %w", err)
	}
	return strings.Split(strings.TrimSpace(string(folders)), ":"), nil
})

// Minor is the release of Kubernetes under test, from MAINSPRING_KUBE; 1.36 when that is not set.
func Minor() string {
	if minor := os.Getenv("MAINSPRING_KUBE"); minor != "" {
		return minor
	}
	return "1.36"
}

// Program is the path of one of the control plane's programs.
func Program(name string) (string, error) {
	folders, err := programs()
	if err != nil {
		return "", err
	}
	for _, folder := range folders {
		path := filepath.Join(folder, name)
		if _, err := os.Stat(path); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("no %s in %s", name, strings.Join(folders, ", "))
}
