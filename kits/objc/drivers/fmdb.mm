// FMDB, as the benchmark page's code uses it: a database for each thread, columns by index, statements cached within a
// batch alone. It waits two seconds for another's lock and then refuses.
//
// There is no ARC on this runtime, so what the compiler would release is released here, and what is autoreleased is
// drained after so many rows.

#import <Foundation/Foundation.h>

#import "FMDatabase.h"
#import "FMResultSet.h"

#include "../../cpp/kit/driver.h"

#include <cmath>
#include <sqlite3.h>

// A row, as the page's code has it.
@interface FmdbRow : NSObject {
    long long _key;
    NSData *_value;
}
@property (nonatomic, assign) long long key;
@property (nonatomic, retain) NSData *value;
@end

@implementation FmdbRow
@synthesize key = _key;
@synthesize value = _value;

- (void)dealloc
{
    [_value release];
    [super dealloc];
}
@end

namespace {

// After so many rows what they left behind is released, as the end of a loop's body does with ARC.
const int ROWS_A_POOL = 1000;
const std::vector<std::string> JOURNAL_MODES = { "delete", "truncate", "persist", "memory", "off", "wal" };
const std::vector<std::string> SYNCHRONOUS = { "off", "normal", "full", "extra" };
const std::vector<std::string> LOCKING_MODES = { "normal", "exclusive" };
const std::vector<std::string> NO_YES = { "no", "yes" };

// Releases what is autoreleased in its scope.
class Pool {
public:
    Pool() : pool([[NSAutoreleasePool alloc] init]) {}
    ~Pool() { [pool release]; }
    Pool(const Pool &) = delete;

    // Counts a row.
    void row()
    {
        if (++rows % ROWS_A_POOL == 0) {
            [pool release];
            pool = [[NSAutoreleasePool alloc] init];
        }
    }

private:
    NSAutoreleasePool *pool;
    int rows = 0;
};

struct Rows : kit::Objects {
    Rows() : rows([[NSMutableArray alloc] init]) {}
    ~Rows() override { [rows release]; }

    void each(const kit::TakeRow &take) const override
    {
        const Pool pool;
        for (FmdbRow *row in rows) {
            take(row.key, static_cast<const unsigned char *>([row.value bytes]), [row.value length]);
        }
    }

    NSMutableArray *rows;
};

NSString *text(const std::string &text)
{
    return [NSString stringWithUTF8String:text.c_str()];
}

class Fmdb : public kit::Driver {
public:
    explicit Fmdb(const kit::Open &open)
    {
        const Pool pool;
        open.word("checkpoint", { "commit" });
        open.word("cipher", { "none" });
        caches_batches = open.word("statement_cache", { "batch", "none" }) != "none";
        database = [[FMDatabase alloc] initWithPath:text(open.directory + "/benchmark.sqlite")];
        NSString *table = text(kit::table_name(1));
        select = [[NSString alloc] initWithFormat:@"SELECT * FROM %@", table];
        insert = [[NSString alloc] initWithFormat:@"INSERT INTO %@ VALUES(?, ?)", table];
        if (const auto timeout = open.number("busy_timeout_ms")) {
            [database setMaxBusyRetryTimeInterval:*timeout / 1000.0];
        }
        require([database open]);
        configure(open);
        if (open.create) {
            create(open);
        }
    }

    ~Fmdb() override
    {
        [insert release];
        [select release];
        [database release];
    }

    kit::Settings settings() override
    {
        const Pool pool;
        kit::Settings settings;
        const int64_t page_size = number("page_size");
        const int64_t cache_size = number("cache_size");
        settings["journal_mode"] = pragma("journal_mode");
        settings["locking_mode"] = pragma("locking_mode");
        settings["synchronous"] = SYNCHRONOUS.at(static_cast<size_t>(number("synchronous")));
        settings["fullfsync"] = NO_YES.at(static_cast<size_t>(number("fullfsync")));
        settings["checkpoint_fullfsync"] = NO_YES.at(static_cast<size_t>(number("checkpoint_fullfsync")));
        settings["statement_cache"] = caches_batches ? "batch" : "none";
        settings["page_size_bytes"] = page_size;
        settings["cache_size_bytes"] = cache_size < 0 ? -cache_size * 1024 : cache_size * page_size;
        settings["mmap_size_bytes"] = number("mmap_size");
        settings["wal_autocheckpoint_pages"] = number("wal_autocheckpoint");
        // FMDB waits in a handler of its own, of which the engine knows no time.
        settings["busy_timeout_ms"] = std::llround([database maxBusyRetryTimeInterval] * 1000);
        settings["checkpoint"] = "commit";
        settings["cipher"] = "none";
        return settings;
    }

