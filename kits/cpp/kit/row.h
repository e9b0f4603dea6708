// The record `row`, the lab's files of them, and their digest.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace kit {

struct Row {
    int64_t key = 0;
    std::vector<unsigned char> value;
};

// Reads a dataset whole. Throws Failure: `io` where it cannot be read, `protocol` where it is none.
std::vector<Row> read_dataset(const std::string &path);

// Reads an operations file: numbers of records. Throws as read_dataset does.
std::vector<uint32_t> read_operations(const std::string &path);

// A row where the library has it. The kit looks there only as long as it keeps the library's objects.
struct RowView {
    int64_t key;
    const unsigned char *value;
    size_t size;
};

// The CRC-32 of rows, each encoded as in a dataset, as eight hexadecimal digits.
class Digest {
public:
    void add(int64_t key, const unsigned char *value, size_t size);
    std::string text() const;

private:
    unsigned long crc = 0;
};

} // namespace kit
