package host

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"
)

// Bench says what to measure: so many Update calls over so many instances, after one Increase.
type Bench struct {
	Instances int `json:"instances"`
	Updates   int `json:"updates"`
	Increase  int `json:"increase"`
}

// Measured is what one plugin's life took, in milliseconds and KiB; RSS is of the launched process.
type Measured struct {
	Ping      float64 `json:"ping_ms"`
	Init      float64 `json:"init_ms"`
	RSS       int     `json:"rss_kib"`
	Instances int     `json:"instances"`
	First     float64 `json:"update_first_ms"`
	Median    float64 `json:"update_median_ms"`
	Worst     float64 `json:"update_worst_ms"`
	Increase  float64 `json:"increase_ms"`
	Increased int     `json:"increased"`
	Kill      float64 `json:"kill_ms"`
}

// bench lives one life of a plugin and measures it. Ping and Init count from the launch.
func bench(schema Schema, order Order, logger hclog.Logger) (measured Measured, err error) {
	logger = hclog.New(&hclog.LoggerOptions{
		Name: schema.Name, Level: hclog.Warn, Output: os.Stderr, JSONFormat: true,
	})
	begun := time.Now()
	plugin, err := start(schema, order.Launch, logger)
	if err != nil {
		return measured, err
	}
	defer func() {
		begun := time.Now()
		plugin.client.Kill()
		measured.Kill = since(begun)
	}()
	if err := plugin.wire.Ping(); err != nil {
		return measured, err
	}
	measured.Ping = since(begun)
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	if _, err := plugin.calls.Init(ctx, order.Config, order.Settings); err != nil {
		return measured, err
	}
	measured.Init = since(begun)
	if measured.RSS, err = rss(plugin.command.Process.Pid); err != nil {
		return measured, err
	}
	return measured, measured.calls(ctx, plugin, order.Bench)
}

func (m *Measured) calls(ctx context.Context, plugin *started, wanted Bench) error {
	found, err := filled(ctx, plugin, wanted.Instances)
	if err != nil {
		return err
	}
	m.Instances = found
	var took []float64
	for range wanted.Updates {
		begun := time.Now()
		if _, err := plugin.calls.Update(ctx); err != nil {
			return err
		}
		took = append(took, since(begun))
	}
	if len(took) > 0 {
		m.First = took[0]
		slices.Sort(took)
		m.Median, m.Worst = took[len(took)/2], took[len(took)-1]
	}
	if wanted.Increase > 0 {
		begun := time.Now()
		m.Increased, err = plugin.calls.Increase(ctx, wanted.Increase)
		m.Increase = since(begun)
	}
	return err
}

// filled asks for instances until Update tells of as many as wanted.
func filled(ctx context.Context, plugin *started, wanted int) (int, error) {
	found, err := plugin.calls.Update(ctx)
	if err != nil || len(found) >= wanted {
		return len(found), err
	}
	if _, err := plugin.calls.Increase(ctx, wanted-len(found)); err != nil {
		return len(found), err
	}
	for len(found) < wanted {
		select {
		case <-ctx.Done():
			return len(found), fmt.Errorf("%d instances of %d: %w", len(found), wanted, ctx.Err())
		case <-time.After(50 * time.Millisecond):
		}
		if found, err = plugin.calls.Update(ctx); err != nil {
			return len(found), err
		}
	}
	return len(found), nil
}

func rss(pid int) (int, error) {
	file, err := os.Open(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	defer file.Close()
	for lines := bufio.NewScanner(file); lines.Scan(); {
		if fields := strings.Fields(lines.Text()); len(fields) > 1 && fields[0] == "VmRSS:" {
			return strconv.Atoi(fields[1])
		}
	}
	return 0, fmt.Errorf("process %d has no VmRSS", pid)
}
