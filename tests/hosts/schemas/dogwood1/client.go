package dogwood1

import (
	"context"

	"google.golang.org/grpc"

	"hostler.test/hosts/logical"
)

type client struct{ stub PluginClient }

// Client calls a plugin in the first version of this schema.
func Client(conn *grpc.ClientConn) logical.Plugin { return client{NewPluginClient(conn)} }

func (c client) Init(
	ctx context.Context, config []byte, s logical.Connector,
) (logical.Info, error) {
	reply, err := c.stub.Init(ctx, &InitRequest{
		Config: config, Os: s.OS, Arch: s.Arch, Protocol: s.Protocol, Username: s.Username,
		Password: s.Password, Key: []byte(s.Key), UseStaticCredentials: s.UseStaticCredentials,
	})
	return logical.Info{
		ID: reply.GetId(), MaxSize: int(reply.GetMaxSize()), Version: reply.GetVersion(),
	}, err
}

func (c client) Update(ctx context.Context) ([]logical.Instance, error) {
	reply, err := c.stub.Update(ctx, &Nothing{})
	var found []logical.Instance
	for id, state := range reply.GetInstances() {
		found = append(found, logical.Instance{ID: id, State: state})
	}
	return found, err
}

func (c client) Increase(ctx context.Context, count int) (int, error) {
	reply, err := c.stub.Increase(ctx, &IncreaseRequest{Count: int32(count)})
	return int(reply.GetSucceeded()), err
}

func (c client) Decrease(ctx context.Context, ids []string) ([]string, error) {
	reply, err := c.stub.Decrease(ctx, &Instances{Instances: ids})
	return reply.GetInstances(), err
}

func (c client) Suspend(context.Context, []string) ([]string, error) {
	return nil, logical.ErrAbsent
}

func (c client) Resume(context.Context, []string) ([]string, error) {
	return nil, logical.ErrAbsent
}

func (c client) ConnectInfo(ctx context.Context, id string) (logical.ConnectInfo, error) {
	r, err := c.stub.ConnectInfo(ctx, &Instance{Id: id})
	return logical.ConnectInfo{
		Connector: logical.Connector{
			OS: r.GetOs(), Arch: r.GetArch(), Protocol: r.GetProtocol(),
			Username: r.GetUsername(), Password: r.GetPassword(), Key: string(r.GetKey()),
		},
		ID: r.GetId(), External: r.GetExternalAddr(), Internal: r.GetInternalAddr(),
	}, err
}

func (c client) Heartbeat(ctx context.Context, id string) error {
	_, err := c.stub.Heartbeat(ctx, &Instance{Id: id})
	return err
}

func (c client) Shutdown(ctx context.Context) error {
	_, err := c.stub.Shutdown(ctx, &Nothing{})
	return err
}
