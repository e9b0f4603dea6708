// Whether an answer is what was there while the clock ran: here a list of rows that gives none once that has stopped.

#include "../kit/lane.h"

#include <cstdio>
#include <cstdlib>

namespace {

bool is_timed = false;

// Gives its rows only while the lane is played, as a list could that fetches them when they are looked at.
struct Late : kit::Objects {
    std::vector<kit::Row> rows;

    void each(const kit::TakeRow &take) const override
    {
        if (!is_timed) {
            std::fprintf(stderr, "rows were asked for after the clock had stopped\n");
            std::exit(1);
        }
        for (const kit::Row &row : rows) {
            take(row.key, row.value.data(), row.value.size());
        }
    }
};

std::unique_ptr<Late> two_rows()
{
    auto rows = std::make_unique<Late>();
    rows->rows = { { 2, { 7, 8 } }, { 1, { 9 } } };
    return rows;
}

struct Subject : kit::Driver {
    kit::Settings settings() override { return {}; }
    std::unique_ptr<kit::Driver> another(const kit::Open &) override { return std::make_unique<Subject>(); }
    std::unique_ptr<kit::Objects> make(const std::vector<const kit::Row *> &) override { return two_rows(); }
    void get(int64_t key, kit::Objects &found) override { static_cast<Late &>(found).rows.push_back({ key, { 9 } }); }
    std::unique_ptr<kit::Objects> read_all() override { return two_rows(); }
    void insert_one(const kit::Objects &, size_t) override {}
    void insert_many(const kit::Objects &) override {}
    std::unique_ptr<kit::Objects> first() override { return two_rows(); }
    void close() override { is_timed = false; }
};

void expect(const kit::LaneSample &sample, uint64_t answers, const kit::Digest &digest)
{
    if (sample.answers != answers || sample.digest != digest.text()) {
        std::fprintf(stderr, "%llu answers with digest %s, expected %llu with %s\n",
                     static_cast<unsigned long long>(sample.answers), sample.digest.c_str(),
                     static_cast<unsigned long long>(answers), digest.text().c_str());
        std::exit(1);
    }
}

kit::LaneSample played(kit::Work work)
{
    Subject subject;
    std::vector<kit::Lane> lanes;
    lanes.emplace_back(subject, std::move(work), false);
    is_timed = true;
    lanes[0].play();
    is_timed = false;
    return lanes[0].answers(1);
}

} // namespace

int main()
{
    const std::vector<unsigned char> one = { 9 }, two = { 7, 8 };
    kit::Work read;
    read.verb = "read-all";
    read.count = 2;
    kit::Digest sorted;
    for (int time = 0; time < 2; ++time) {
        sorted.add(1, one.data(), one.size());
        sorted.add(2, two.data(), two.size());
    }
    expect(played(std::move(read)), 4, sorted);

    kit::Work get;
    get.verb = "get";
    get.keys = { 5, 4 };
    get.count = 2;
    get.objects = std::make_unique<Late>();
    kit::Digest found;
    found.add(5, one.data(), one.size());
    found.add(4, one.data(), one.size());
    expect(played(std::move(get)), 2, found);

    kit::Subject subject;
    subject.open = [](const kit::Open &) {
        is_timed = true;
        return std::make_unique<Subject>();
    };
    kit::Digest first;
    first.add(2, two.data(), two.size());
    first.add(1, one.data(), one.size());
    expect(kit::play_open(subject, kit::Open(), 1).lanes[0], 2, first);
    std::puts("answers are what was there while the clock ran");
    return 0;
}
