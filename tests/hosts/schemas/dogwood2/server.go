package dogwood2

import (
	"context"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"hostler.test/hosts/logical"
)

type server struct {
	UnimplementedPluginServer
	group logical.Plugin
}

// Serve answers this schema from a group; its first version is not served.
func Serve(s *grpc.Server, group logical.Plugin) { RegisterPluginServer(s, server{group: group}) }

func (s server) Init(ctx context.Context, r *InitRequest) (*InitReply, error) {
	info, err := s.group.Init(ctx, r.GetConfig().GetValue(), connected(r.GetConnector()))
	return &InitReply{
		Id: text(info.ID), MaxSize: wrapperspb.Int64(int64(info.MaxSize)),
		Version: text(info.Version), Capabilities: texts(info.Capabilities),
	}, err
}

func (s server) Update(_ *UpdateRequest, stream grpc.ServerStreamingServer[UpdateReply]) error {
	found, err := s.group.Update(stream.Context())
	if err != nil {
		return err
	}
	reply := &UpdateReply{}
	for _, one := range found {
		if state, ok := states.Said(one.State); ok {
			reply.Instances = append(reply.Instances, &Entry{
				Id: text(one.ID), Status: &Condition{State: state},
			})
		}
	}
	return stream.Send(reply)
}

func (s server) Increase(ctx context.Context, r *IncreaseRequest) (*IncreaseReply, error) {
	done, err := s.group.Increase(ctx, int(r.GetCount().GetValue()))
	return &IncreaseReply{Succeeded: wrapperspb.Int32(int32(done))}, err
}

func (s server) Decrease(ctx context.Context, r *DecreaseRequest) (*DecreaseReply, error) {
	done, err := s.group.Decrease(ctx, bare(r.GetInstanceIds()))
	return &DecreaseReply{Succeeded: texts(done)}, err
}

func (s server) Suspend(ctx context.Context, r *SuspendRequest) (*SuspendReply, error) {
	done, err := s.group.Suspend(ctx, r.GetInstanceIds())
	return &SuspendReply{Succeeded: done}, err
}

func (s server) Resume(ctx context.Context, r *ResumeRequest) (*ResumeReply, error) {
	done, err := s.group.Resume(ctx, r.GetInstanceIds())
	return &ResumeReply{Succeeded: done}, err
}

func (s server) ConnectInfo(ctx context.Context, r *ConnectRequest) (*ConnectReply, error) {
	info, err := s.group.ConnectInfo(ctx, r.GetInstanceId().GetValue())
	return &ConnectReply{
		Id: text(info.ID), Connector: connector(info.Connector),
		PublicAddress: text(info.External), PrivateAddress: text(info.Internal),
		ExpiresAtUnixMs: wrapperspb.Int64(info.Expires.UnixMilli()),
	}, err
}

func (s server) Heartbeat(ctx context.Context, r *HeartbeatRequest) (*HeartbeatReply, error) {
	err := s.group.Heartbeat(ctx, r.GetInstanceId().GetValue())
	return &HeartbeatReply{Ok: wrapperspb.Bool(err == nil)}, err
}

func (s server) Shutdown(ctx context.Context, _ *ShutdownRequest) (*ShutdownReply, error) {
	return &ShutdownReply{}, s.group.Shutdown(ctx)
}
