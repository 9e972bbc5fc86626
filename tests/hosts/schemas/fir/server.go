package fir

import (
	"context"

	"google.golang.org/grpc"

	"hostler.test/hosts/logical"
)

type server struct {
	UnimplementedPluginServer
	group logical.Plugin
}

// Serve answers this schema from a group.
func Serve(s *grpc.Server, group logical.Plugin) { RegisterPluginServer(s, server{group: group}) }

func (s server) Init(ctx context.Context, r *InitRequest) (*InitReply, error) {
	info, err := s.group.Init(ctx, r.GetConfig(), logical.Connector{
		OS: r.GetOs(), Arch: r.GetArch(), Protocol: r.GetProtocol(), Username: r.GetUsername(),
		Password: r.GetPassword(), Key: string(r.GetKey()),
		UseStaticCredentials: r.GetUseStaticCredentials(),
	})
	return &InitReply{Id: info.ID, MaxSize: int32(info.MaxSize), Version: info.Version}, err
}

func (s server) Update(ctx context.Context, _ *Empty) (*UpdateReply, error) {
	found, err := s.group.Update(ctx)
	reply := &UpdateReply{Instances: map[string]string{}}
	for _, one := range found {
		reply.Instances[one.ID] = one.State
	}
	return reply, err
}

func (s server) Increase(ctx context.Context, r *IncreaseRequest) (*IncreaseReply, error) {
	done, err := s.group.Increase(ctx, int(r.GetCount()))
	return &IncreaseReply{Granted: int32(done)}, err
}

func (s server) Decrease(ctx context.Context, r *DecreaseRequest) (*DecreaseReply, error) {
	done, err := s.group.Decrease(ctx, r.GetIds())
	return &DecreaseReply{Failed: without(r.GetIds(), done)}, err
}

func (s server) ConnectInfo(ctx context.Context, r *Instance) (*ConnectReply, error) {
	info, err := s.group.ConnectInfo(ctx, r.GetId())
	return &ConnectReply{
		Id: info.ID, Os: info.OS, Arch: info.Arch, Protocol: info.Protocol,
		Username: info.Username, Password: info.Password, Key: []byte(info.Key),
		ExternalAddr: info.External, InternalAddr: info.Internal,
	}, err
}

func (s server) Heartbeat(ctx context.Context, r *Instance) (*Empty, error) {
	return &Empty{}, s.group.Heartbeat(ctx, r.GetId())
}

func (s server) Shutdown(ctx context.Context, _ *Empty) (*Empty, error) {
	return &Empty{}, s.group.Shutdown(ctx)
}
