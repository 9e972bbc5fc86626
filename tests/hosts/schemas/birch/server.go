package birch

import (
	"context"
	"time"

	"google.golang.org/grpc"

	"hostler.test/hosts/logical"
)

type server struct {
	UnimplementedFleetServer
	group logical.Plugin
}

// Serve answers this schema from a group.
func Serve(s *grpc.Server, group logical.Plugin) { RegisterFleetServer(s, server{group: group}) }

func (s server) Init(ctx context.Context, r *Beginning) (*Begun, error) {
	info, err := s.group.Init(ctx, []byte(r.GetConfigJson()), logical.Connector{
		OS: r.GetOs(), Arch: r.GetArch(), Protocol: r.GetProto(),
		ProtocolPort: int(r.GetPort()), Username: r.GetUsername(),
		Password: r.GetPassword(), Key: r.GetPrivateKey(),
		UseStaticCredentials: r.GetUseStaticCredentials(),
		Keepalive:            time.Duration(r.GetKeepaliveNs()),
		Timeout:              time.Duration(r.GetTimeoutNs()),
	})
	return &Begun{
		Version: info.Version, MaxInstances: int32(info.MaxSize),
		Build: info.BuildInfo, GroupId: info.ID,
	}, err
}

func (s server) Update(ctx context.Context, _ *Void) (*Listing, error) {
	found, err := s.group.Update(ctx)
	listing := &Listing{Total: uint64(len(found))}
	for _, one := range found {
		listing.Items = append(listing.Items, &Machine{Id: one.ID, State: one.State})
	}
	return listing, err
}

func (s server) Increase(ctx context.Context, r *More) (*MoreDone, error) {
	done, err := s.group.Increase(ctx, int(r.GetN()))
	return &MoreDone{N: uint32(done)}, err
}

func (s server) Decrease(ctx context.Context, r *Fewer) (*FewerDone, error) {
	done, err := s.group.Decrease(ctx, r.GetIds())
	return &FewerDone{Ids: done}, err
}

func (s server) ConnectInfo(ctx context.Context, r *Which) (*Door, error) {
	info, err := s.group.ConnectInfo(ctx, r.GetId())
	return &Door{
		InternalIp: info.Internal, ExternalIp: info.External, ExpiresAtUnix: info.Expires.Unix(),
		Id: info.ID, Os: info.OS, Arch: info.Arch, Proto: info.Protocol,
		KeepaliveNs: int64(info.Keepalive), TimeoutNs: int64(info.Timeout),
		UseStaticCredentials: info.UseStaticCredentials, Port: uint32(info.ProtocolPort),
		Username: info.Username, Password: info.Password, PrivateKey: info.Key,
	}, err
}

func (s server) Heartbeat(ctx context.Context, r *Which) (*Void, error) {
	return &Void{}, s.group.Heartbeat(ctx, r.GetId())
}

func (s server) Shutdown(ctx context.Context, _ *Void) (*Void, error) {
	return &Void{}, s.group.Shutdown(ctx)
}
