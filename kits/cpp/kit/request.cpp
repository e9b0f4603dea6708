// Reads the fields of requests, and refuses what the protocol does not have.

#include "request.h"

#include <algorithm>

namespace kit {

using nlohmann::json;

Fields::Fields(const json &object, std::string what) : object(object), what(std::move(what))
{
    if (!object.is_object()) {
        throw Failure("protocol", this->what + " is no object");
    }
}

const json *Fields::find(const std::string &name)
{
    known.push_back(name);
    const auto found = object.find(name);
    return found == object.end() ? nullptr : &*found;
}

void Fields::refuse(const std::string &name) const
{
    const auto found = object.find(name);
    if (found == object.end()) {
        throw Failure("protocol", what + " lacks its field `" + name + "`");
    }
    throw Failure("protocol", what + " has `" + found->dump(-1, ' ', false, json::error_handler_t::replace) + "` for `" + name + "`");
}

uint64_t Fields::number(const std::string &name)
{
    const json *value = find(name);
    if (value == nullptr || !value->is_number_unsigned()) {
        refuse(name);
    }
    return value->get<uint64_t>();
}

uint64_t Fields::number_or(const std::string &name, uint64_t otherwise)
{
    return object.contains(name) ? number(name) : (known.push_back(name), otherwise);
}

bool Fields::flag_or(const std::string &name, bool otherwise)
{
    const json *value = find(name);
    if (value != nullptr && !value->is_boolean()) {
        refuse(name);
    }
    return value == nullptr ? otherwise : value->get<bool>();
}

std::string Fields::text(const std::string &name)
{
    const json *value = find(name);
    if (value == nullptr || !value->is_string()) {
        refuse(name);
    }
    return value->get<std::string>();
}

std::optional<std::string> Fields::optional_text(const std::string &name)
{
    const json *value = find(name);
    if (value == nullptr || value->is_null()) {
        return std::nullopt;
    }
    return text(name);
}

const json &Fields::any(const std::string &name)
{
    const json *value = find(name);
    if (value == nullptr) {
        refuse(name);
    }
    return *value;
}

void Fields::ignore(const std::string &name)
{
    known.push_back(name);
}

void Fields::end() const
{
    for (const auto &[name, value] : object.items()) {
        if (std::find(known.begin(), known.end(), name) == known.end()) {
            throw Failure("protocol", what + " has no field `" + name + "`");
        }
    }
}

std::vector<AskedLane> read_lanes(const json &lanes)
{
    const std::vector<std::string> verbs = { "get",  "read-all",   "insert-one",  "insert-many", "open",
                                             "find", "update-one", "update-many", "delete-many", "deliver" };
    if (!lanes.is_array() || lanes.empty()) {
        throw Failure("protocol", "a run has at least one lane");
    }
    std::vector<AskedLane> asked;
    for (const json &lane : lanes) {
        Fields fields(lane, "a lane");
        AskedLane one;
        one.verb = fields.text("verb");
        one.from = fields.number("from");
        one.count = fields.number("count");
        one.held = fields.flag_or("held", false);
        one.table = fields.number_or("table", 1);
        for (const char *name : { "above", "changes", "depth", "stretch" }) {
            fields.ignore(name);
        }
        fields.end();
        if (std::find(verbs.begin(), verbs.end(), one.verb) == verbs.end()) {
            throw Failure("protocol", "there is no verb `" + one.verb + "`");
        }
        asked.push_back(std::move(one));
    }
    return asked;
}

void read_schema(const json &schema, Open &open)
{
    Fields fields(schema, "a schema");
    open.create = fields.flag_or("create", false);
    open.tables = static_cast<uint32_t>(fields.number_or("tables", 1));
    open.is_keyed = fields.flag_or("keyed", false);
    if (fields.flag_or("typed", false)) {
        throw Failure("unsupported", "the driver has no row.typed");
    }
    if (const json &indexes = schema.contains("indexes") ? fields.any("indexes") : json::array(); indexes.is_array()) {
        for (const json &index : indexes) {
            if (!index.is_string()) {
                throw Failure("protocol", "a schema has an index that is no text");
            }
            open.indexes.push_back(index.get<std::string>());
        }
    } else {
        throw Failure("protocol", "a schema has `indexes` that are no list");
    }
    fields.end();
}

void read_settings(const json &settings, Open &open)
{
    if (!settings.is_object()) {
        throw Failure("protocol", "`open` has settings that are no object");
    }
    for (const auto &[name, value] : settings.items()) {
        if (value.is_number_integer()) {
            open.settings[name] = value.get<int64_t>();
        } else if (value.is_string()) {
            open.settings[name] = value.get<std::string>();
        } else {
            throw Failure("protocol", "setting " + name + " is neither a number nor a word");
        }
    }
}

} // namespace kit