    std::unique_ptr<kit::Driver> another(const kit::Open &open) override { return std::make_unique<Fmdb>(open); }

    std::unique_ptr<kit::Objects> make(const std::vector<const kit::Row *> &rows) override
    {
        const Pool pool;
        auto objects = std::make_unique<Rows>();
        for (const kit::Row *row : rows) {
            FmdbRow *object = [[FmdbRow alloc] init];
            NSData *value = [[NSData alloc] initWithBytes:row->value.data() length:row->value.size()];
            object.key = row->key;
            object.value = value;
            [objects->rows addObject:object];
            [value release];
            [object release];
        }
        return objects;
    }

    void get(int64_t key, kit::Objects &found) override
    {
        const Pool pool;
        NSString *sql = [NSString stringWithFormat:@"%@ WHERE key = ?", select];
        read([database executeQuery:sql, @(static_cast<long long>(key))], static_cast<Rows &>(found).rows, true);
    }

    std::unique_ptr<kit::Objects> read_all() override
    {
        const Pool pool;
        auto objects = std::make_unique<Rows>();
        read([database executeQuery:select], objects->rows, false);
        return objects;
    }

    void insert_one(const kit::Objects &objects, size_t place) override
    {
        const Pool pool;
        FmdbRow *row = [static_cast<const Rows &>(objects).rows objectAtIndex:place];
        require([database executeUpdate:insert, @(row.key), row.value]);
    }

    void insert_many(const kit::Objects &objects) override
    {
        Pool pool;
        require([database beginTransaction]);
        [database setShouldCacheStatements:caches_batches];
        BOOL is_done = YES;
        for (FmdbRow *row in static_cast<const Rows &>(objects).rows) {
            is_done = is_done && [database executeUpdate:insert, @(row.key), row.value];
            pool.row();
        }
        if (!is_done || ![database commit]) {
            const kit::Failure failed = failure();
            [database rollback];
            [database setShouldCacheStatements:NO];
            throw failed;
        }
        [database setShouldCacheStatements:NO];
    }

    std::unique_ptr<kit::Objects> first() override
    {
        const Pool pool;
        auto found = std::make_unique<Rows>();
        read([database executeQuery:[NSString stringWithFormat:@"%@ LIMIT 1", select]], found->rows, true);
        return found;
    }

    std::vector<std::string> explain(const std::string &verb) override
    {
        const Pool pool;
        std::vector<std::string> plan;
        if (verb == "get" || verb == "read-all") {
            NSString *format = verb == "get" ? @"EXPLAIN QUERY PLAN %@ WHERE key = 0" : @"EXPLAIN QUERY PLAN %@";
            FMResultSet *results = [database executeQuery:[NSString stringWithFormat:format, select]];
            while ([results next]) {
                plan.push_back([[results stringForColumnIndex:3] UTF8String]);
            }
            require(![database hadError]);
        }
        return plan;
    }

    void enter_thread() override { GSRegisterCurrentThread(); }

    void leave_thread() override { GSUnregisterCurrentThread(); }

    void close() override
    {
        const Pool pool;
        require([database close]);
    }

private:
    kit::Failure failure() const
    {
        const int code = [database lastErrorCode] & 0xff;
        std::string kind = "other";
        if (code == SQLITE_BUSY || code == SQLITE_LOCKED) {
            kind = "busy";
        } else if (code == SQLITE_FULL) {
            kind = "full";
        } else if (code == SQLITE_IOERR || code == SQLITE_CANTOPEN) {
            kind = "io";
        } else if (code == SQLITE_CORRUPT || code == SQLITE_NOTADB) {
            kind = "corrupt";
        }
        return kit::Failure(kind, [[database lastErrorMessage] UTF8String]);
    }

