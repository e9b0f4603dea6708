// Canaries without a database: rows in memory, kept in a file while closed. One answers wrongly now and then, one sleeps
// before each right answer. Reading everything and inserting many stay innocent, so that the lab can fill and check them.
// One more prints before each right answer, which is no mischief: the kit's own tests play it.

#include "../kit/driver.h"

#include <chrono>
#include <cstdio>
#include <map>
#include <mutex>
#include <thread>
#include <unistd.h>

namespace {

enum class Mischief { WRONG, SLEEP, PRINT };

struct Rows : kit::Objects {
    std::vector<kit::Row> rows;

    void each(const kit::TakeRow &take) const override
    {
        for (const kit::Row &row : rows) {
            take(row.key, row.value.data(), row.value.size());
        }
    }
};

// What all handles on a database have in common.
struct Memory {
    std::mutex mutex;
    std::string path;
    std::map<int64_t, std::vector<unsigned char>> rows;
};

// A file of rows: of each its key, the size of its value, and that.
void load(Memory &memory)
{
    FILE *file = std::fopen(memory.path.c_str(), "rb");
    if (file == nullptr) {
        return;
    }
    int64_t head[2];
    while (std::fread(head, sizeof head, 1, file) == 1) {
        std::vector<unsigned char> value(static_cast<size_t>(head[1]));
        if (std::fread(value.data(), 1, value.size(), file) != value.size()) {
            std::fclose(file);
            throw kit::Failure("corrupt", memory.path + " ends in the middle of a row");
        }
        memory.rows[head[0]] = std::move(value);
    }
    std::fclose(file);
}

void keep(const Memory &memory)
{
    FILE *file = std::fopen(memory.path.c_str(), "wb");
    bool is_kept = file != nullptr;
    for (const auto &[key, value] : memory.rows) {
        const int64_t head[2] = { key, static_cast<int64_t>(value.size()) };
        is_kept = is_kept && std::fwrite(head, sizeof head, 1, file) == 1 &&
                  std::fwrite(value.data(), 1, value.size(), file) == value.size();
    }
    if (file == nullptr || std::fclose(file) != 0 || !is_kept) {
        throw kit::Failure("io", memory.path + " cannot be written");
    }
}

class Canary : public kit::Driver {
public:
    Canary(Mischief mischief, std::shared_ptr<Memory> memory) : mischief(mischief), memory(std::move(memory)) {}

    kit::Settings settings() override { return {}; }

    std::unique_ptr<kit::Driver> another(const kit::Open &) override
    {
        return std::make_unique<Canary>(mischief, memory);
    }

    std::unique_ptr<kit::Objects> make(const std::vector<const kit::Row *> &rows) override
    {
        auto objects = std::make_unique<Rows>();
        for (const kit::Row *row : rows) {
            objects->rows.push_back(*row);
        }
        return objects;
    }

    void get(int64_t key, kit::Objects &found) override
    {
        before();
        const std::lock_guard<std::mutex> guard(memory->mutex);
        const auto row = memory->rows.find(key);
        if (row == memory->rows.end()) {
            return;
        }
        std::vector<unsigned char> value = row->second;
        if (mischief == Mischief::WRONG && ++gets % 97 == 0 && !value.empty()) {
            value.back() ^= 1;
        }
        static_cast<Rows &>(found).rows.push_back({ key, std::move(value) });
    }

    std::unique_ptr<kit::Objects> read_all() override
    {
        const std::lock_guard<std::mutex> guard(memory->mutex);
        auto objects = std::make_unique<Rows>();
        for (const auto &[key, value] : memory->rows) {
            objects->rows.push_back({ key, value });
        }
        return objects;
    }

    void insert_one(const kit::Objects &objects, size_t place) override
    {
        before();
        const std::lock_guard<std::mutex> guard(memory->mutex);
        insert(static_cast<const Rows &>(objects).rows[place]);
    }

    void insert_many(const kit::Objects &objects) override
    {
        const std::lock_guard<std::mutex> guard(memory->mutex);
        for (const kit::Row &row : static_cast<const Rows &>(objects).rows) {
            insert(row);
        }
    }

    void close() override
    {
        const std::lock_guard<std::mutex> guard(memory->mutex);
        keep(*memory);
    }

private:
    void before() const
    {
        if (mischief == Mischief::SLEEP) {
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        } else if (mischief == Mischief::PRINT) {
            // As libraries do: to a stream, and below it.
            std::puts("printed to a stream");
            std::fflush(stdout);
            dprintf(STDOUT_FILENO, "printed below it\n");
        }
    }

    void insert(const kit::Row &row) { memory->rows[row.key] = row.value; }

    const Mischief mischief;
    const std::shared_ptr<Memory> memory;
    uint64_t gets = 0;
};

} // namespace

int main(int count, char **arguments)
{
    const std::string word = count > 1 ? arguments[1] : "wrong";
    const Mischief mischief = word == "sleep" ? Mischief::SLEEP : word == "print" ? Mischief::PRINT : Mischief::WRONG;
    kit::Subject subject;
    subject.name = "canary-cpp-" + word;
    subject.version = "0.1.0";
    subject.engine = "none";
    subject.verbs = { "get", "read-all", "insert-one", "insert-many" };
    subject.open = [mischief](const kit::Open &open) {
        auto memory = std::make_shared<Memory>();
        memory->path = open.directory + "/rows";
        load(*memory);
        return std::make_unique<Canary>(mischief, memory);
    };
    return kit::serve(subject);
}
