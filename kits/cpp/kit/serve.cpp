// The protocol loop: one line, one reply, until standard input ends or the lab says `quit`.

#include "session.h"

#include <climits>
#include <cstdio>
#include <fcntl.h>
#include <malloc.h>
#include <unistd.h>

namespace kit {

namespace {

const size_t LINE_BYTES_MAX = 1 << 20;

enum class Line { WHOLE, TOO_LONG, END };

// Reads one line without its end. Of one that is too long nothing is kept; one that the end of the input cuts off is
// the end.
Line read_line(FILE *input, std::string &line)
{
    line.clear();
    size_t size = 0;
    for (int byte; (byte = std::getc(input)) != EOF;) {
        ++size;
        if (byte == '\n') {
            return size > LINE_BYTES_MAX ? Line::TOO_LONG : Line::WHOLE;
        }
        if (size < LINE_BYTES_MAX) {
            line.push_back(static_cast<char>(byte));
        }
    }
    return Line::END;
}

// Has the allocator keep what is freed. The kit holds every answer until the clock has stopped, which no user of a
// library does. Given back to the system, that memory would fault in anew in each slice, at the subject's cost.
void keep_freed_memory()
{
#ifdef __GLIBC__
    mallopt(M_TRIM_THRESHOLD, INT_MAX);
    mallopt(M_MMAP_THRESHOLD, 32 << 20);
#endif
}

// Where replies go: what was standard output. A driver or a library that prints is no reply; it prints to standard error.
FILE *take_replies()
{
    const int replies = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    const bool is_taken = replies >= 0 && dup2(STDERR_FILENO, STDOUT_FILENO) >= 0;
    return is_taken ? fdopen(replies, "w") : nullptr;
}

} // namespace

int serve(const Subject &subject)
{
    keep_freed_memory();
    FILE *const replies = take_replies();
    if (replies == nullptr) {
        std::perror("standard output cannot be kept for replies");
        return 1;
    }
    Session session(subject);
    std::string line;
    for (;;) {
        const Line read = read_line(stdin, line);
        if (read == Line::END) {
            try {
                session.close();
                return 0;
            } catch (const std::exception &error) {
                std::fprintf(stderr, "the lab is gone: %s\n", error.what());
                return 1;
            }
        }
        const nlohmann::json reply =
            read == Line::WHOLE ? session.reply(line)
                                : nlohmann::json{ { "reply", "error" },
                                                  { "kind", "protocol" },
                                                  { "message", "a line is longer than 1 MiB" } };
        const std::string text = reply.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
        if (std::fwrite(text.data(), 1, text.size(), replies) != text.size() || std::fflush(replies) != 0) {
            std::fprintf(stderr, "the lab is gone: a reply cannot be written\n");
            return 1;
        }
        if (reply["reply"] == "quit") {
            return 0;
        }
    }
}

} // namespace kit
