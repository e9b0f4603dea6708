// WCDB's C++ interface, as its users write it: a class that is mapped to a table by macros, and calls of the database.
//
// Every handle on a database is one of WCDB's own pool for that path; a thread borrows one for each call. The handles
// that lanes will need are opened off the clock, at the same time, because WCDB opens another only where none is free.
// Its engine never checkpoints within a commit: that is done in a queue of its own. A database at rest would be
// checkpointed by it after seconds, so closing does it at once, as SQLite's own closing does.

#include "../kit/driver.h"

#include <WCDBCpp.h>
#include <pthread.h>
#include <sqlcipher/sqlite3.h>
#include <thread>

namespace {

struct Row {
    int64_t key = 0;
    std::vector<unsigned char> value;
    WCDB_CPP_ORM_DECLARATION(Row)
};

WCDB_CPP_ORM_IMPLEMENTATION_BEGIN(Row)
WCDB_CPP_SYNTHESIZE(key)
WCDB_CPP_SYNTHESIZE(value)
WCDB_CPP_ORM_IMPLEMENTATION_END

using WCDB::Pragma;
using WCDB::StatementPragma;

const char *const TABLE = "benchmark";
const std::vector<std::string> SYNCHRONOUS = { "off", "normal", "full", "extra" };
const std::vector<std::string> NO_YES = { "no", "yes" };
// A raw key in SQLCipher's notation, so that opening does not measure the derivation of a key from a password.
const char *const KEY = "x'000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f'";

struct Rows : kit::Objects {
    WCDB::ValueArray<Row> rows;

    void each(const kit::TakeRow &take) const override
    {
        for (const Row &row : rows) {
            take(row.key, row.value.data(), row.value.size());
        }
    }
};

kit::Failure failure(const WCDB::Error &error)
{
    std::string kind = "other";
    switch (error.code()) {
    case WCDB::Error::Code::Busy:
    case WCDB::Error::Code::Locked:
        kind = "busy";
        break;
    case WCDB::Error::Code::Full:
        kind = "full";
        break;
    case WCDB::Error::Code::IOError:
    case WCDB::Error::Code::CantOpen:
        kind = "io";
        break;
    case WCDB::Error::Code::Corrupt:
    case WCDB::Error::Code::NotADatabase:
        kind = "corrupt";
        break;
    default:
        break;
    }
    return kit::Failure(kind, std::string(error.getMessage().data()));
}

StatementPragma set(const Pragma &pragma, const WCDB::LiteralValue &value)
{
    return StatementPragma().pragma(pragma).to(value);
}

// What is asked for, run on each handle that WCDB opens.
void configure(WCDB::Database &database, const kit::Open &open)
{
    const auto cipher = open.word("cipher", { "none", "sqlcipher-4", "sqlcipher-3" }).value_or("none");
    const auto page_size = open.number("page_size_bytes");
    if (cipher != "none") {
        const auto version = cipher == "sqlcipher-3" ? WCDB::Database::Version3 : WCDB::Database::Version4;
        const auto *key = reinterpret_cast<const unsigned char *>(KEY);
        database.setCipherKey(WCDB::UnsafeData::immutable(key, std::string(KEY).size()),
                              static_cast<int>(page_size.value_or(4096)), version);
    } else if (page_size) {
        // Before WCDB's own configuration, which writes the file's first page for the journal mode.
        const StatementPragma pragma = set(Pragma::pageSize(), *page_size);
        database.setConfig(
            "page_size", [pragma](WCDB::Handle &handle) { return handle.execute(pragma); }, nullptr,
            WCDB::Database::Priority::Highest);
    }
    std::vector<StatementPragma> pragmas;
    if (const auto synchronous = open.word("synchronous", SYNCHRONOUS)) {
        pragmas.push_back(set(Pragma::synchronous(), synchronous->c_str()));
    }
    if (const auto fullfsync = open.word("fullfsync", NO_YES)) {
        pragmas.push_back(set(Pragma::fullfsync(), *fullfsync == "yes"));
    }
    if (const auto fullfsync = open.word("checkpoint_fullfsync", NO_YES)) {
        pragmas.push_back(set(Pragma::checkpointFullfsync(), *fullfsync == "yes"));
    }
    if (const auto cache_size = open.number("cache_size_bytes")) {
        // Below zero: in KiB.
        pragmas.push_back(set(Pragma::cacheSize(), -(*cache_size / 1024)));
    }
    if (const auto mmap_size = open.number("mmap_size_bytes")) {
        pragmas.push_back(set(Pragma::mmapSize(), *mmap_size));
    }
    database.setConfig("settings", [pragmas](WCDB::Handle &handle) {
        for (const StatementPragma &pragma : pragmas) {
            if (!handle.execute(pragma)) {
                return false;
            }
        }
        return true;
    });
}

class Wcdb : public kit::Driver {
public:
    explicit Wcdb(const kit::Open &open) : database(open.directory + "/benchmark.wcdb")
    {
        open.word("checkpoint", { "commit", "background" });
        // Its checkpoints have a handle of their own, so that no other can have the file alone.
        open.word("locking_mode", { "normal" });
        configure(database, open);
        require(database.canOpen());
        if (open.create) {
            create(open);
        }
    }