    void require(BOOL is_done) const
    {
        if (!is_done) {
            throw failure();
        }
    }

    // Puts every row of a result into the list, or the first.
    void read(FMResultSet *results, NSMutableArray *rows, bool only_first)
    {
        require(results != nil);
        {
            Pool pool;
            while ([results next]) {
                FmdbRow *row = [[FmdbRow alloc] init];
                row.key = [results longLongIntForColumnIndex:0];
                row.value = [results dataForColumnIndex:1];
                [rows addObject:row];
                [row release];
                pool.row();
                if (only_first) {
                    break;
                }
            }
        }
        require(![database hadError]);
        [results close];
    }

    // Runs a pragma, and gives what it answers.
    std::string pragma(const std::string &name)
    {
        FMResultSet *results = [database executeQuery:text("PRAGMA " + name)];
        require(results != nil);
        NSString *answer = [results next] ? [results stringForColumnIndex:0] : nil;
        require(![database hadError]);
        const std::string told = answer == nil ? "" : [answer UTF8String];
        [results close];
        return told;
    }

    int64_t number(const std::string &name)
    {
        const std::string told = pragma(name);
        return told.empty() ? 0 : std::stoll(told);
    }

    void configure(const kit::Open &open)
    {
        const auto set = [this](const std::string &name, const std::string &value) { pragma(name + "=" + value); };
        if (const auto cache_size = open.number("cache_size_bytes")) {
            // Below zero: in KiB.
            set("cache_size", std::to_string(-(*cache_size / 1024)));
        }
        if (const auto page_size = open.number("page_size_bytes")) {
            set("page_size", std::to_string(*page_size));
        }
        for (const auto &[name, words] : { std::pair("locking_mode", &LOCKING_MODES), std::pair("synchronous", &SYNCHRONOUS),
                                           std::pair("journal_mode", &JOURNAL_MODES), std::pair("fullfsync", &NO_YES),
                                           std::pair("checkpoint_fullfsync", &NO_YES) }) {
            if (const auto word = open.word(name, *words)) {
                set(name, *word);
            }
        }
        if (const auto mmap_size = open.number("mmap_size_bytes")) {
            set("mmap_size", std::to_string(*mmap_size));
        }
        if (const auto pages = open.number("wal_autocheckpoint_pages")) {
            set("wal_autocheckpoint", std::to_string(*pages));
        }
    }

    void create(const kit::Open &open)
    {
        require([database beginTransaction]);
        const std::string columns = open.is_keyed ? "(key INTEGER PRIMARY KEY, value BLOB)" : "(key INTEGER, value BLOB)";
        for (uint32_t number = 1; number <= open.tables; ++number) {
            const std::string table = kit::table_name(number);
            require([database executeUpdate:text("CREATE TABLE " + table + columns)]);
            for (const std::string &field : open.indexes) {
                const std::string index = table + "_by_" + field;
                require([database executeUpdate:text("CREATE INDEX " + index + " ON " + table + "(" + field + ")")]);
            }
        }
        require([database commit]);
    }

    FMDatabase *database;
    // Whether the statements of a batch are kept in it.
    bool caches_batches;
    NSString *select;
    NSString *insert;
};

} // namespace

int main()
{
    const Pool pool;
    kit::Subject subject;
    subject.name = "fmdb";
    subject.version = [[FMDatabase FMDBUserVersion] UTF8String];
    subject.engine = std::string("SQLite ") + sqlite3_libversion();
    subject.engine_source = sqlite3_sourceid();
    for (int number = 0; sqlite3_compileoption_get(number) != nullptr; ++number) {
        subject.compile_options.push_back(sqlite3_compileoption_get(number));
    }
    subject.verbs = { "get", "read-all", "insert-one", "insert-many", "open" };
    subject.open = [](const kit::Open &open) { return std::make_unique<Fmdb>(open); };
    return kit::serve(subject);
}
