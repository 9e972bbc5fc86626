package alder

import (
	"context"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/timestamppb"

	"hostler.test/hosts/logical"
)

type server struct {
	UnimplementedGroupProviderServer
	group logical.Plugin
}

// Serve answers this schema from a group.
func Serve(s *grpc.Server, group logical.Plugin) {
	RegisterGroupProviderServer(s, server{group: group})
}

func (s server) Init(ctx context.Context, r *InitRequest) (*InitResponse, error) {
	info, err := s.group.Init(ctx, r.GetConfig(), connected(r.GetSettings().GetConnectorConfig()))
	return &InitResponse{ProviderInfo: &ProviderInfo{
		Id: info.ID, MaxSize: int64(info.MaxSize), Version: info.Version,
		BuildInfo: info.BuildInfo, Capabilities: info.Capabilities,
	}}, err
}

func (s server) Update(_ *UpdateRequest, stream grpc.ServerStreamingServer[UpdateResponse]) error {
	found, err := s.group.Update(stream.Context())
	if err != nil {
		return err
	}
	for _, one := range found {
		state, _ := states.Said(one.State)
		if err := stream.Send(&UpdateResponse{Instance: one.ID, State: state}); err != nil {
			return err
		}
	}
	return nil
}

func (s server) Increase(ctx context.Context, r *IncreaseRequest) (*IncreaseResponse, error) {
	done, err := s.group.Increase(ctx, int(r.GetN()))
	return &IncreaseResponse{Succeeded: int64(done)}, err
}

func (s server) Decrease(ctx context.Context, r *DecreaseRequest) (*DecreaseResponse, error) {
	done, err := s.group.Decrease(ctx, r.GetInstances())
	return &DecreaseResponse{Succeeded: done}, err
}

func (s server) Suspend(ctx context.Context, r *SuspendRequest) (*SuspendResponse, error) {
	done, err := s.group.Suspend(ctx, r.GetInstances())
	return &SuspendResponse{Succeeded: done}, err
}

func (s server) Resume(ctx context.Context, r *ResumeRequest) (*ResumeResponse, error) {
	done, err := s.group.Resume(ctx, r.GetInstances())
	return &ResumeResponse{Succeeded: done}, err
}

func (s server) ConnectInfo(
	ctx context.Context, r *ConnectInfoRequest,
) (*ConnectInfoResponse, error) {
	info, err := s.group.ConnectInfo(ctx, r.GetInstance())
	return &ConnectInfoResponse{ConnectInfo: &ConnectInfo{
		ConnectorConfig: connector(info.Connector),
		Id:              info.ID, ExternalAddr: info.External, InternalAddr: info.Internal,
		Expires: timestamppb.New(info.Expires),
	}}, err
}

func (s server) Heartbeat(ctx context.Context, r *HeartbeatRequest) (*HeartbeatResponse, error) {
	return &HeartbeatResponse{}, s.group.Heartbeat(ctx, r.GetInstance())
}

func (s server) Shutdown(ctx context.Context, _ *ShutdownRequest) (*ShutdownResponse, error) {
	return &ShutdownResponse{}, s.group.Shutdown(ctx)
}