    // A further handle of the same pool.
    Wcdb(const WCDB::Database &database, unsigned handles) : database(database), handles(handles), is_first(false) {}

    kit::Settings settings() override
    {
        kit::Settings settings;
        const int64_t page_size = number(Pragma::pageSize());
        const int64_t cache_size = number(Pragma::cacheSize());
        settings["journal_mode"] = text(Pragma::journalMode());
        settings["locking_mode"] = text(Pragma::lockingMode());
        settings["synchronous"] = SYNCHRONOUS.at(static_cast<size_t>(number(Pragma::synchronous())));
        settings["fullfsync"] = NO_YES.at(static_cast<size_t>(number(Pragma::fullfsync())));
        settings["checkpoint_fullfsync"] = NO_YES.at(static_cast<size_t>(number(Pragma::checkpointFullfsync())));
        settings["page_size_bytes"] = page_size;
        settings["cache_size_bytes"] = cache_size < 0 ? -cache_size * 1024 : cache_size * page_size;
        settings["mmap_size_bytes"] = number(Pragma::mmapSize());
        settings["wal_autocheckpoint_pages"] = number(Pragma::walAutocheckpoint());
        settings["checkpoint"] = "background";
        settings["cipher"] = cipher();
        return settings;
    }

    std::unique_ptr<kit::Driver> another(const kit::Open &) override
    {
        ++handles;
        open_handles();
        return std::make_unique<Wcdb>(database, handles);
    }

    std::unique_ptr<kit::Objects> make(const std::vector<const kit::Row *> &rows) override
    {
        auto objects = std::make_unique<Rows>();
        for (const kit::Row *row : rows) {
            Row object;
            object.key = row->key;
            object.value = row->value;
            objects->rows.push_back(std::move(object));
        }
        return objects;
    }

    void get(int64_t key, kit::Objects &found) override
    {
        auto row = database.getFirstObject<Row>(TABLE, WCDB_FIELD(Row::key) == key);
        if (row.hasValue()) {
            static_cast<Rows &>(found).rows.push_back(std::move(row.value()));
        }
    }

    std::unique_ptr<kit::Objects> read_all() override
    {
        auto rows = database.getAllObjects<Row>(TABLE);
        require(rows.hasValue());
        auto objects = std::make_unique<Rows>();
        objects->rows = std::move(rows.value());
        return objects;
    }

    void insert_one(const kit::Objects &objects, size_t place) override
    {
        require(database.insertObject<Row>(static_cast<const Rows &>(objects).rows[place], TABLE));
    }

    void insert_many(const kit::Objects &objects) override
    {
        require(database.insertObjects<Row>(static_cast<const Rows &>(objects).rows, TABLE));
    }

    // As a list of one: of that an error is told from an answer without rows.
    std::unique_ptr<kit::Objects> first() override
    {
        auto rows = database.getAllObjects<Row>(TABLE, WCDB::Expression(), WCDB::OrderingTerms(), 1);
        require(rows.hasValue());
        auto objects = std::make_unique<Rows>();
        objects->rows = std::move(rows.value());
        return objects;
    }

