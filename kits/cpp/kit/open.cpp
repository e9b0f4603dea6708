// Reads the settings of `open` out by type.

#include "open.h"

#include <algorithm>

namespace kit {

std::optional<int64_t> Open::number(const std::string &name) const
{
    const auto found = settings.find(name);
    if (found == settings.end()) {
        return std::nullopt;
    }
    if (const auto *number = std::get_if<int64_t>(&found->second)) {
        return *number;
    }
    throw Failure("unsupported", "setting " + name + ": `" + std::get<std::string>(found->second) + "` is not a number");
}

std::optional<std::string> Open::word(const std::string &name, const std::vector<std::string> &words) const
{
    const auto found = settings.find(name);
    if (found == settings.end()) {
        return std::nullopt;
    }
    const auto *word = std::get_if<std::string>(&found->second);
    if (word != nullptr && std::find(words.begin(), words.end(), *word) != words.end()) {
        return *word;
    }
    const std::string asked = word != nullptr ? *word : std::to_string(std::get<int64_t>(found->second));
    std::string known;
    for (const std::string &one : words) {
        known += (known.empty() ? "" : ", ") + one;
    }
    throw Failure("unsupported", "setting " + name + ": `" + asked + "` is not one of " + known);
}

void Open::check_indexes() const
{
    for (const std::string &field : indexes) {
        if (field != "key" && field != "value") {
            throw Failure("unsupported", "index on `" + field + "`: a row has key, value");
        }
    }
}

std::string table_name(uint32_t number)
{
    return number == 1 ? "benchmark" : "benchmark_" + std::to_string(number);
}

} // namespace kit
