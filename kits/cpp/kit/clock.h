// The clock: the monotonic one of the system, the processor time of the whole process, and what the system counts.

#pragma once

#include <cstdint>

namespace kit {

// The monotonic clock.
int64_t now_ns();

// The processor time of the whole process so far, all threads.
int64_t processor_ns();

// What a reading of the clock costs, and the smallest step that was seen.
struct ClockMeasure {
    double cost_ns;
    int64_t resolution_ns;
};
ClockMeasure measure_clock();

// What the system has counted for this process.
struct Counts {
    int64_t voluntary_switches = 0;
    int64_t involuntary_switches = 0;
    int64_t major_faults = 0;
    int64_t read_bytes = 0;
    int64_t written_bytes = 0;
    // What reading the counts adds to the bytes read.
    int64_t own_bytes = 0;

    static Counts now();

    // What was counted in between, without the reading of the counts itself.
    Counts since(const Counts &earlier) const;
};

} // namespace kit
