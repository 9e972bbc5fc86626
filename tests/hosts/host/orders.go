package host

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/hashicorp/go-hclog"
	"google.golang.org/grpc/status"

	"hostler.test/hosts/logical"
)

// Order is one line of standard input. Only what `do` needs is read.
type Order struct {
	Do       string            `json:"do"`
	Launch   Launch            `json:"launch"`
	Config   json.RawMessage   `json:"config"`
	Settings logical.Connector `json:"settings"`
	Count    int               `json:"count"`
	IDs      []string          `json:"ids"`
	Within   time.Duration     `json:"within_ns"`
	Bench    Bench             `json:"bench"`
}

// Answer is one line of standard output. An error has a text and the code that gRPC gave it.
type Answer struct {
	OK           bool            `json:"ok"`
	Milliseconds float64         `json:"ms"`
	Error        string          `json:"error,omitempty"`
	Code         string          `json:"code,omitempty"`
	Value        json.RawMessage `json:"value,omitempty"`
}

// Launched is what a launch answers.
type Launched struct {
	PID     int `json:"pid"`
	Version int `json:"version"`
}

// Ended is what a kill answers: how the plugin's process ended, and whether it had to be forced.
type Ended struct {
	Exit   int    `json:"exit"`
	Signal string `json:"signal"`
}

const ordinary = time.Minute

type session struct {
	schema Schema
	logger hclog.Logger
	plugin *started
}

// Main obeys standard input until it ends; what plugins log goes to standard error as JSON.
func Main(schema Schema) {
	logger := hclog.New(&hclog.LoggerOptions{
		Name: schema.Name, Level: hclog.Trace, Output: os.Stderr, JSONFormat: true,
	})
	s := &session{schema: schema, logger: logger}
	if err := s.obey(os.Stdin, os.Stdout); err != nil {
		logger.Error("cannot go on", "error", err)
		os.Exit(1)
	}
	s.stop()
}

func (s *session) obey(orders io.Reader, answers io.Writer) error {
	lines := bufio.NewScanner(orders)
	lines.Buffer(nil, 16<<20)
	encoder := json.NewEncoder(answers)
	for lines.Scan() {
		var order Order
		if err := json.Unmarshal(lines.Bytes(), &order); err != nil {
			return fmt.Errorf("not an order: %w", err)
		}
		if err := encoder.Encode(s.answer(order)); err != nil {
			return err
		}
	}
	return lines.Err()
}

func (s *session) answer(order Order) Answer {
	within := order.Within
	if within == 0 {
		within = ordinary
	}
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	begun := time.Now()
	value, err := s.do(ctx, order)
	answer := Answer{OK: err == nil, Milliseconds: since(begun)}
	if err != nil {
		answer.Error, answer.Code = status.Convert(err).Message(), status.Code(err).String()
		return answer
	}
	if answer.Value, err = json.Marshal(value); err != nil {
		return Answer{Error: err.Error()}
	}
	return answer
}

func since(begun time.Time) float64 { return float64(time.Since(begun)) / float64(time.Millisecond) }

func (s *session) do(ctx context.Context, order Order) (any, error) {
	switch order.Do {
	case "launch":
		return s.launch(order.Launch)
	case "bench":
		return bench(s.schema, order, s.logger)
	}
	if s.plugin == nil {
		return nil, errors.New("no plugin is launched")
	}
	if order.Do == "kill" {
		return s.stop(), nil
	}
	return s.call(ctx, order)
}

func (s *session) call(ctx context.Context, order Order) (any, error) {
	calls := s.plugin.calls
	switch order.Do {
	case "ping":
		return nil, s.plugin.wire.Ping()
	case "exited":
		return s.plugin.client.Exited(), nil
	case "init":
		info, err := calls.Init(ctx, order.Config, order.Settings)
		info.Capabilities, err = listed(info.Capabilities, err)
		return info, err
	case "update":
		return listed(calls.Update(ctx))
	case "increase":
		return calls.Increase(ctx, order.Count)
	case "decrease":
		return listed(calls.Decrease(ctx, order.IDs))
	case "suspend":
		return listed(calls.Suspend(ctx, order.IDs))
	case "resume":
		return listed(calls.Resume(ctx, order.IDs))
	case "shutdown":
		return nil, calls.Shutdown(ctx)
	}
	if len(order.IDs) != 1 {
		return nil, fmt.Errorf("%q wants one id", order.Do)
	}
	switch order.Do {
	case "connect_info":
		return calls.ConnectInfo(ctx, order.IDs[0])
	case "heartbeat":
		return nil, calls.Heartbeat(ctx, order.IDs[0])
	case "storm":
		return storm(ctx, calls, order.Count, order.IDs[0]), nil
	}
	return nil, fmt.Errorf("no such order: %q", order.Do)
}

// listed makes nothing an empty list, which JSON can tell from no answer.
func listed[T any](found []T, err error) ([]T, error) {
	if found == nil {
		found = []T{}
	}
	return found, err
}

func (s *session) launch(how Launch) (any, error) {
	if s.plugin != nil {
		return nil, errors.New("a plugin is launched already")
	}
	plugin, err := start(s.schema, how, s.logger)
	if err != nil {
		return nil, err
	}
	s.plugin = plugin
	return Launched{PID: plugin.command.Process.Pid, Version: plugin.client.NegotiatedVersion()}, nil
}

// stop ends the plugin as go-plugin does: asks it to, and kills it where it stays two seconds.
func (s *session) stop() (ended Ended) {
	if s.plugin == nil {
		return ended
	}
	s.plugin.client.Kill()
	if state := s.plugin.command.ProcessState; state != nil {
		ended.Exit = state.ExitCode()
		if ended.Exit < 0 {
			ended.Signal = state.String()
		}
	}
	s.plugin = nil
	return ended
}
