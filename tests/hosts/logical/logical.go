// Package logical says what a runner asks of a plugin, whatever its schema: every schema's client
// and server is translated to this, so that one scenario drives them all.
package logical

import (
	"context"
	"errors"
	"time"
)

// The states as scenarios read them. A state that a schema has and this list lacks is told as the
// schema spells it, with a question mark before it.
const (
	Creating   = "creating"
	Running    = "running"
	Deleting   = "deleting"
	Deleted    = "deleted"
	Timeout    = "timeout"
	Stopped    = "stopped"
	Suspending = "suspending"
	Suspended  = "suspended"
	Resuming   = "resuming"
)

// ErrAbsent is returned for a call that the schema does not have.
var ErrAbsent = errors.New("this schema has no such call")

// Connector is how jobs reach instances: what the runner's connector_config says.
type Connector struct {
	OS                   string        `json:"os"`
	Arch                 string        `json:"arch"`
	Protocol             string        `json:"protocol"`
	ProtocolPort         int           `json:"protocol_port"`
	Username             string        `json:"username"`
	Password             string        `json:"password"`
	Key                  string        `json:"key"`
	UseStaticCredentials bool          `json:"use_static_credentials"`
	Keepalive            time.Duration `json:"keepalive_ns"`
	Timeout              time.Duration `json:"timeout_ns"`
}

// ConnectInfo is how one instance is reached now. A zero Expires means that there is no end.
type ConnectInfo struct {
	Connector
	ID       string    `json:"id"`
	External string    `json:"external"`
	Internal string    `json:"internal"`
	Expires  time.Time `json:"expires,omitzero"`
}

// Info is what Init answers; what a schema cannot say is empty.
type Info struct {
	ID           string   `json:"id"`
	MaxSize      int      `json:"max_size"`
	Version      string   `json:"version"`
	BuildInfo    string   `json:"build_info"`
	Capabilities []string `json:"capabilities"`
}

// Instance is one instance as Update tells it.
type Instance struct {
	ID    string `json:"id"`
	State string `json:"state"`
}

// Plugin is every call that there is. Clients of hosts and groups of plugins are both that.
type Plugin interface {
	Init(ctx context.Context, config []byte, settings Connector) (Info, error)
	Update(ctx context.Context) ([]Instance, error)
	Increase(ctx context.Context, count int) (int, error)
	Decrease(ctx context.Context, ids []string) ([]string, error)
	Suspend(ctx context.Context, ids []string) ([]string, error)
	Resume(ctx context.Context, ids []string) ([]string, error)
	ConnectInfo(ctx context.Context, id string) (ConnectInfo, error)
	Heartbeat(ctx context.Context, id string) error
	Shutdown(ctx context.Context) error
}

// States translates the states of one schema, both ways.
type States[S comparable] map[S]string

// Told returns the logical state for one of the schema's.
func (s States[S]) Told(state S, spelt string) string {
	if told, ok := s[state]; ok {
		return told
	}
	return "?" + spelt
}

// Said returns the schema's state for a logical one, and whether it has it.
func (s States[S]) Said(state string) (S, bool) {
	for said, told := range s {
		if told == state {
			return said, true
		}
	}
	var none S
	return none, false
}
