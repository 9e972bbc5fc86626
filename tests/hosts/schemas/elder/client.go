package elder

import (
	"context"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"hostler.test/hosts/logical"
)

var states = logical.States[Phase]{
	Phase_PHASE_CREATING:   logical.Creating,
	Phase_PHASE_RUNNING:    logical.Running,
	Phase_PHASE_DELETING:   logical.Deleting,
	Phase_PHASE_DELETED:    logical.Deleted,
	Phase_PHASE_TIMEOUT:    logical.Timeout,
	Phase_PHASE_SUSPENDED:  logical.Suspended,
	Phase_PHASE_SUSPENDING: logical.Suspending,
	Phase_PHASE_RESUMING:   logical.Resuming,
}

type client struct{ stub KeeperClient }

// Client calls a plugin in this schema.
func Client(conn *grpc.ClientConn) logical.Plugin { return client{NewKeeperClient(conn)} }

func connection(c logical.Connector) *Connection {
	return &Connection{
		Credentials: &Credentials{
			Username: c.Username, Password: c.Password, PrivateKey: []byte(c.Key),
			UseStaticCredentials: c.UseStaticCredentials,
		},
		Transport: &Transport{
			Protocol: c.Protocol, Port: int64(c.ProtocolPort), KeepAlive: c.Keepalive.String(),
			TimeoutSeconds: uint32(c.Timeout / time.Second),
		},
		Os: c.OS, Arch: c.Arch,
	}
}

func connected(c *Connection) (logical.Connector, error) {
	said := logical.Connector{
		OS: c.GetOs(), Arch: c.GetArch(), Protocol: c.GetTransport().GetProtocol(),
		ProtocolPort:         int(c.GetTransport().GetPort()),
		Username:             c.GetCredentials().GetUsername(),
		Password:             c.GetCredentials().GetPassword(),
		Key:                  string(c.GetCredentials().GetPrivateKey()),
		UseStaticCredentials: c.GetCredentials().GetUseStaticCredentials(),
		Timeout:              time.Duration(c.GetTransport().GetTimeoutSeconds()) * time.Second,
	}
	var err error
	if kept := c.GetTransport().GetKeepAlive(); kept != "" {
		said.Keepalive, err = time.ParseDuration(kept)
	}
	return said, err
}

func (c client) Init(
	ctx context.Context, config []byte, settings logical.Connector,
) (logical.Info, error) {
	table := &structpb.Struct{}
	if err := table.UnmarshalJSON(config); err != nil {
		return logical.Info{}, err
	}
	reply, err := c.stub.Init(ctx, &InitParams{
		Connection: connection(settings), PluginConfig: table,
	})
	info := reply.GetProvider()
	return logical.Info{
		ID: info.GetId(), MaxSize: int(info.GetMaxSize()), Version: info.GetVersion(),
		BuildInfo: info.GetBuildInfo(), Capabilities: info.GetCapabilities(),
	}, err
}

func (c client) Update(ctx context.Context) ([]logical.Instance, error) {
	reply, err := c.stub.Update(ctx, &emptypb.Empty{})
	var found []logical.Instance
	for id, one := range reply.GetInstances() {
		state := states.Told(one.GetState(), one.GetState().String())
		found = append(found, logical.Instance{ID: id, State: state})
	}
	return found, err
}

func (c client) Increase(ctx context.Context, count int) (int, error) {
	reply, err := c.stub.Increase(ctx, wrapperspb.Int32(int32(count)))
	return int(reply.GetValue()), err
}

func (c client) Decrease(ctx context.Context, ids []string) ([]string, error) {
	reply, err := c.stub.Decrease(ctx, &Instances{Ids: ids})
	return reply.GetAccepted(), err
}

func (c client) Suspend(ctx context.Context, ids []string) ([]string, error) {
	reply, err := c.stub.Suspend(ctx, &Instances{Ids: ids})
	return reply.GetAccepted(), err
}

func (c client) Resume(ctx context.Context, ids []string) ([]string, error) {
	reply, err := c.stub.Resume(ctx, &Instances{Ids: ids})
	return reply.GetAccepted(), err
}

func (c client) ConnectInfo(ctx context.Context, id string) (logical.ConnectInfo, error) {
	reply, err := c.stub.ConnectInfo(ctx, wrapperspb.String(id))
	if err != nil {
		return logical.ConnectInfo{}, err
	}
	info := reply.GetInfo()
	said := logical.ConnectInfo{
		ID:       info.GetInstanceId(),
		External: info.GetNetwork().GetExternalAddress(),
		Internal: info.GetNetwork().GetInternalAddress(),
	}
	if at := info.GetExpiresUnixNs(); at != 0 {
		said.Expires = time.Unix(0, at).UTC()
	}
	said.Connector, err = connected(info.GetConnection())
	return said, err
}

func (c client) Heartbeat(ctx context.Context, id string) error {
	_, err := c.stub.Heartbeat(ctx, wrapperspb.String(id))
	return err
}

func (c client) Shutdown(ctx context.Context) error {
	_, err := c.stub.Shutdown(ctx, &emptypb.Empty{})
	return err
}
