// What is answered in place of a reply, or counted in a lane's errors.

#pragma once

#include <stdexcept>
#include <string>

namespace kit {

// A refusal. The kind is one of the protocol's: unsupported, busy, full, io, corrupt, protocol, other.
class Failure : public std::runtime_error {
public:
    Failure(std::string kind, const std::string &message) : std::runtime_error(message), kind(std::move(kind)) {}

    std::string kind;
};

} // namespace kit
