// Answers requests: prepares what the lab wrote, opens, fills, plays lanes and checks.

#include "session.h"

#include <algorithm>
#include <filesystem>
#include <fstream>

namespace kit {

using nlohmann::json;

namespace {

const uint64_t PROTOCOL = 1;
const char *const KIT_VERSION = "cpp 0.1.0";

void require_row(const std::string &record, const Subject &subject)
{
    if (record != "row") {
        throw Failure("unsupported", subject.name + " stores no " + record);
    }
}

void require_range(uint64_t from, uint64_t count, size_t size, const std::string &of)
{
    if (from > size || count > size - from) {
        throw Failure("protocol", std::to_string(count) + " " + of + " from " + std::to_string(from) +
                                      " were asked for; there are " + std::to_string(size));
    }
}

json told(const Sample &sample)
{
    json lanes = json::array();
    for (const LaneSample &lane : sample.lanes) {
        json errors = json::object();
        for (const auto &[kind, failed] : lane.errors) {
            errors[kind] = failed.count;
        }
        lanes.push_back({ { "wall_ns", lane.wall_ns },
                          { "answers", lane.answers },
                          { "digest", lane.digest },
                          { "errors", errors } });
    }
    const Counts &usage = sample.usage;
    return { { "wall_ns", sample.wall_ns },
             { "cpu_ns", sample.cpu_ns },
             { "lanes", lanes },
             { "usage",
               { { "voluntary_switches", usage.voluntary_switches },
                 { "involuntary_switches", usage.involuntary_switches },
                 { "major_faults", usage.major_faults },
                 { "read_bytes", usage.read_bytes },
                 { "written_bytes", usage.written_bytes } } } };
}

void keep_latency(const std::vector<int64_t> &latency_ns, const std::string &path)
{
    std::string bytes;
    for (const int64_t latency : latency_ns) {
        for (int place = 0; place < 8; ++place) {
            bytes.push_back(static_cast<char>(uint64_t(latency) >> (8 * place)));
        }
    }
    std::ofstream file(path, std::ios::binary);
    file << bytes;
    file.close();
    if (!file) {
        throw Failure("io", path + ": cannot be written");
    }
}

json error(const std::string &kind, const std::string &message)
{
    return { { "reply", "error" }, { "kind", kind }, { "message", message } };
}

} // namespace

json Session::reply(const std::string &line)
{
    try {
        const json request = json::parse(line, nullptr, false);
        if (request.is_discarded()) {
            throw Failure("protocol", "not a request: it is no JSON");
        }
        Fields fields(request, "a request");
        const std::string name = fields.text("request");
        json reply = answer(name, fields);
        reply["reply"] = name;
        return reply;
    } catch (const Failure &failure) {
        return error(failure.kind, failure.what());
    } catch (const std::exception &unexpected) {
        return error("other", unexpected.what());
    } catch (...) {
        return error("other", "something that is no C++ exception was thrown");
    }
}

json Session::answer(const std::string &name, Fields &fields)
{
    if (name == "hello") {
        return hello(fields);
    } else if (name == "prepare") {
        return prepare(fields);
    } else if (name == "open") {
        return open_database(fields);
    } else if (name == "fill") {
        return fill(fields);
    } else if (name == "run") {
        return run(fields);
    } else if (name == "explain") {
        return explain(fields);
    } else if (name == "check") {
        return check(fields);
    } else if (name == "churn") {
        throw Failure("unsupported", "the driver has no row.delete-many, which churning takes");
    } else if (name == "watch") {
        throw Failure("unsupported", "the driver has no subscriptions");
    } else if (name == "close" || name == "quit") {
        fields.end();
        close();
        return json::object();
    }
    throw Failure("protocol", "there is no request `" + name + "`");
}

json Session::hello(Fields &fields) const
{
    const uint64_t protocol = fields.number("protocol");
    fields.end();
    if (protocol != PROTOCOL) {
        throw Failure("protocol", "the lab speaks protocol " + std::to_string(protocol) + ", this kit speaks " +
                                      std::to_string(PROTOCOL));
    }
    json capabilities = json::array();
    for (const std::string &verb : subject.verbs) {
        capabilities.push_back("row." + verb);
    }
    const ClockMeasure clock = measure_clock();
    return { { "protocol", PROTOCOL },
             { "kit", KIT_VERSION },
             { "subject", subject.name },
             { "version", subject.version },
             { "engine", subject.engine },
             { "engine_source", subject.engine_source },
             { "compile_options", subject.compile_options },
             { "capabilities", capabilities },
             { "clock",
               { { "name", "clock_gettime (CLOCK_MONOTONIC)" },
                 { "cost_ns", clock.cost_ns },
                 { "resolution_ns", clock.resolution_ns } } } };
}

json Session::prepare(Fields &fields)
{
    const std::string record = fields.text("record");
    const std::string dataset = fields.text("dataset");
    const std::optional<std::string> order = fields.optional_text("operations");
    const bool has_more = fields.optional_text("states") || fields.optional_text("subscriptions");
    fields.end();
    require_row(record, subject);
    if (has_more) {
        throw Failure("unsupported", "a row is neither updated nor watched");
    }
    is_prepared = false;
    rows = read_dataset(dataset);
    operations = order ? std::optional(read_operations(*order)) : std::nullopt;
    for (const uint32_t operation : operations.value_or(std::vector<uint32_t>())) {
        if (operation >= rows.size()) {
            throw Failure("protocol", "an operation names record " + std::to_string(operation) + "; the dataset has " +
                                          std::to_string(rows.size()));
        }
    }
    is_prepared = true;
    return { { "records", rows.size() }, { "operations", operations ? operations->size() : rows.size() } };
}

json Session::open_database(Fields &fields)
{
    Open asked;
    asked.directory = std::filesystem::absolute(fields.text("directory")).string();
    const std::string record = fields.text("record");
    read_schema(fields.any("schema"), asked);
    read_settings(fields.any("settings"), asked);
    fields.end();
    require_row(record, subject);
    if (!handles.empty()) {
        throw Failure("protocol", "a database is open; close it first");
    }
    asked.check_indexes();
    std::unique_ptr<Driver> handle = subject.open(asked);
    json settings = json::object();
    for (const auto &[name, setting] : handle->settings()) {
        std::visit([&, &name = name](const auto &value) { settings[name] = value; }, setting);
    }
    handles.push_back(std::move(handle));
    open = asked;
    open.create = false;
    return { { "settings", settings } };
}

json Session::fill(Fields &fields)
{
    const uint64_t from = fields.number("from"), count = fields.number("count");
    const uint64_t table = fields.number_or("table", 1);
    fields.end();
    require_playing();
    require_table(table);
    require_range(from, count, rows.size(), "records");
    std::vector<const Row *> part;
    for (uint64_t number = from; number < from + count; ++number) {
        part.push_back(&rows[number]);
    }
    handles[0]->insert_many(*handles[0]->make(part));
    return json::object();
}

json Session::run(Fields &fields)
{
    const std::vector<AskedLane> asked = read_lanes(fields.any("lanes"));
    const std::optional<std::string> latency = fields.optional_text("latency");
    fields.end();
    require_playing();
    require(asked);
    Sample sample;
    if (asked.size() == 1 && asked[0].verb == "open") {
        sample = run_open(asked[0]);
    } else {
        const std::vector<Driver *> drivers = handles_for(asked.size());
        std::vector<Lane> lanes;
        for (size_t number = 0; number < asked.size(); ++number) {
            lanes.emplace_back(*drivers[number], work(asked[number]), latency.has_value());
        }
        sample = play(lanes);
    }
    if (latency) {
        keep_latency(sample.latency_ns, *latency);
    }
    return told(sample);
}

// An `open` lane measures the only handle of a process, so the session's own gives way to it.
Sample Session::run_open(const AskedLane &lane)
{
    close();
    const Sample sample = play_open(subject, open, lane.count);
    handles.push_back(subject.open(open));
    return sample;
}

json Session::explain(Fields &fields)
{
    const std::vector<AskedLane> asked = read_lanes(fields.any("lanes"));
    fields.end();
    require_playing();
    require(asked);
    std::vector<std::string> plan;
    for (const AskedLane &lane : asked) {
        for (const std::string &line : handles[0]->explain(lane.verb)) {
            if (std::find(plan.begin(), plan.end(), line) == plan.end()) {
                plan.push_back(line);
            }
        }
    }
    return { { "plan", plan }, { "counters", json::object() } };
}

json Session::check(Fields &fields)
{
    const uint64_t table = fields.number_or("table", 1);
    fields.end();
    require_playing();
    require_table(table);
    Digest digest;
    const std::unique_ptr<Objects> all = handles[0]->read_all();
    const uint64_t answers = digest_by_key(views_of(*all, 0), digest);
    return { { "answers", answers }, { "digest", digest.text() } };
}

void Session::close()
{
    // Whatever becomes of one, the others are closed; the first failure is told.
    std::exception_ptr failed;
    while (!handles.empty()) {
        try {
            handles.back()->close();
        } catch (...) {
            failed = failed ? failed : std::current_exception();
        }
        handles.pop_back();
    }
    if (failed) {
        std::rethrow_exception(failed);
    }
}

void Session::require_playing() const
{
    if (handles.empty()) {
        throw Failure("protocol", "no database is open");
    }
    if (!is_prepared) {
        throw Failure("protocol", "no dataset is prepared");
    }
}

void Session::require(const std::vector<AskedLane> &lanes) const
{
    for (const AskedLane &lane : lanes) {
        if (!has(lane.verb)) {
            throw Failure("unsupported", "the driver has no row." + lane.verb);
        }
        if (lane.held) {
            throw Failure("unsupported", "the driver holds no read transactions");
        }
        if (lane.verb == "open" && lanes.size() > 1) {
            throw Failure("unsupported", "an open lane runs alone");
        }
        require_table(lane.table);
    }
}

void Session::require_table(uint64_t table) const
{
    if (table == 0) {
        throw Failure("protocol", "table 0 was asked for; tables are numbered from 1");
    }
    if (table != 1) {
        throw Failure("unsupported", "the driver has no row.tables, so no table " + std::to_string(table));
    }
}

bool Session::has(const std::string &verb) const
{
    return std::find(subject.verbs.begin(), subject.verbs.end(), verb) != subject.verbs.end();
}

std::vector<Driver *> Session::handles_for(size_t lanes)
{
    while (handles.size() < lanes) {
        handles.push_back(handles[0]->another(open));
    }
    std::vector<Driver *> drivers;
    for (size_t number = 0; number < lanes; ++number) {
        drivers.push_back(handles[number].get());
    }
    return drivers;
}

std::vector<const Row *> Session::gather(uint64_t from, uint64_t count) const
{
    require_range(from, count, operations ? operations->size() : rows.size(), "operations");
    std::vector<const Row *> part;
    for (uint64_t number = from; number < from + count; ++number) {
        part.push_back(&rows[operations ? (*operations)[number] : number]);
    }
    return part;
}

Work Session::work(const AskedLane &lane)
{
    Work work;
    work.verb = lane.verb;
    work.count = lane.count;
    if (lane.verb == "get") {
        for (const Row *row : gather(lane.from, lane.count)) {
            work.keys.push_back(row->key);
        }
        work.objects = handles[0]->make({});
    } else if (lane.verb != "read-all") {
        work.objects = handles[0]->make(gather(lane.from, lane.count));
    }
    return work;
}

} // namespace kit
