// Package host is a go-plugin host as the runner is one: it launches a plugin's executable, calls
// it in one schema, and does what it is told on standard input.
package host

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"

	"hostler.test/hosts/logical"
)

// Schema is one wire format: its name, the app protocol versions that its host speaks, and what
// makes a client of a connection.
type Schema struct {
	Name     string
	Versions []int
	Client   func(*grpc.ClientConn) logical.Plugin
}

// Launch says how a plugin is started.
type Launch struct {
	Plugin       string        `json:"plugin"`
	Environment  []string      `json:"environment"`
	AutoMTLS     bool          `json:"auto_mtls"`
	Multiplex    bool          `json:"multiplex"`
	StartTimeout time.Duration `json:"start_timeout_ns"`
}

const dispensed = "group"

// service makes clients of one schema; a host never serves.
type service struct {
	plugin.NetRPCUnsupportedPlugin
	schema Schema
}

func (s service) GRPCServer(*plugin.GRPCBroker, *grpc.Server) error {
	return errors.New("a host does not serve")
}

func (s service) GRPCClient(
	_ context.Context, _ *plugin.GRPCBroker, conn *grpc.ClientConn,
) (any, error) {
	return s.schema.Client(conn), nil
}

// started is a plugin that runs: its process, its connection, and its calls.
type started struct {
	command *exec.Cmd
	client  *plugin.Client
	wire    plugin.ClientProtocol
	calls   logical.Plugin
}

// start launches a plugin without arguments, as the runner does, and connects to it.
func start(schema Schema, how Launch, logger hclog.Logger) (*started, error) {
	command := exec.Command(how.Plugin)
	command.Env = how.Environment
	command.Stdin = nothing()
	sets := map[int]plugin.PluginSet{}
	for _, version := range schema.Versions {
		sets[version] = plugin.PluginSet{dispensed: service{schema: schema}}
	}
	client := plugin.NewClient(&plugin.ClientConfig{
		HandshakeConfig: plugin.HandshakeConfig{
			MagicCookieKey: "INVENTED_" + schema.Name + "_COOKIE", MagicCookieValue: schema.Name,
		},
		VersionedPlugins:    sets,
		Cmd:                 command,
		AllowedProtocols:    []plugin.Protocol{plugin.ProtocolGRPC},
		AutoMTLS:            how.AutoMTLS,
		GRPCBrokerMultiplex: how.Multiplex,
		StartTimeout:        how.StartTimeout,
		Logger:              logger,
		SyncStdout:          logger.StandardWriter(&hclog.StandardLoggerOptions{}),
	})
	wire, err := client.Client()
	if err != nil {
		client.Kill()
		return nil, err
	}
	raw, err := wire.Dispense(dispensed)
	if err != nil {
		client.Kill()
		return nil, err
	}
	return &started{command: command, client: client, wire: wire, calls: raw.(logical.Plugin)}, nil
}

// nothing is an empty standard input: the host's own carries its orders.
func nothing() *os.File {
	file, err := os.Open(os.DevNull)
	if err != nil {
		panic(err)
	}
	return file
}
