// Package peer is a go-plugin plugin in Go, for comparison: an in-memory group whose instances run
// after a while and are gone after a while, in any of the schemas.
package peer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"

	"hostler.test/hosts/logical"
)

// Group is the in-memory group. Its configuration says how many instances it begins with, and how
// long they take to start and to go.
type Group struct {
	mutex    sync.Mutex
	config   config
	settings logical.Connector
	made     int
	machines []*machine
}

type config struct {
	Name      string `json:"name"`
	Instances int    `json:"instances"`
	Start     int    `json:"start_ms"`
	Stop      int    `json:"stop_ms"`
	MaxSize   int    `json:"max_size"`
}

type machine struct {
	id    string
	state string
	then  string
	at    time.Time
}

// Init reads the configuration and makes what it asks for, running.
func (g *Group) Init(
	_ context.Context, text []byte, settings logical.Connector,
) (logical.Info, error) {
	g.mutex.Lock()
	defer g.mutex.Unlock()
	if err := json.Unmarshal(text, &g.config); err != nil {
		return logical.Info{}, fmt.Errorf("plugin_config: %w", err)
	}
	if g.config.Name == "" {
		return logical.Info{}, errors.New("plugin_config.name: expected a name")
	}
	g.settings = settings
	for range g.config.Instances {
		g.make(logical.Running, logical.Running, 0)
	}
	return logical.Info{
		ID: "peer/" + g.config.Name, MaxSize: g.config.MaxSize, Version: "1.2.3",
		BuildInfo: "invented", Capabilities: []string{"suspend_resume"},
	}, nil
}

func (g *Group) make(state, then string, wait int) {
	g.made++
	g.machines = append(g.machines, &machine{
		id: fmt.Sprintf("%s-%d", g.config.Name, g.made), state: state, then: then,
		at: time.Now().Add(time.Duration(wait) * time.Millisecond),
	})
}

// Update tells every instance; what has ended is told no more.
func (g *Group) Update(context.Context) ([]logical.Instance, error) {
	g.mutex.Lock()
	defer g.mutex.Unlock()
	left := g.machines[:0]
	found := make([]logical.Instance, 0, len(g.machines))
	for _, one := range g.machines {
		if one.state != one.then && time.Now().After(one.at) {
			one.state = one.then
		}
		if one.state == logical.Deleted {
			continue
		}
		left = append(left, one)
		found = append(found, logical.Instance{ID: one.id, State: one.state})
	}
	g.machines = left
	return found, nil
}

// Increase makes instances, as many as there is room for.
func (g *Group) Increase(_ context.Context, count int) (int, error) {
	g.mutex.Lock()
	defer g.mutex.Unlock()
	if g.config.MaxSize > 0 {
		count = min(count, g.config.MaxSize-len(g.machines))
	}
	for range count {
		g.make(logical.Creating, logical.Running, g.config.Start)
	}
	return count, nil
}

func (g *Group) find(id string) *machine {
	for _, one := range g.machines {
		if one.id == id {
			return one
		}
	}
	return nil
}

func (g *Group) turn(ids []string, state, then string) (done []string) {
	g.mutex.Lock()
	defer g.mutex.Unlock()
	for _, id := range ids {
		if one := g.find(id); one != nil {
			one.state, one.then = state, then
			one.at = time.Now().Add(time.Duration(g.config.Stop) * time.Millisecond)
			done = append(done, id)
		}
	}
	return done
}

// Decrease ends instances.
func (g *Group) Decrease(_ context.Context, ids []string) ([]string, error) {
	return g.turn(ids, logical.Deleting, logical.Deleted), nil
}

// Suspend puts instances to rest.
func (g *Group) Suspend(_ context.Context, ids []string) ([]string, error) {
	return g.turn(ids, logical.Suspending, logical.Suspended), nil
}

// Resume brings instances back.
func (g *Group) Resume(_ context.Context, ids []string) ([]string, error) {
	return g.turn(ids, logical.Resuming, logical.Running), nil
}

// ConnectInfo gives the runner's own settings back, filled in.
func (g *Group) ConnectInfo(_ context.Context, id string) (logical.ConnectInfo, error) {
	g.mutex.Lock()
	defer g.mutex.Unlock()
	if g.find(id) == nil {
		return logical.ConnectInfo{}, fmt.Errorf("no such instance: %s", id)
	}
	number, _ := strconv.Atoi(id[strings.LastIndex(id, "-")+1:])
	info := logical.ConnectInfo{
		Connector: g.settings, ID: id,
		External: fmt.Sprintf("198.51.100.%d", number), Internal: fmt.Sprintf("10.0.0.%d", number),
		Expires: time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC),
	}
	info.OS, info.Arch, info.Key = "linux", "amd64", "a key"
	return info, nil
}

// Heartbeat fails for an instance that is not there.
func (g *Group) Heartbeat(_ context.Context, id string) error {
	g.mutex.Lock()
	defer g.mutex.Unlock()
	if g.find(id) == nil {
		return fmt.Errorf("no such instance: %s", id)
	}
	return nil
}

// Shutdown ends nothing: instances stay.
func (g *Group) Shutdown(context.Context) error { return nil }

// Serving registers one schema's service over a group.
type Serving func(*grpc.Server, logical.Plugin)

type service struct {
	plugin.NetRPCUnsupportedPlugin
	schemas []Serving
}

func (s service) GRPCServer(_ *plugin.GRPCBroker, server *grpc.Server) error {
	group := &Group{}
	for _, register := range s.schemas {
		register(server, group)
	}
	return nil
}

func (s service) GRPCClient(
	context.Context, *plugin.GRPCBroker, *grpc.ClientConn,
) (any, error) {
	return nil, errors.New("a plugin does not call")
}

// Main serves until the host says otherwise. The cookie is not looked at: any host will do.
func Main(schemas ...Serving) {
	sets := map[int]plugin.PluginSet{}
	for _, version := range strings.Split(os.Getenv("PLUGIN_PROTOCOL_VERSIONS"), ",") {
		if number, err := strconv.Atoi(version); err == nil {
			sets[number] = plugin.PluginSet{"group": service{schemas: schemas}}
		}
	}
	plugin.Serve(&plugin.ServeConfig{
		HandshakeConfig: plugin.HandshakeConfig{
			MagicCookieKey:   "PLUGIN_PROTOCOL_VERSIONS",
			MagicCookieValue: os.Getenv("PLUGIN_PROTOCOL_VERSIONS"),
		},
		VersionedPlugins: sets,
		GRPCServer:       plugin.DefaultGRPCServer,
	})
}
