package birch

import (
	"context"
	"time"

	"google.golang.org/grpc"

	"hostler.test/hosts/logical"
)

type client struct{ stub FleetClient }

// Client calls a plugin in this schema.
func Client(conn *grpc.ClientConn) logical.Plugin { return client{NewFleetClient(conn)} }

func (c client) Init(
	ctx context.Context, config []byte, s logical.Connector,
) (logical.Info, error) {
	reply, err := c.stub.Init(ctx, &Beginning{
		Username: s.Username, Password: s.Password, PrivateKey: s.Key,
		ConfigJson: string(config), Os: s.OS, Arch: s.Arch, Proto: s.Protocol,
		KeepaliveNs: int64(s.Keepalive), TimeoutNs: int64(s.Timeout),
		UseStaticCredentials: s.UseStaticCredentials, Port: uint32(s.ProtocolPort),
	})
	return logical.Info{
		ID: reply.GetGroupId(), MaxSize: int(reply.GetMaxInstances()),
		Version: reply.GetVersion(), BuildInfo: reply.GetBuild(),
	}, err
}

func (c client) Update(ctx context.Context) ([]logical.Instance, error) {
	reply, err := c.stub.Update(ctx, &Void{})
	var found []logical.Instance
	for _, one := range reply.GetItems() {
		found = append(found, logical.Instance{ID: one.GetId(), State: one.GetState()})
	}
	return found, err
}

func (c client) Increase(ctx context.Context, count int) (int, error) {
	reply, err := c.stub.Increase(ctx, &More{N: uint32(count)})
	return int(reply.GetN()), err
}

func (c client) Decrease(ctx context.Context, ids []string) ([]string, error) {
	reply, err := c.stub.Decrease(ctx, &Fewer{Ids: ids})
	return reply.GetIds(), err
}

func (c client) Suspend(context.Context, []string) ([]string, error) {
	return nil, logical.ErrAbsent
}

func (c client) Resume(context.Context, []string) ([]string, error) {
	return nil, logical.ErrAbsent
}

func (c client) ConnectInfo(ctx context.Context, id string) (logical.ConnectInfo, error) {
	door, err := c.stub.ConnectInfo(ctx, &Which{Id: id})
	said := logical.ConnectInfo{
		Connector: logical.Connector{
			OS: door.GetOs(), Arch: door.GetArch(), Protocol: door.GetProto(),
			ProtocolPort: int(door.GetPort()), Username: door.GetUsername(),
			Password: door.GetPassword(), Key: door.GetPrivateKey(),
			UseStaticCredentials: door.GetUseStaticCredentials(),
			Keepalive:            time.Duration(door.GetKeepaliveNs()),
			Timeout:              time.Duration(door.GetTimeoutNs()),
		},
		ID: door.GetId(), External: door.GetExternalIp(), Internal: door.GetInternalIp(),
	}
	if at := door.GetExpiresAtUnix(); at != 0 {
		said.Expires = time.Unix(at, 0).UTC()
	}
	return said, err
}

func (c client) Heartbeat(ctx context.Context, id string) error {
	_, err := c.stub.Heartbeat(ctx, &Which{Id: id})
	return err
}

func (c client) Shutdown(ctx context.Context) error {
	_, err := c.stub.Shutdown(ctx, &Void{})
	return err
}
