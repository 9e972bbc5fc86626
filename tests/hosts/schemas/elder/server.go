package elder

import (
	"context"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"hostler.test/hosts/logical"
)

type server struct {
	UnimplementedKeeperServer
	group logical.Plugin
}

// Serve answers this schema from a group.
func Serve(s *grpc.Server, group logical.Plugin) { RegisterKeeperServer(s, server{group: group}) }

func (s server) Init(ctx context.Context, r *InitParams) (*InitResult, error) {
	settings, err := connected(r.GetConnection())
	if err != nil {
		return nil, err
	}
	config, err := r.GetPluginConfig().MarshalJSON()
	if err != nil {
		return nil, err
	}
	info, err := s.group.Init(ctx, config, settings)
	return &InitResult{Provider: &InitResult_Provider{
		Id: info.ID, MaxSize: int32(info.MaxSize), Version: info.Version,
		BuildInfo: info.BuildInfo, Capabilities: info.Capabilities,
	}}, err
}

func (s server) Update(ctx context.Context, _ *emptypb.Empty) (*Census, error) {
	found, err := s.group.Update(ctx)
	census := &Census{Instances: map[string]*Entry{}}
	for _, one := range found {
		if state, ok := states.Said(one.State); ok {
			census.Instances[one.ID] = &Entry{State: state}
		}
	}
	return census, err
}

func (s server) Increase(
	ctx context.Context, r *wrapperspb.Int32Value,
) (*wrapperspb.Int32Value, error) {
	done, err := s.group.Increase(ctx, int(r.GetValue()))
	return wrapperspb.Int32(int32(done)), err
}

func (s server) Decrease(ctx context.Context, r *Instances) (*Accepted, error) {
	done, err := s.group.Decrease(ctx, r.GetIds())
	return &Accepted{Accepted: done}, err
}

func (s server) Suspend(ctx context.Context, r *Instances) (*Accepted, error) {
	done, err := s.group.Suspend(ctx, r.GetIds())
	return &Accepted{Accepted: done}, err
}

func (s server) Resume(ctx context.Context, r *Instances) (*Accepted, error) {
	done, err := s.group.Resume(ctx, r.GetIds())
	return &Accepted{Accepted: done}, err
}

func (s server) ConnectInfo(
	ctx context.Context, r *wrapperspb.StringValue,
) (*ConnectInfoResult, error) {
	info, err := s.group.ConnectInfo(ctx, r.GetValue())
	return &ConnectInfoResult{Info: &ConnectInfoResult_Info{
		InstanceId: info.ID, Connection: connection(info.Connector),
		Network: &ConnectInfoResult_Network{
			ExternalAddress: info.External, InternalAddress: info.Internal,
		},
		ExpiresUnixNs: info.Expires.UnixNano(),
	}}, err
}

func (s server) Heartbeat(
	ctx context.Context, r *wrapperspb.StringValue,
) (*emptypb.Empty, error) {
	return &emptypb.Empty{}, s.group.Heartbeat(ctx, r.GetValue())
}

func (s server) Shutdown(ctx context.Context, _ *emptypb.Empty) (*emptypb.Empty, error) {
	return &emptypb.Empty{}, s.group.Shutdown(ctx)
}
