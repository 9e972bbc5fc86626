package cedar

import (
	"context"
	"errors"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/emptypb"

	"hostler.test/hosts/logical"
	"hostler.test/hosts/schemas/cedarkinds"
)

var states = logical.States[Mode]{
	Mode_CREATING: logical.Creating,
	Mode_RUNNING:  logical.Running,
	Mode_DELETING: logical.Deleting,
}

var protocols = map[string]cedarkinds.Protocol{
	"ssh":         cedarkinds.Protocol_SSH,
	"winrm":       cedarkinds.Protocol_WINRM,
	"winrm+https": cedarkinds.Protocol_WINRM_HTTPS,
}

type client struct{ stub WardenClient }

// Client calls a plugin in this schema, at the Warden; the Depot is never called.
func Client(conn *grpc.ClientConn) logical.Plugin { return client{NewWardenClient(conn)} }

func connector(c logical.Connector) *cedarkinds.Connector {
	return &cedarkinds.Connector{
		Arch: c.Arch, Os: c.OS, Key: []byte(c.Key), Password: c.Password, UserName: c.Username,
		Protocol: protocols[c.Protocol], ProtocolPort: int32(c.ProtocolPort),
		UseStaticCredentials: c.UseStaticCredentials,
		Keepalive:            c.Keepalive.String(), TimeoutSeconds: c.Timeout.Seconds(),
	}
}

func connected(c *cedarkinds.Connector) (logical.Connector, error) {
	said := logical.Connector{
		OS: c.GetOs(), Arch: c.GetArch(), ProtocolPort: int(c.GetProtocolPort()),
		Username: c.GetUserName(), Password: c.GetPassword(), Key: string(c.GetKey()),
		UseStaticCredentials: c.GetUseStaticCredentials(),
		Timeout:              time.Duration(c.GetTimeoutSeconds() * float64(time.Second)),
	}
	for name, value := range protocols {
		if value == c.GetProtocol() {
			said.Protocol = name
		}
	}
	var err error
	if c.GetKeepalive() != "" {
		said.Keepalive, err = time.ParseDuration(c.GetKeepalive())
	}
	return said, err
}

func (c client) Init(
	ctx context.Context, config []byte, settings logical.Connector,
) (logical.Info, error) {
	reply, err := c.stub.Init(ctx, &Start{Connector: connector(settings), Config: config})
	return logical.Info{
		ID: reply.GetProviderId(), MaxSize: int(reply.GetMaxSize()), Version: reply.GetVersion(),
	}, err
}

func (c client) Update(ctx context.Context) ([]logical.Instance, error) {
	reply, err := c.stub.Update(ctx, &emptypb.Empty{})
	var found []logical.Instance
	for id, mode := range reply.GetInstances() {
		found = append(found, logical.Instance{ID: id, State: states.Told(mode, mode.String())})
	}
	return found, err
}

func (c client) Increase(ctx context.Context, count int) (int, error) {
	reply, err := c.stub.Increase(ctx, &Grow{Delta: int32(count)})
	if err == nil && reply.GetNum() == nil {
		err = errors.New("the plugin left the number out")
	}
	return int(reply.GetNum().GetValue()), err
}

func (c client) Decrease(ctx context.Context, ids []string) ([]string, error) {
	request := &Shrink{}
	for _, id := range ids {
		request.Instances = append(request.Instances, &Ref{Id: id})
	}
	reply, err := c.stub.Decrease(ctx, request)
	var done []string
	for _, one := range reply.GetSucceeded() {
		done = append(done, one.GetId())
	}
	for _, one := range reply.GetFailed() {
		return done, errors.New("told to have failed: " + one.GetId())
	}
	return done, err
}

func (c client) Suspend(context.Context, []string) ([]string, error) {
	return nil, logical.ErrAbsent
}

func (c client) Resume(context.Context, []string) ([]string, error) {
	return nil, logical.ErrAbsent
}

func (c client) ConnectInfo(ctx context.Context, id string) (logical.ConnectInfo, error) {
	reply, err := c.stub.ConnectInfo(ctx, &Ref{Id: id})
	if err != nil {
		return logical.ConnectInfo{}, err
	}
	said := logical.ConnectInfo{
		ID:       reply.GetId(),
		External: reply.GetAddresses().GetExternal(), Internal: reply.GetAddresses().GetInternal(),
	}
	if reply.Expires != nil {
		if said.Expires, err = time.Parse(time.RFC3339, reply.GetExpires()); err != nil {
			return said, err
		}
	}
	said.Connector, err = connected(reply.GetConnector())
	return said, err
}

func (c client) Heartbeat(ctx context.Context, id string) error {
	reply, err := c.stub.Heartbeat(ctx, &Ref{Id: id})
	if err == nil && !reply.GetHealthy() {
		err = errors.New("told not to be healthy")
	}
	return err
}

func (c client) Shutdown(ctx context.Context) error {
	_, err := c.stub.Shutdown(ctx, &emptypb.Empty{})
	return err
}
