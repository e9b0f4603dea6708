// Plays the golden conversations against a driver: `protocol/conversations/README.md` says how they are written.
//
// Arguments: how many of them the driver must have the capabilities for; settings that each `open` asks for beside its
// own, as JSON, which must take effect; the driver's program and its arguments.

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

using nlohmann::json;
namespace fs = std::filesystem;

namespace {

[[noreturn]] void fail(const std::string &why)
{
    std::cerr << why << "\n";
    std::exit(1);
}

// A driver that was started, and the lab's part of speaking with it.
class Session {
public:
    explicit Session(const std::vector<char *> &command)
    {
        int said[2], answered[2];
        if (pipe(said) != 0 || pipe(answered) != 0 || (child = fork()) < 0) {
            fail("a driver cannot be started");
        }
        if (child == 0) {
            dup2(said[0], 0);
            dup2(answered[1], 1);
            for (const int end : { said[0], said[1], answered[0], answered[1] }) {
                ::close(end);
            }
            std::vector<char *> words = command;
            words.push_back(nullptr);
            execvp(words[0], words.data());
            _exit(127);
        }
        ::close(said[0]);
        ::close(answered[1]);
        to = fdopen(said[1], "w");
        from = fdopen(answered[0], "r");
    }

    std::string say(const std::string &line)
    {
        std::fputs((line + "\n").c_str(), to);
        std::fflush(to);
        return read_line();
    }

    void hang_up()
    {
        std::fclose(to);
        to = nullptr;
    }

    // Whether it has ended as asked to, and has said nothing more.
    bool has_ended_well()
    {
        if (to != nullptr) {
            hang_up();
        }
        const bool is_silent = read_line().empty();
        std::fclose(from);
        int status = 0;
        waitpid(child, &status, 0);
        return is_silent && WIFEXITED(status) && WEXITSTATUS(status) == 0;
    }

private:
    std::string read_line()
    {
        std::string line;
        for (int byte; (byte = std::getc(from)) != EOF && byte != '\n';) {
            line.push_back(static_cast<char>(byte));
        }
        return line;
    }

    pid_t child = 0;
    FILE *to = nullptr;
    FILE *from = nullptr;
};

bool matches(const json &expected, const json &value)
{
    if (expected == "<number>") {
        return value.is_number();
    } else if (expected == "<text>") {
        return value.is_string();
    } else if (expected == "<list>") {
        return value.is_array();
    } else if (expected == "<object>") {
        return value.is_object();
    } else if (expected.is_object() && value.is_object()) {
        for (const auto &[name, told] : value.items()) {
            if (!expected.contains(name) || !matches(expected[name], told)) {
                return false;
            }
        }
        for (const auto &[name, wanted] : expected.items()) {
            if (!value.contains(name) && wanted != json::object()) {
                return false;
            }
        }
        return true;
    } else if (expected.is_array() && value.is_array() && expected.size() == value.size()) {
        for (size_t place = 0; place < expected.size(); ++place) {
            if (!matches(expected[place], value[place])) {
                return false;
            }
        }
        return true;
    }
    return expected == value;
}

std::string replaced(std::string text, const std::string &name, const std::string &with)
{
    for (size_t at; (at = text.find(name)) != std::string::npos;) {
        text.replace(at, name.size(), with);
    }
    return text;
}

std::vector<json> read_conversation(const fs::path &path)
{
    std::vector<json> lines;
    std::ifstream file(path);
    for (std::string line; std::getline(file, line);) {
        lines.push_back(json::parse(line));
    }
    return lines;
}

// Whether every setting that was asked for took effect.
bool are_settings_kept(const json &asked, const json &opened)
{
    for (const auto &[name, value] : asked.items()) {
        if (!opened.contains("settings") || opened["settings"].value(name, json()) != value) {
            return false;
        }
    }
    return true;
}

void play(const std::vector<json> &lines, const json &settings, const std::vector<char *> &command, const fs::path &here,
          const std::string &title)
{
    std::string pattern = (fs::temp_directory_path() / "touchstone-cpp-XXXXXX").string();
    const fs::path directory = mkdtemp(pattern.data());
    Session session(command);
    json answer;
    for (size_t number = 1; number < lines.size(); ++number) {
        const std::string place = title + ":" + std::to_string(number + 1) + ": ";
        json line = lines[number];
        if (line.contains("lab") && line["lab"].is_null()) {
            session.hang_up();
        } else if (line.contains("lab")) {
            json said = line["lab"];
            if (said.is_object() && said.value("request", "") == "open") {
                said["settings"].update(settings);
            }
            std::string text = said.is_string() ? said.get<std::string>() : said.dump();
            text = replaced(replaced(text, "<here>", here.string()), "<directory>", directory.string());
            answer = json::parse(session.say(text), nullptr, false);
            if (answer.is_object() && answer.value("reply", "") == "open" && !are_settings_kept(settings, answer)) {
                fail(place + "asked for " + settings.dump() + ", answered " + answer.dump());
            }
        } else if (line["kit"].is_null()) {
            if (!session.has_ended_well()) {
                fail(place + "the driver did not end well");
            }
        } else if (!matches(line["kit"], answer)) {
            fail(place + "expected " + line["kit"].dump() + ", answered " + answer.dump());
        }
    }
    fs::remove_all(directory);
}

} // namespace

int main(int count, char **arguments)
{
    if (count < 4) {
        fail("usage: conversations COUNT SETTINGS PROGRAM [ARGUMENT]...");
    }
    const std::vector<char *> command(arguments + 3, arguments + count);
    const json settings = json::parse(arguments[2]);
    const fs::path here = fs::absolute("../../protocol/conversations").lexically_normal();
    Session asked(command);
    const json hello = json::parse(asked.say(R"({"request": "hello", "protocol": 1})"), nullptr, false);
    if (!asked.has_ended_well() || !hello.contains("capabilities")) {
        fail("the driver did not say who it is");
    }
    std::vector<fs::path> files;
    for (const fs::directory_entry &entry : fs::directory_iterator(here)) {
        if (entry.path().extension() == ".jsonl") {
            files.push_back(entry.path());
        }
    }
    std::sort(files.begin(), files.end());
    int played = 0;
    for (const fs::path &file : files) {
        const std::vector<json> lines = read_conversation(file);
        bool has_all = true;
        for (const json &need : lines[0]["needs"]) {
            const json &has = hello["capabilities"];
            has_all = has_all && std::find(has.begin(), has.end(), need) != has.end();
        }
        if (has_all) {
            play(lines, settings, command, here, file.filename().string());
            ++played;
        }
    }
    if (std::to_string(played) != arguments[1]) {
        fail("the driver has the capabilities for " + std::to_string(played) + " conversations, not " + arguments[1]);
    }
    std::cout << hello["subject"].get<std::string>() << ": " << played << " conversations with " << settings << "\n";
    return 0;
}
