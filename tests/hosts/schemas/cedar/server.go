package cedar

import (
	"context"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"hostler.test/hosts/logical"
)

type server struct {
	UnimplementedWardenServer
	group logical.Plugin
}

// Serve answers this schema from a group; the Depot is not served.
func Serve(s *grpc.Server, group logical.Plugin) { RegisterWardenServer(s, server{group: group}) }

func (s server) Init(ctx context.Context, r *Start) (*Started, error) {
	settings, err := connected(r.GetConnector())
	if err != nil {
		return nil, err
	}
	info, err := s.group.Init(ctx, r.GetConfig(), settings)
	return &Started{
		MaxSize: int64(info.MaxSize), ProviderId: info.ID, Version: info.Version,
	}, err
}

func (s server) Update(ctx context.Context, _ *emptypb.Empty) (*Snapshot, error) {
	found, err := s.group.Update(ctx)
	snapshot := &Snapshot{Instances: map[string]Mode{}}
	for _, one := range found {
		if mode, ok := states.Said(one.State); ok {
			snapshot.Instances[one.ID] = mode
		}
	}
	return snapshot, err
}

func (s server) Increase(ctx context.Context, r *Grow) (*Grown, error) {
	done, err := s.group.Increase(ctx, int(r.GetDelta()))
	return &Grown{Num: wrapperspb.Int64(int64(done))}, err
}

func (s server) Decrease(ctx context.Context, r *Shrink) (*Shrunk, error) {
	var ids []string
	for _, one := range r.GetInstances() {
		ids = append(ids, one.GetId())
	}
	done, err := s.group.Decrease(ctx, ids)
	shrunk := &Shrunk{}
	for _, id := range done {
		shrunk.Succeeded = append(shrunk.Succeeded, &Ref{Id: id})
	}
	return shrunk, err
}

func (s server) ConnectInfo(ctx context.Context, r *Ref) (*Reach, error) {
	info, err := s.group.ConnectInfo(ctx, r.GetId())
	expires := info.Expires.Format(time.RFC3339)
	return &Reach{
		Id: info.ID, Addresses: &Addresses{Internal: info.Internal, External: info.External},
		Connector: connector(info.Connector), Expires: &expires,
	}, err
}

func (s server) Heartbeat(ctx context.Context, r *Ref) (*Pulse, error) {
	err := s.group.Heartbeat(ctx, r.GetId())
	return &Pulse{Healthy: err == nil}, err
}

func (s server) Shutdown(ctx context.Context, _ *emptypb.Empty) (*emptypb.Empty, error) {
	return &emptypb.Empty{}, s.group.Shutdown(ctx)
}
