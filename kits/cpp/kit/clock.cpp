// Reads the clocks and the counts. A stretch lasts milliseconds, so the monotonic clock, the same that the other kits
// read, costs nothing beside it.

#include "clock.h"

#include <algorithm>
#include <ctime>
#include <fstream>
#include <sstream>
#include <string>
#include <sys/resource.h>

namespace kit {

namespace {

int64_t read_clock(clockid_t clock)
{
    timespec time = {};
    clock_gettime(clock, &time);
    return int64_t(time.tv_sec) * 1000000000 + time.tv_nsec;
}

int64_t field(const std::string &text, const std::string &name)
{
    const size_t at = text.find(name);
    return at == std::string::npos ? 0 : std::stoll(text.substr(at + name.size()));
}

} // namespace

int64_t now_ns()
{
    return read_clock(CLOCK_MONOTONIC);
}

int64_t processor_ns()
{
    return read_clock(CLOCK_PROCESS_CPUTIME_ID);
}

ClockMeasure measure_clock()
{
    const int readings = 1000;
    ClockMeasure measure = { 1e9, INT64_MAX };
    for (int round = 0; round < 20; ++round) {
        const int64_t start = now_ns();
        int64_t last = start;
        for (int reading = 0; reading < readings; ++reading) {
            const int64_t now = now_ns();
            if (now > last) {
                measure.resolution_ns = std::min(measure.resolution_ns, now - last);
            }
            last = now;
        }
        measure.cost_ns = std::min(measure.cost_ns, double(last - start) / readings);
    }
    return measure;
}

Counts Counts::now()
{
    rusage usage = {};
    getrusage(RUSAGE_SELF, &usage);
    // A kernel without I/O accounting has no such file; its bytes then stay 0 for both readings.
    std::ostringstream text;
    text << std::ifstream("/proc/self/io").rdbuf();
    const std::string io = text.str();
    Counts counts;
    counts.voluntary_switches = usage.ru_nvcsw;
    counts.involuntary_switches = usage.ru_nivcsw;
    counts.major_faults = usage.ru_majflt;
    counts.read_bytes = field(io, "rchar: ");
    counts.written_bytes = field(io, "wchar: ");
    counts.own_bytes = static_cast<int64_t>(io.size());
    return counts;
}

Counts Counts::since(const Counts &earlier) const
{
    Counts counts;
    counts.voluntary_switches = voluntary_switches - earlier.voluntary_switches;
    counts.involuntary_switches = involuntary_switches - earlier.involuntary_switches;
    counts.major_faults = major_faults - earlier.major_faults;
    counts.read_bytes = std::max<int64_t>(0, read_bytes - earlier.read_bytes - earlier.own_bytes);
    counts.written_bytes = written_bytes - earlier.written_bytes;
    return counts;
}

} // namespace kit
