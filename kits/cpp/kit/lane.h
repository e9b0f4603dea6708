// A lane: operations that are gathered before the clock starts, and answers that are worked out after it has stopped.

#pragma once

#include "clock.h"
#include "driver.h"

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace kit {

// Rows where the library has them, noted while the clock runs and looked at after it has stopped.
using Views = std::vector<RowView>;

// What a lane does, gathered in the order in which it will be played.
struct Work {
    std::string verb;
    // Of `get`: copies of the keys side by side, so that the kit's own data costs the subject no cache miss.
    std::vector<int64_t> keys;
    // Of the inserts; of a `get` the list that its answers are put into.
    std::unique_ptr<Objects> objects;
    // How many keys, objects or reads there are.
    uint64_t count = 0;
};

// How many operations failed in a way, and the first one's message.
struct Failed {
    uint64_t count = 0;
    std::string message;
};
using Failures = std::map<std::string, Failed>;

// What a lane answered.
struct LaneSample {
    int64_t wall_ns = 0;
    uint64_t answers = 0;
    std::string digest;
    Failures errors;
};

// A played stretch.
struct Sample {
    int64_t wall_ns = 0;
    int64_t cpu_ns = 0;
    std::vector<LaneSample> lanes;
    Counts usage;
    // Of each operation, where they were asked for.
    std::vector<int64_t> latency_ns;
};

// A lane on its handle, with what its clock and its driver yield before anything is worked out.
class Lane {
public:
    Lane(Driver &driver, Work work, bool latency);

    // Plays the operations, from one reading of the clock to the other.
    void play();

    // Counts and digests. Each read of everything is put in key order: no two engines owe each other another one.
    LaneSample answers(int64_t wall_ns) const;

    Driver &driver;
    int64_t start_ns = 0;
    int64_t end_ns = 0;
    int64_t processor_start_ns = 0;
    int64_t processor_end_ns = 0;
    std::vector<int64_t> latency_ns;

private:
    // Whether the clock is read after each operation is known when this is compiled: a run without has no trace of it.
    template <bool EACH> void play_operations();
    template <bool EACH, class Operation> void repeat(uint64_t times, Operation operation);

    Work work;
    const bool latency;
    std::vector<std::unique_ptr<Objects>> reads;
    // The rows of the answers: of all gets, or of each read.
    std::vector<Views> views;
    uint64_t acknowledged = 0;
    Failures failures;
};

// Plays the lanes side by side, each in a thread; a single one on the calling thread.
Sample play(std::vector<Lane> &lanes);

// Opens so often, each time up to the answer of a first query. Closing is off the clock.
Sample play_open(const Subject &subject, const Open &open, uint64_t times);

// Where the rows of a list are.
Views views_of(const Objects &objects, size_t expected);

// The number of rows and their digest, in key order.
uint64_t digest_by_key(Views rows, Digest &digest);

} // namespace kit