    std::vector<std::string> explain(const std::string &verb) override
    {
        if (verb != "get" && verb != "read-all") {
            return {};
        }
        auto select = WCDB::StatementSelect().select(Row::allFields()).from(TABLE);
        if (verb == "get") {
            select.where(WCDB_FIELD(Row::key) == 0);
        }
        std::vector<std::string> plan;
        const auto rows = database.getAllRowsFromStatement(WCDB::StatementExplain().explainQueryPlan(select));
        require(rows.hasValue());
        for (const auto &row : rows.value()) {
            plan.push_back(row.back().textValue().data());
        }
        return plan;
    }

    void close() override
    {
        // The handles of a path are closed together.
        if (is_first) {
            require(database.truncateCheckpoint());
            database.close();
        }
    }

private:
    void require(bool is_done) const
    {
        if (!is_done) {
            throw failure(database.getError());
        }
    }

    void create(const kit::Open &open)
    {
        require(database.runTransaction([&open](WCDB::Handle &handle) {
            for (uint32_t number = 1; number <= open.tables; ++number) {
                const std::string table = kit::table_name(number);
                if (!(open.is_keyed ? create_keyed(handle, table) : handle.createTable<Row>(table))) {
                    return false;
                }
                for (const std::string &field : open.indexes) {
                    const auto index = WCDB::StatementCreateIndex()
                                           .createIndex(table + "_by_" + field)
                                           .table(table)
                                           .indexed(WCDB::Column(field));
                    if (!handle.execute(index)) {
                        return false;
                    }
                }
            }
            return true;
        }));
    }

    // As the class's own table, with the key as its primary key.
    static bool create_keyed(WCDB::Handle &handle, const std::string &table)
    {
        const auto key = WCDB::ColumnDef("key", WCDB::ColumnType::Integer).constraint(WCDB::ColumnConstraint().primaryKey());
        const auto value = WCDB::ColumnDef("value", WCDB::ColumnType::BLOB);
        return handle.execute(WCDB::StatementCreateTable().createTable(table).define(key).define(value));
    }

    // Has so many threads borrow a handle at the same time, after which the pool has as many.
    void open_handles()
    {
        pthread_barrier_t met;
        pthread_barrier_init(&met, nullptr, handles);
        std::vector<std::thread> threads;
        for (unsigned number = 0; number < handles; ++number) {
            threads.emplace_back([this, &met] {
                WCDB::Handle handle = database.getHandle();
                handle.getValueFromStatement(StatementPragma().pragma(Pragma::schemaVersion()));
                pthread_barrier_wait(&met);
            });
        }
        for (std::thread &thread : threads) {
            thread.join();
        }
        pthread_barrier_destroy(&met);
    }

    // Which of SQLCipher's schemes the pages are in, as the engine says. Only an encrypted database answers.
    std::string cipher()
    {
        const std::string scheme = text(Pragma::cipherHmacAlgorithm()) + " " + text(Pragma::cipherKdfAlgorithm());
        if (scheme == " ") {
            return "none";
        } else if (scheme == "HMAC_SHA512 PBKDF2_HMAC_SHA512") {
            return "sqlcipher-4";
        }
        return scheme == "HMAC_SHA1 PBKDF2_HMAC_SHA1" ? "sqlcipher-3" : "sqlcipher-other";
    }

    std::string text(const Pragma &pragma)
    {
        const auto value = database.getValueFromStatement(StatementPragma().pragma(pragma));
        return value.hasValue() ? std::string(value.value().textValue().data()) : std::string();
    }

    int64_t number(const Pragma &pragma)
    {
        const auto value = database.getValueFromStatement(StatementPragma().pragma(pragma));
        require(value.hasValue());
        return value.value().intValue();
    }

    WCDB::Database database;
    // How many lanes have one.
    unsigned handles = 1;
    const bool is_first = true;
};

} // namespace

int main()
{
    kit::Subject subject;
    subject.name = "wcdb";
    subject.version = WCDB_VERSION;
    subject.engine = std::string("SQLite ") + sqlite3_libversion() + " of Tencent's SQLCipher";
    subject.engine_source = sqlite3_sourceid();
    subject.compile_options = { "THREADSAFE=" + std::to_string(sqlite3_threadsafe()) };
    subject.verbs = { "get", "read-all", "insert-one", "insert-many", "open" };
    subject.open = [](const kit::Open &open) { return std::make_unique<Wcdb>(open); };
    return kit::serve(subject);
}
