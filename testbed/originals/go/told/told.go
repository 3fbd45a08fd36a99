// Package told replaces the package time in originals, so that a test can set their clock. scripts/originals compiles them with
// this import in place of `time`, and changes nothing else in them.
package told

import (
	"time"
	"unsafe"
)

type (
	Time     = time.Time
	Duration = time.Duration
)

var (
	UTC  = time.UTC
	Date = time.Date
	Unix = time.Unix
)

// After this many looks at the clock in one call, the original waits for it in a loop. Then the clock advances by a
// millisecond with each look.
const patience = 4

var (
	wall, mono int64 // milliseconds
	looks      int
	during     int64
)

// Set sets the wall clock.
func Set(millis int64) { wall = millis }

// Step moves only the wall clock.
func Step(millis int64) { wall += millis }

// Pass moves both clocks.
func Pass(millis int64) { wall, mono = wall+millis, mono+millis }

// During moves the wall clock while the original next waits.
func During(millis int64) { during = millis }

// Call begins a call of the original.
func Call() { looks = 0 }

// Wall is the wall clock in milliseconds since 1970.
func Wall() int64 { return wall }

func waits(millis int64) {
	wall, during = wall+during, 0
	Pass(millis)
}

// Now returns what the system's Now makes of these clocks: with a reading of the monotonic one,
// as long as that fits.
func Now() Time {
	if looks++; looks > patience {
		waits(1)
	}
	now := time.Now()
	inside := (*struct {
		wall uint64
		ext  int64
		loc  *time.Location
	})(unsafe.Pointer(&now))
	const hasMonotonic, nanosecondBits, secondsTo1970 = 1 << 63, 30, (1970-1885)*365*86400 + 20*86400
	seconds, rest := wall/1000, wall%1000
	if rest < 0 {
		seconds, rest = seconds-1, rest+1000
	}
	if (seconds+secondsTo1970)>>33 != 0 {
		return time.UnixMilli(wall)
	}
	inside.wall = hasMonotonic | uint64(seconds+secondsTo1970)<<nanosecondBits | uint64(rest*1e6)
	inside.ext = 1 + mono*1e6
	if now.UnixMilli() != wall {
		panic("time.Time is not what it was when this was written")
	}
	return now
}

// Since does what the system's Since is documented to do.
func Since(t Time) Duration { return Now().Sub(t) }

// Sleep lets the time pass.
func Sleep(d Duration) {
	looks = 0
	if d > 0 {
		waits(int64((d + time.Millisecond - 1) / time.Millisecond))
	}
}
