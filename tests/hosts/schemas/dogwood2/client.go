package dogwood2

import (
	"context"
	"errors"
	"io"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"hostler.test/hosts/logical"
	_ "hostler.test/hosts/schemas/dogwood1" // in the binary, as an older version would be
)

var states = logical.States[Condition_State]{
	Condition_CREATING:   logical.Creating,
	Condition_RUNNING:    logical.Running,
	Condition_DELETING:   logical.Deleting,
	Condition_STOPPED:    logical.Stopped,
	Condition_SUSPENDING: logical.Suspending,
	Condition_SUSPENDED:  logical.Suspended,
	Condition_RESUMING:   logical.Resuming,
}

type client struct{ stub PluginClient }

// Client calls a plugin in the second version of this schema.
func Client(conn *grpc.ClientConn) logical.Plugin { return client{NewPluginClient(conn)} }

// text leaves an empty text out, as a host that knows absence would.
func text(said string) *wrapperspb.StringValue {
	if said == "" {
		return nil
	}
	return wrapperspb.String(said)
}

func texts(said []string) (wrapped []*wrapperspb.StringValue) {
	for _, one := range said {
		wrapped = append(wrapped, wrapperspb.String(one))
	}
	return wrapped
}

func bare(wrapped []*wrapperspb.StringValue) (said []string) {
	for _, one := range wrapped {
		said = append(said, one.GetValue())
	}
	return said
}

func connector(c logical.Connector) *Connector {
	wrapped := &Connector{
		Os: text(c.OS), Arch: text(c.Arch), Protocol: text(c.Protocol),
		Username: text(c.Username), Password: text(c.Password),
		UseStaticCredentials: wrapperspb.Bool(c.UseStaticCredentials),
		KeepaliveMs:          wrapperspb.Int64(c.Keepalive.Milliseconds()),
		TimeoutMs:            wrapperspb.Int64(c.Timeout.Milliseconds()),
	}
	if c.Key != "" {
		wrapped.Key = wrapperspb.Bytes([]byte(c.Key))
	}
	if c.ProtocolPort != 0 {
		wrapped.ProtocolPort = wrapperspb.UInt32(uint32(c.ProtocolPort))
	}
	return wrapped
}

func connected(c *Connector) logical.Connector {
	return logical.Connector{
		OS: c.GetOs().GetValue(), Arch: c.GetArch().GetValue(),
		Protocol:             c.GetProtocol().GetValue(),
		ProtocolPort:         int(c.GetProtocolPort().GetValue()),
		Username:             c.GetUsername().GetValue(),
		Password:             c.GetPassword().GetValue(),
		Key:                  string(c.GetKey().GetValue()),
		UseStaticCredentials: c.GetUseStaticCredentials().GetValue(),
		Keepalive:            time.Duration(c.GetKeepaliveMs().GetValue()) * time.Millisecond,
		Timeout:              time.Duration(c.GetTimeoutMs().GetValue()) * time.Millisecond,
	}
}

func (c client) Init(
	ctx context.Context, config []byte, settings logical.Connector,
) (logical.Info, error) {
	reply, err := c.stub.Init(ctx, &InitRequest{
		Config: wrapperspb.Bytes(config), Connector: connector(settings),
	})
	return logical.Info{
		ID: reply.GetId().GetValue(), MaxSize: int(reply.GetMaxSize().GetValue()),
		Version: reply.GetVersion().GetValue(), Capabilities: bare(reply.GetCapabilities()),
	}, err
}

func (c client) Update(ctx context.Context) ([]logical.Instance, error) {
	stream, err := c.stub.Update(ctx, &UpdateRequest{Refresh: true})
	if err != nil {
		return nil, err
	}
	var found []logical.Instance
	for {
		reply, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return found, nil
		}
		if err != nil {
			return nil, err
		}
		for _, one := range reply.GetInstances() {
			state := one.GetStatus().GetState()
			found = append(found, logical.Instance{
				ID: one.GetId().GetValue(), State: states.Told(state, state.String()),
			})
		}
	}
}

func (c client) Increase(ctx context.Context, count int) (int, error) {
	reply, err := c.stub.Increase(ctx, &IncreaseRequest{Count: wrapperspb.Int32(int32(count))})
	if err == nil && reply.GetSucceeded() == nil {
		err = errors.New("the plugin left the number out")
	}
	return int(reply.GetSucceeded().GetValue()), err
}

func (c client) Decrease(ctx context.Context, ids []string) ([]string, error) {
	reply, err := c.stub.Decrease(ctx, &DecreaseRequest{InstanceIds: texts(ids)})
	return bare(reply.GetSucceeded()), err
}

func (c client) Suspend(ctx context.Context, ids []string) ([]string, error) {
	reply, err := c.stub.Suspend(ctx, &SuspendRequest{InstanceIds: ids})
	return reply.GetSucceeded(), err
}

func (c client) Resume(ctx context.Context, ids []string) ([]string, error) {
	reply, err := c.stub.Resume(ctx, &ResumeRequest{InstanceIds: ids})
	return reply.GetSucceeded(), err
}

func (c client) ConnectInfo(ctx context.Context, id string) (logical.ConnectInfo, error) {
	reply, err := c.stub.ConnectInfo(ctx, &ConnectRequest{InstanceId: wrapperspb.String(id)})
	said := logical.ConnectInfo{
		Connector: connected(reply.GetConnector()),
		ID:        reply.GetId().GetValue(),
		External:  reply.GetPublicAddress().GetValue(),
		Internal:  reply.GetPrivateAddress().GetValue(),
	}
	if at := reply.GetExpiresAtUnixMs(); at != nil {
		said.Expires = time.UnixMilli(at.GetValue()).UTC()
	}
	return said, err
}

func (c client) Heartbeat(ctx context.Context, id string) error {
	reply, err := c.stub.Heartbeat(ctx, &HeartbeatRequest{InstanceId: wrapperspb.String(id)})
	if err == nil && !reply.GetOk().GetValue() {
		err = errors.New("told not to be well")
	}
	return err
}

func (c client) Shutdown(ctx context.Context) error {
	_, err := c.stub.Shutdown(ctx, &ShutdownRequest{})
	return err
}
