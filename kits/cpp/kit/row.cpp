// Reads the lab's files of rows, and digests rows as a dataset has them. The CRC-32 is zlib's.

#include "row.h"

#include "failure.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <zlib.h>

namespace kit {

namespace {

const char MAGIC[] = "TSDATA1\n";

std::string read_whole(const std::string &path)
{
    FILE *file = std::fopen(path.c_str(), "rb");
    if (file == nullptr) {
        throw Failure("io", path + ": " + std::strerror(errno));
    }
    std::string bytes;
    char part[1 << 16];
    for (size_t size; (size = std::fread(part, 1, sizeof part, file)) > 0;) {
        bytes.append(part, size);
    }
    const bool failed = std::ferror(file) != 0;
    std::fclose(file);
    if (failed) {
        throw Failure("io", path + ": cannot be read");
    }
    return bytes;
}

// Little-endian numbers out of a file, one after the other.
class Reader {
public:
    Reader(const std::string &path, const std::string &bytes, size_t at) : path(path), bytes(bytes), at(at) {}

    uint64_t number(size_t size)
    {
        const unsigned char *from = take(size);
        uint64_t number = 0;
        for (size_t place = 0; place < size; ++place) {
            number |= uint64_t(from[place]) << (8 * place);
        }
        return number;
    }

    const unsigned char *take(size_t size)
    {
        if (size > bytes.size() - at) {
            throw Failure("protocol", path + " ends in the middle of a row");
        }
        at += size;
        return reinterpret_cast<const unsigned char *>(bytes.data()) + (at - size);
    }

    bool is_at_end() const { return at == bytes.size(); }

private:
    const std::string &path;
    const std::string &bytes;
    size_t at;
};

void put(unsigned char *to, uint64_t number, size_t size)
{
    for (size_t place = 0; place < size; ++place) {
        to[place] = static_cast<unsigned char>(number >> (8 * place));
    }
}

} // namespace

std::vector<Row> read_dataset(const std::string &path)
{
    const std::string bytes = read_whole(path);
    if (bytes.compare(0, std::strlen(MAGIC), MAGIC) != 0) {
        throw Failure("protocol", path + " is no dataset: it does not begin as one");
    }
    Reader reader(path, bytes, std::strlen(MAGIC));
    const uint64_t count = reader.number(8);
    std::vector<Row> rows;
    for (uint64_t number = 0; number < count; ++number) {
        Row row;
        row.key = static_cast<int64_t>(reader.number(8));
        const size_t size = reader.number(4);
        const unsigned char *value = reader.take(size);
        row.value.assign(value, value + size);
        rows.push_back(std::move(row));
    }
    if (!reader.is_at_end()) {
        throw Failure("protocol", path + " goes on after its last row");
    }
    return rows;
}

std::vector<uint32_t> read_operations(const std::string &path)
{
    const std::string bytes = read_whole(path);
    if (bytes.size() % 4 != 0) {
        throw Failure("protocol", path + " holds no whole number of operations");
    }
    Reader reader(path, bytes, 0);
    std::vector<uint32_t> operations(bytes.size() / 4);
    for (uint32_t &operation : operations) {
        operation = static_cast<uint32_t>(reader.number(4));
    }
    return operations;
}

void Digest::add(int64_t key, const unsigned char *value, size_t size)
{
    unsigned char head[12];
    put(head, static_cast<uint64_t>(key), 8);
    put(head + 8, size, 4);
    crc = crc32(crc, head, sizeof head);
    if (size > 0) {
        crc = crc32(crc, value, static_cast<uInt>(size));
    }
}

std::string Digest::text() const
{
    char text[9];
    std::snprintf(text, sizeof text, "%08lx", crc);
    return text;
}

} // namespace kit
