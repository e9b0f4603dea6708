// A session with the lab: what is prepared and what is open, and the reply to each request.

#pragma once

#include "lane.h"
#include "request.h"

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace kit {

class Session {
public:
    explicit Session(const Subject &subject) : subject(subject) {}

    // The reply to a line: what was asked for, or an error.
    nlohmann::json reply(const std::string &line);

    // Closes every handle, the session's own last.
    void close();

private:
    nlohmann::json answer(const std::string &name, Fields &fields);
    nlohmann::json hello(Fields &fields) const;
    nlohmann::json prepare(Fields &fields);
    nlohmann::json open_database(Fields &fields);
    nlohmann::json fill(Fields &fields);
    nlohmann::json run(Fields &fields);
    nlohmann::json explain(Fields &fields);
    nlohmann::json check(Fields &fields);

    void require_playing() const;
    void require(const std::vector<AskedLane> &lanes) const;
    void require_table(uint64_t table) const;
    bool has(const std::string &verb) const;
    // A handle for each lane. Those that further lanes need are opened once and kept: their caches stay warm.
    std::vector<Driver *> handles_for(size_t lanes);
    // The rows of operations from `from` on.
    std::vector<const Row *> gather(uint64_t from, uint64_t count) const;
    Work work(const AskedLane &lane);
    Sample run_open(const AskedLane &lane);

    const Subject &subject;
    bool is_prepared = false;
    std::vector<Row> rows;
    // Each operation's row; none where operation i is row i.
    std::optional<std::vector<uint32_t>> operations;
    // As it was asked for, except that there is nothing left to create.
    Open open;
    // The first is the session's own.
    std::vector<std::unique_ptr<Driver>> handles;
};

} // namespace kit
