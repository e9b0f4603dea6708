// Plays the golden conversations against every driver of the kit's table: `protocol/conversations/README.md` says how
// they are written. A driver is tested as soon as it has its row.

package touchstone.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.DynamicTest.dynamicTest;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import com.google.gson.JsonPrimitive;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.TestFactory;

class ConversationsTest {
    private static final Path CONVERSATIONS =
            Session.kit().getParent().getParent().resolve("protocol/conversations");

    /** The conversations that a driver must have the capabilities for, lest it lose one unnoticed. */
    private static final Map<String, Integer> COUNTS =
            Map.of("objectbox", 11, "canary-java-wrong", 5, "canary-java-sleep", 5);

    @TestFactory
    Stream<DynamicTest> everyDriverSpeaksTheGoldenConversations() throws Exception {
        List<DynamicTest> tests = new ArrayList<>();
        Map<String, List<String>> commands = commands();
        assertEquals(COUNTS.keySet(), commands.keySet());
        for (Map.Entry<String, List<String>> command : commands.entrySet()) {
            int before = tests.size();
            List<String> capabilities = capabilities(command.getValue());
            for (Path file : conversations()) {
                List<String> lines = Files.readAllLines(file);
                JsonArray needs = object(lines.get(0)).getAsJsonArray("needs");
                if (needs.asList().stream().allMatch(need -> capabilities.contains(need.getAsString()))) {
                    String name = command.getKey() + ": " + file.getFileName();
                    tests.add(dynamicTest(name, () -> play(command.getValue(), lines)));
                }
            }
            assertEquals(COUNTS.get(command.getKey()), tests.size() - before, command.getKey());
        }
        return tests.stream();
    }

    /** The command of each subject: of the table, the two lines that name them are enough, and are JSON. */
    private static Map<String, List<String>> commands() throws IOException {
        Map<String, List<String>> commands = new TreeMap<>();
        String name = "";
        for (String line : Files.readAllLines(Session.kit().resolve("kit.toml"))) {
            if (line.startsWith("name = ")) {
                name = JsonParser.parseString(line.substring("name = ".length())).getAsString();
            } else if (line.startsWith("run = ")) {
                JsonArray words = JsonParser.parseString(line.substring("run = ".length())).getAsJsonArray();
                commands.put(name, words.asList().stream().map(JsonElement::getAsString).toList());
            }
        }
        return commands;
    }

    private static List<Path> conversations() throws IOException {
        try (Stream<Path> files = Files.list(CONVERSATIONS)) {
            return files.filter(file -> file.toString().endsWith(".jsonl")).sorted().toList();
        }
    }

    private static List<String> capabilities(List<String> command) throws IOException {
        try (Session session = new Session(command)) {
            JsonObject hello = object(session.say("{\"request\": \"hello\", \"protocol\": 1}"));
            return hello.getAsJsonArray("capabilities").asList().stream()
                    .map(JsonElement::getAsString)
                    .toList();
        }
    }

    private static void play(List<String> command, List<String> lines) throws Exception {
        Path directory = Files.createTempDirectory("touchstone-java-");
        try (Session session = new Session(command)) {
            String answer = null;
            for (int number = 2; number <= lines.size(); number++) {
                JsonObject line = object(lines.get(number - 1));
                JsonElement lab = line.get("lab");
                JsonElement kit = line.get("kit");
                if (lab != null && lab.isJsonNull()) {
                    session.hangUp();
                } else if (lab != null) {
                    String text = lab.isJsonPrimitive() ? lab.getAsString() : lab.toString();
                    text = text.replace("<here>", CONVERSATIONS.toString());
                    answer = session.say(text.replace("<directory>", directory.toString()));
                } else if (kit.isJsonNull()) {
                    assertNull(session.hear(), "it says nothing more");
                    assertEquals(0, session.status());
                    assertEquals(lines.size(), number, "the conversation ends");
                    return;
                } else {
                    assertNotNull(answer, "line " + number + ": it has ended");
                    String got = answer;
                    boolean right = matches(kit, JsonParser.parseString(answer));
                    assertTrue(right, () -> "expected " + kit + ", not " + got);
                }
            }
            assertFalse(true, "the conversation does not end");
        } finally {
            try (Stream<Path> left = Files.walk(directory)) {
                for (Path path : left.sorted((one, other) -> other.compareTo(one)).toList()) {
                    Files.delete(path);
                }
            }
        }
    }

    /** Whether a value is the one expected; placeholders stand for what is measured. */
    private static boolean matches(JsonElement expected, JsonElement value) {
        if (expected instanceof JsonPrimitive text && text.getAsString().matches("<.*>")) {
            return switch (text.getAsString()) {
                case "<number>" -> value instanceof JsonPrimitive number && number.isNumber();
                case "<text>" -> value instanceof JsonPrimitive words && words.isString();
                case "<list>" -> value.isJsonArray();
                case "<object>" -> value.isJsonObject();
                default -> throw new AssertionError("there is no placeholder " + text);
            };
        }
        if (expected instanceof JsonObject fields && value instanceof JsonObject found) {
            return fields.keySet().containsAll(found.keySet())
                    && fields.entrySet().stream()
                            .allMatch(
                                    field ->
                                            found.has(field.getKey())
                                                    ? matches(field.getValue(), found.get(field.getKey()))
                                                    : field.getValue().equals(new JsonObject()));
        }
        if (expected instanceof JsonArray list && value instanceof JsonArray found) {
            boolean same = list.size() == found.size();
            for (int place = 0; same && place < list.size(); place++) {
                same = matches(list.get(place), found.get(place));
            }
            return same;
        }
        return expected.equals(value);
    }

    private static JsonObject object(String line) {
        return JsonParser.parseString(line).getAsJsonObject();
    }
}
