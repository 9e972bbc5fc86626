package host

import (
	"context"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"hostler.test/hosts/logical"
)

// Storm is what came of many calls at once: how many were answered, how many were cut off by us,
// and every other error with how often it came.
type Storm struct {
	Answered int            `json:"answered"`
	Cut      int            `json:"cut"`
	Errors   map[string]int `json:"errors"`
}

// storm lets so many callers at one plugin, about one instance, until the context ends. Every third
// call is given too little time, so that it is cancelled on its way or in the midst.
func storm(ctx context.Context, calls logical.Plugin, callers int, id string) Storm {
	all := Storm{Errors: map[string]int{}}
	var mutex sync.Mutex
	var group sync.WaitGroup
	for caller := range callers {
		group.Go(func() {
			for turn := 0; ctx.Err() == nil; turn++ {
				err := blow(calls, caller+turn, id)
				mutex.Lock()
				all.note(err)
				mutex.Unlock()
			}
		})
	}
	group.Wait()
	return all
}

func blow(calls logical.Plugin, turn int, id string) error {
	within := ordinary
	if turn%3 == 0 {
		within = time.Duration(turn%7) * 300 * time.Microsecond
	}
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	switch turn % 4 {
	case 0:
		return calls.Heartbeat(ctx, id)
	case 1:
		_, err := calls.ConnectInfo(ctx, id)
		return err
	default:
		_, err := calls.Update(ctx)
		return err
	}
}

func (s *Storm) note(err error) {
	switch code := status.Code(err); {
	case err == nil:
		s.Answered++
	case code == codes.DeadlineExceeded || code == codes.Canceled:
		s.Cut++
	default:
		s.Errors[err.Error()]++
	}
}
