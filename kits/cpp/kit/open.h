// What `open` asks for, with the settings read out by type.

#pragma once

#include "failure.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace kit {

// A setting is a number or a word.
using Setting = std::variant<int64_t, std::string>;
using Settings = std::map<std::string, Setting>;

struct Open {
    // An existing directory that belongs to this contender alone. Its path is absolute.
    std::string directory;
    // Whether the tables are to be made.
    bool create = false;
    uint32_t tables = 1;
    // Whether rows are got by their key, which is then the table's primary key.
    bool is_keyed = false;
    std::vector<std::string> indexes;
    Settings settings;

    // The number that a setting asks for, if it does.
    std::optional<int64_t> number(const std::string &name) const;

    // The word that a setting asks for, if it does: one of `words`.
    std::optional<std::string> word(const std::string &name, const std::vector<std::string> &words) const;

    // Refuses an index on a field that a row does not have.
    void check_indexes() const;
};

// The name of a database's table of rows, by its number from 1: `benchmark`, `benchmark_2`, `benchmark_3`.
std::string table_name(uint32_t number);

} // namespace kit
