// Requests: lines of JSON, read into fields that are checked. A field that is missing, unknown or of another type is
// refused.

#pragma once

#include "open.h"

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace kit {

// An object of which every field must be asked for before `end`, lest one be passed over that the kit does not know.
class Fields {
public:
    Fields(const nlohmann::json &object, std::string what);

    uint64_t number(const std::string &name);
    uint64_t number_or(const std::string &name, uint64_t otherwise);
    bool flag_or(const std::string &name, bool otherwise);
    std::string text(const std::string &name);
    // Missing and null are the same.
    std::optional<std::string> optional_text(const std::string &name);
    const nlohmann::json &any(const std::string &name);
    // Passes a field over that means nothing to rows.
    void ignore(const std::string &name);
    // Refuses what has not been asked for.
    void end() const;

private:
    const nlohmann::json *find(const std::string &name);
    [[noreturn]] void refuse(const std::string &name) const;

    const nlohmann::json &object;
    const std::string what;
    std::vector<std::string> known;
};

// A lane as it is asked for.
struct AskedLane {
    std::string verb;
    uint64_t from = 0;
    uint64_t count = 0;
    bool held = false;
    uint64_t table = 1;
};

std::vector<AskedLane> read_lanes(const nlohmann::json &lanes);

// The schema and the settings of an `open`, put into it.
void read_schema(const nlohmann::json &schema, Open &open);
void read_settings(const nlohmann::json &settings, Open &open);

} // namespace kit
