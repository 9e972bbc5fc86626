package alder

import (
	"context"
	"errors"
	"io"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/durationpb"

	"hostler.test/hosts/logical"
)

var states = logical.States[State]{
	State_STATE_CREATING:   logical.Creating,
	State_STATE_RUNNING:    logical.Running,
	State_STATE_DELETING:   logical.Deleting,
	State_STATE_DELETED:    logical.Deleted,
	State_STATE_TIMEOUT:    logical.Timeout,
	State_STATE_STOPPED:    logical.Stopped,
	State_STATE_SUSPENDING: logical.Suspending,
	State_STATE_SUSPENDED:  logical.Suspended,
	State_STATE_RESUMING:   logical.Resuming,
}

type client struct{ stub GroupProviderClient }

// Client calls a plugin in this schema.
func Client(conn *grpc.ClientConn) logical.Plugin {
	return client{NewGroupProviderClient(conn)}
}

func connector(c logical.Connector) *ConnectorConfig {
	return &ConnectorConfig{
		Os: c.OS, Arch: c.Arch, Protocol: c.Protocol, ProtocolPort: int32(c.ProtocolPort),
		Username: c.Username, Password: c.Password, Key: []byte(c.Key),
		UseStaticCredentials: c.UseStaticCredentials,
		Keepalive:            durationpb.New(c.Keepalive),
		Timeout:              durationpb.New(c.Timeout),
	}
}

func connected(c *ConnectorConfig) logical.Connector {
	return logical.Connector{
		OS: c.GetOs(), Arch: c.GetArch(), Protocol: c.GetProtocol(),
		ProtocolPort: int(c.GetProtocolPort()),
		Username:     c.GetUsername(), Password: c.GetPassword(), Key: string(c.GetKey()),
		UseStaticCredentials: c.GetUseStaticCredentials(),
		Keepalive:            c.GetKeepalive().AsDuration(),
		Timeout:              c.GetTimeout().AsDuration(),
	}
}

func (c client) Init(
	ctx context.Context, config []byte, settings logical.Connector,
) (logical.Info, error) {
	reply, err := c.stub.Init(ctx, &InitRequest{
		Config:   config,
		Settings: &Settings{ConnectorConfig: connector(settings)},
		Locales:  []string{"en", "de"},
	})
	info := reply.GetProviderInfo()
	return logical.Info{
		ID: info.GetId(), MaxSize: int(info.GetMaxSize()), Version: info.GetVersion(),
		BuildInfo: info.GetBuildInfo(), Capabilities: info.GetCapabilities(),
	}, err
}

func (c client) Update(ctx context.Context) ([]logical.Instance, error) {
	stream, err := c.stub.Update(ctx, &UpdateRequest{})
	if err != nil {
		return nil, err
	}
	var found []logical.Instance
	for {
		one, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return found, nil
		}
		if err != nil {
			return nil, err
		}
		state := states.Told(one.GetState(), one.GetState().String())
		found = append(found, logical.Instance{ID: one.GetInstance(), State: state})
	}
}

func (c client) Increase(ctx context.Context, count int) (int, error) {
	reply, err := c.stub.Increase(ctx, &IncreaseRequest{N: int64(count)})
	return int(reply.GetSucceeded()), err
}

func (c client) Decrease(ctx context.Context, ids []string) ([]string, error) {
	reply, err := c.stub.Decrease(ctx, &DecreaseRequest{Instances: ids})
	return reply.GetSucceeded(), err
}

func (c client) Suspend(ctx context.Context, ids []string) ([]string, error) {
	reply, err := c.stub.Suspend(ctx, &SuspendRequest{Instances: ids})
	return reply.GetSucceeded(), err
}

func (c client) Resume(ctx context.Context, ids []string) ([]string, error) {
	reply, err := c.stub.Resume(ctx, &ResumeRequest{Instances: ids})
	return reply.GetSucceeded(), err
}

func (c client) ConnectInfo(ctx context.Context, id string) (logical.ConnectInfo, error) {
	reply, err := c.stub.ConnectInfo(ctx, &ConnectInfoRequest{Instance: id})
	info := reply.GetConnectInfo()
	said := logical.ConnectInfo{
		Connector: connected(info.GetConnectorConfig()),
		ID:        info.GetId(), External: info.GetExternalAddr(), Internal: info.GetInternalAddr(),
	}
	if info.GetExpires() != nil {
		said.Expires = info.GetExpires().AsTime()
	}
	return said, err
}

func (c client) Heartbeat(ctx context.Context, id string) error {
	_, err := c.stub.Heartbeat(ctx, &HeartbeatRequest{Instance: id})
	return err
}

func (c client) Shutdown(ctx context.Context) error {
	_, err := c.stub.Shutdown(ctx, &ShutdownRequest{})
	return err
}
