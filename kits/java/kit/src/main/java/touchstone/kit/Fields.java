// The fields of a message, read strictly: what is missing, of another type or unknown is refused in words.

package touchstone.kit;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParseException;
import com.google.gson.JsonParser;
import com.google.gson.JsonPrimitive;
import com.google.gson.Strictness;
import com.google.gson.stream.JsonReader;
import java.io.IOException;
import java.io.StringReader;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;

/** The fields of one object. Each is taken once; {@link #end} refuses what is left. */
final class Fields {
    private final JsonObject object;

    private Fields(JsonObject object) {
        this.object = object;
    }

    /** Reads a line. */
    static Fields parse(String line) throws Failure {
        try {
            JsonReader reader = new JsonReader(new StringReader(line));
            reader.setStrictness(Strictness.STRICT);
            JsonElement element = JsonParser.parseReader(reader);
            if (!element.isJsonObject() || reader.peek() != com.google.gson.stream.JsonToken.END_DOCUMENT) {
                throw Failure.protocol("not a request: not one JSON object");
            }
            return new Fields(element.getAsJsonObject());
        } catch (JsonParseException | IOException error) {
            throw Failure.protocol("not a request: " + error.getMessage());
        }
    }

    String text(String name) throws Failure {
        JsonPrimitive value = primitive(name);
        if (value == null || !value.isString()) {
            throw wrong(name, "a text");
        }
        return value.getAsString();
    }

    long natural(String name) throws Failure {
        Long number = integerOrNull(name);
        if (number == null || number < 0) {
            throw wrong(name, "a number from 0");
        }
        return number;
    }

    long naturalOr(String name, long otherwise) throws Failure {
        return object.has(name) ? natural(name) : otherwise;
    }

    Long integerOrNull(String name) throws Failure {
        JsonPrimitive value = primitive(name);
        if (value == null) {
            return null;
        }
        return integer(name, value);
    }

    private static Long integer(String name, JsonPrimitive value) throws Failure {
        try {
            if (value.isNumber()) {
                return value.getAsBigDecimal().longValueExact();
            }
        } catch (ArithmeticException | NumberFormatException error) {
            // Said below.
        }
        throw wrong(name, "an integer");
    }

    boolean flag(String name) throws Failure {
        JsonPrimitive value = primitive(name);
        if (value == null || !value.isBoolean()) {
            throw wrong(name, "true or false");
        }
        return value.getAsBoolean();
    }

    boolean flagOr(String name, boolean otherwise) throws Failure {
        return object.has(name) ? flag(name) : otherwise;
    }

    /** One of the words of an enum, which are its names in lower case. */
    <E extends Enum<E>> E wordOr(String name, E otherwise) throws Failure {
        if (!object.has(name)) {
            return otherwise;
        }
        String word = text(name);
        for (E known : otherwise.getDeclaringClass().getEnumConstants()) {
            if (known.name().toLowerCase(Locale.ROOT).equals(word)) {
                return known;
            }
        }
        throw wrong(name, "another word than `" + word + "`");
    }

    Path path(String name) throws Failure {
        Path path = pathOrNull(name);
        if (path == null) {
            throw wrong(name, "a path");
        }
        return path;
    }

    Path pathOrNull(String name) throws Failure {
        JsonPrimitive value = primitive(name);
        if (value == null) {
            return null;
        }
        try {
            return Path.of(value.getAsString());
        } catch (InvalidPathException error) {
            throw wrong(name, "a path");
        }
    }

    Fields object(String name) throws Failure {
        if (object.remove(name) instanceof JsonObject value) {
            return new Fields(value);
        }
        throw wrong(name, "an object");
    }

    List<Fields> objects(String name) throws Failure {
        List<Fields> all = new ArrayList<>();
        for (JsonElement element : array(name)) {
            if (!(element instanceof JsonObject value)) {
                throw wrong(name, "a list of objects");
            }
            all.add(new Fields(value));
        }
        return all;
    }

    List<String> texts(String name) throws Failure {
        List<String> all = new ArrayList<>();
        for (JsonElement element : array(name)) {
            all.add(element.getAsString());
        }
        return all;
    }

    /** Takes every field: a number or a word each. */
    Map<String, Object> settings() throws Failure {
        Map<String, Object> all = new TreeMap<>();
        for (Map.Entry<String, JsonElement> entry : object.entrySet()) {
            JsonPrimitive value = entry.getValue().getAsJsonPrimitive();
            all.put(entry.getKey(), value.isString() ? value.getAsString() : integer(entry.getKey(), value));
        }
        return all;
    }

    /** Refuses what was not taken. */
    void end() throws Failure {
        if (!object.keySet().isEmpty()) {
            throw Failure.protocol("not a request: unknown fields " + object.keySet());
        }
    }

    private JsonArray array(String name) throws Failure {
        if (object.remove(name) instanceof JsonArray value) {
            return value;
        }
        throw wrong(name, "a list");
    }

    /** The field, or null where it is missing or null. */
    private JsonPrimitive primitive(String name) throws Failure {
        JsonElement value = object.remove(name);
        if (value == null || value.isJsonNull()) {
            return null;
        }
        if (value instanceof JsonPrimitive primitive) {
            return primitive;
        }
        throw wrong(name, "no object and no list");
    }

    private static Failure wrong(String name, String expected) {
        return Failure.protocol("not a request: `" + name + "` must be " + expected);
    }
}
