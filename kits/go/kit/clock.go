// The clock's own facts. A service is timed by who asks it, so a kit of services reads its clock for nothing else.

package kit

import (
	"math"
	"time"
)

type clock struct {
	Name         string  `json:"name"`
	CostNs       float64 `json:"cost_ns"`
	ResolutionNs int64   `json:"resolution_ns"`
}

// measureClock says what a reading costs, and the smallest step that was seen.
func measureClock() clock {
	const rounds, readings = 20, 1000
	cost, step := math.Inf(1), time.Duration(math.MaxInt64)
	for range rounds {
		start := time.Now()
		last := time.Duration(0)
		for range readings {
			now := time.Since(start)
			if now > last {
				step = min(step, now-last)
			}
			last = now
		}
		cost = min(cost, float64(last)/readings)
	}
	return clock{"time.Now (CLOCK_MONOTONIC)", cost, step.Nanoseconds()}
}
