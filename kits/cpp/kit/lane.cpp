// The timing loop: plays lanes against handles. Nothing is gathered or worked out while the clock runs.

#include "lane.h"

#include <algorithm>
#include <cstdio>
#include <pthread.h>
#include <thread>

namespace kit {

namespace {

// Counts the failure that is being handled. It is a result, and the lane goes on.
void count_failure(Failures &failures)
{
    std::string kind = "other";
    std::string message = "something that is no C++ exception was thrown";
    try {
        throw;
    } catch (const Failure &failure) {
        kind = failure.kind;
        message = failure.what();
    } catch (const std::exception &error) {
        message = error.what();
    } catch (...) {
    }
    Failed &failed = failures[kind];
    if (failed.count++ == 0) {
        failed.message = message;
    }
}

// Tells the first failure of each kind on standard error, which the lab keeps.
void tell(const Failures &failures)
{
    for (const auto &[kind, failed] : failures) {
        std::fprintf(stderr, "%llu operations failed (%s), the first with: %s\n",
                     static_cast<unsigned long long>(failed.count), kind.c_str(), failed.message.c_str());
    }
}

} // namespace

Lane::Lane(Driver &driver, Work work, bool latency) : driver(driver), work(std::move(work)), latency(latency)
{
    // Touched here, so that the page faults of the kit's own list are not in the timed stretch.
    const bool is_one = this->work.verb == "insert-many";
    latency_ns.assign(latency ? (is_one ? 1 : this->work.count) : 0, 1);
    latency_ns.clear();
    reads.reserve(this->work.verb == "read-all" ? this->work.count : 0);
}

template <bool EACH, class Operation> void Lane::repeat(uint64_t times, Operation operation)
{
    int64_t last = start_ns;
    for (uint64_t number = 0; number < times; ++number) {
        try {
            operation(number);
        } catch (...) {
            count_failure(failures);
        }
        if (EACH) {
            const int64_t now = now_ns();
            latency_ns.push_back(now - last);
            last = now;
        }
    }
}

template <bool EACH> void Lane::play_operations()
{
    if (work.verb == "get") {
        repeat<EACH>(work.count, [this](uint64_t number) { driver.get(work.keys[number], *work.objects); });
        views.push_back(views_of(*work.objects, work.count));
    } else if (work.verb == "read-all") {
        repeat<EACH>(work.count, [this](uint64_t) {
            reads.push_back(driver.read_all());
            views.push_back(views_of(*reads.back(), views.empty() ? 0 : views.back().size()));
        });
    } else if (work.verb == "insert-one") {
        repeat<EACH>(work.count, [this](uint64_t number) {
            driver.insert_one(*work.objects, number);
            ++acknowledged;
        });
    } else {
        repeat<EACH>(1, [this](uint64_t) {
            driver.insert_many(*work.objects);
            acknowledged += work.count;
        });
    }
}

void Lane::play()
{
    processor_start_ns = processor_ns();
    start_ns = now_ns();
    if (latency) {
        play_operations<true>();
    } else {
        play_operations<false>();
    }
    end_ns = now_ns();
    processor_end_ns = processor_ns();
}

LaneSample Lane::answers(int64_t wall_ns) const
{
    tell(failures);
    LaneSample sample;
    Digest digest;
    sample.wall_ns = wall_ns;
    sample.answers = acknowledged;
    for (const Views &answered : views) {
        if (work.verb == "get") {
            for (const RowView &row : answered) {
                digest.add(row.key, row.value, row.size);
            }
            sample.answers += answered.size();
        } else {
            sample.answers += digest_by_key(answered, digest);
        }
    }
    sample.digest = digest.text();
    sample.errors = failures;
    return sample;
}

Views views_of(const Objects &objects, size_t expected)
{
    Views views;
    views.reserve(expected);
    objects.each([&views](int64_t key, const unsigned char *value, size_t size) {
        views.push_back({ key, value, size });
    });
    return views;
}

uint64_t digest_by_key(Views rows, Digest &digest)
{
    std::stable_sort(rows.begin(), rows.end(),
                     [](const RowView &one, const RowView &other) { return one.key < other.key; });
    for (const RowView &row : rows) {
        digest.add(row.key, row.value, row.size);
    }
    return rows.size();
}

Sample play(std::vector<Lane> &lanes)
{
    const Counts before = Counts::now();
    if (lanes.size() == 1) {
        lanes[0].play();
    } else {
        pthread_barrier_t met;
        pthread_barrier_init(&met, nullptr, static_cast<unsigned>(lanes.size()));
        std::vector<std::thread> threads;
        for (Lane &lane : lanes) {
            threads.emplace_back([&lane, &met] {
                lane.driver.enter_thread();
                pthread_barrier_wait(&met);
                lane.play();
                lane.driver.leave_thread();
            });
        }
        for (std::thread &thread : threads) {
            thread.join();
        }
        pthread_barrier_destroy(&met);
    }
    Sample sample;
    sample.usage = Counts::now().since(before);
    int64_t start = INT64_MAX, end = 0, processor_start = INT64_MAX, processor_end = 0;
    for (const Lane &lane : lanes) {
        start = std::min(start, lane.start_ns);
        end = std::max(end, lane.end_ns);
        processor_start = std::min(processor_start, lane.processor_start_ns);
        processor_end = std::max(processor_end, lane.processor_end_ns);
    }
    sample.wall_ns = end - start;
    sample.cpu_ns = processor_end - processor_start;
    for (const Lane &lane : lanes) {
        sample.lanes.push_back(lane.answers(lane.end_ns - start));
        sample.latency_ns.insert(sample.latency_ns.end(), lane.latency_ns.begin(), lane.latency_ns.end());
    }
    return sample;
}

Sample play_open(const Subject &subject, const Open &open, uint64_t times)
{
    const Counts before = Counts::now();
    Sample sample;
    LaneSample lane;
    std::vector<std::unique_ptr<Objects>> firsts;
    Views answered;
    firsts.reserve(times);
    answered.reserve(times);
    for (uint64_t number = 0; number < times; ++number) {
        std::unique_ptr<Driver> driver;
        const int64_t processor_start = processor_ns();
        const int64_t start = now_ns();
        try {
            driver = subject.open(open);
            firsts.push_back(driver->first());
            firsts.back()->each([&answered](int64_t key, const unsigned char *value, size_t size) {
                answered.push_back({ key, value, size });
            });
        } catch (...) {
            count_failure(lane.errors);
        }
        sample.latency_ns.push_back(now_ns() - start);
        sample.cpu_ns += processor_ns() - processor_start;
        sample.wall_ns += sample.latency_ns.back();
        if (driver) {
            driver->close();
        }
    }
    sample.usage = Counts::now().since(before);
    tell(lane.errors);
    lane.wall_ns = sample.wall_ns;
    Digest digest;
    for (const RowView &row : answered) {
        digest.add(row.key, row.value, row.size);
    }
    lane.answers = answered.size();
    lane.digest = digest.text();
    sample.lanes.push_back(std::move(lane));
    return sample;
}

} // namespace kit
