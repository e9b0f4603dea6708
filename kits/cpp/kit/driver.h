// What a driver implements: a handle on a database, with a method for each verb, and objects in the library's own types.
//
// Nothing here reads a clock, counts or digests: the kit does that around these calls. A method that fails throws a
// Failure. The kit catches it, so that a driver needs no handler of its own: Objective-C++ on GCC's runtime has none.

#pragma once

#include "failure.h"
#include "open.h"
#include "row.h"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace kit {

// Takes a row: its key, and its value with the size.
using TakeRow = std::function<void(int64_t key, const unsigned char *value, size_t size)>;

// Rows as the library's users have them: a list of objects in the library's types. The kit keeps them until the clock
// has stopped.
class Objects {
public:
    virtual ~Objects() = default;

    // Gives every row, in the list's order, of which each stays where it is as long as the list does. An answer's is timed:
    // what the library would fetch later is fetched in time.
    virtual void each(const TakeRow &take) const = 0;
};

using Verbs = std::vector<std::string>;

// A handle on a database, as a user of the library would have one in each thread.
class Driver {
public:
    virtual ~Driver() = default;

    // What took effect, read back from the engine.
    virtual Settings settings() = 0;

    // A further handle, for another thread, opened off the clock.
    virtual std::unique_ptr<Driver> another(const Open &open) = 0;

    // Objects made of rows, as a program has them before it stores them. Off the clock.
    virtual std::unique_ptr<Objects> make(const std::vector<const Row *> &rows) = 0;

    // The object with the key, put at the end of `found`, if there is one.
    virtual void get(int64_t key, Objects &found) = 0;

    // Every row of the table.
    virtual std::unique_ptr<Objects> read_all() = 0;

    // Inserts the object at that place, in a commit of its own.
    virtual void insert_one(const Objects &objects, size_t place) = 0;

    // Inserts all in one commit.
    virtual void insert_many(const Objects &objects) = 0;

    // Answers a first query: a list of one object of the first table, each time the same, or of none from an empty one.
    virtual std::unique_ptr<Objects> first() { throw Failure("unsupported", "the driver has no row.open"); }

    // How the verb is done, in the engine's words, if it tells.
    virtual std::vector<std::string> explain(const std::string &) { return {}; }

    // Before and after what a lane does in a thread of its own. Off the clock.
    virtual void enter_thread() {}
    virtual void leave_thread() {}

    // Closes the handle. Nothing else is called after.
    virtual void close() = 0;
};

// Who a driver is, and how it is opened.
struct Subject {
    std::string name;
    std::string version;
    // The database library really linked, with its version.
    std::string engine;
    std::string engine_source;
    std::vector<std::string> compile_options;
    Verbs verbs;
    std::function<std::unique_ptr<Driver>(const Open &)> open;
};

// Serves the lab on standard input and output until it is gone; the program's status.
int serve(const Subject &subject);

} // namespace kit
