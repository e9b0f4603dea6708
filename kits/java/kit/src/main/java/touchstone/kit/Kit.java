// The protocol loop: one request, one reply, until standard input ends or the lab says `quit`.
//
// This package is what every Java driver shares, so that a driver is nothing but its subject. It speaks protocol v1,
// plays the lab's operations against the driver, and is the only code that reads a clock around a subject. It holds no
// generator, no statistics and no opinion.

package touchstone.kit;

import com.google.gson.Gson;
import com.google.gson.GsonBuilder;
import com.google.gson.JsonArray;
import com.google.gson.JsonObject;
import java.io.BufferedInputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

/** A driver, ready to talk to the lab. */
public final class Kit {
    private static final int PROTOCOL = 1;
    private static final Gson JSON = new GsonBuilder().disableHtmlEscaping().create();

    private final Driver driver;
    private final List<Session<?, ?>> sessions = new ArrayList<>();

    private Kit(Driver driver) {
        this.driver = driver;
        driver.shelves().forEach(shelf -> sessions.add(new Session<>(driver, shelf)));
    }

    /** Talks to the lab over standard input and output until one of them ends. */
    public static void main(Driver driver) throws IOException {
        PrintStream replies = System.out;
        // A library that prints is no reply.
        System.setOut(System.err);
        Lines lines = new Lines(new BufferedInputStream(System.in));
        Kit kit = new Kit(driver);
        boolean ends = false;
        while (!ends) {
            JsonObject reply;
            try {
                String line = lines.next();
                // An input that ends is a lab that says `quit`, and waits for no reply.
                if (line == null) {
                    kit.close();
                    break;
                }
                reply = kit.answer(Fields.parse(line));
                ends = reply.get("reply").getAsString().equals("quit");
            } catch (IOException error) {
                throw error;
            } catch (Exception error) {
                reply = kit.refusal(driver.failure(error));
            }
            replies.write((JSON.toJson(reply) + "\n").getBytes(StandardCharsets.UTF_8));
            replies.flush();
        }
        // Threads that a library leaves behind would keep the process.
        System.exit(0);
    }

    /** The start of a reply. */
    static JsonObject reply(String name) {
        JsonObject reply = new JsonObject();
        reply.addProperty("reply", name);
        return reply;
    }

    private JsonObject refusal(Failure failure) {
        JsonObject reply = reply("error");
        reply.addProperty("kind", failure.kind.wire());
        reply.addProperty("message", failure.getMessage());
        return reply;
    }

    private JsonObject answer(Fields fields) throws Exception {
        String request = fields.text("request");
        return switch (request) {
            case "hello" -> hello(fields);
            case "prepare" -> prepare(fields);
            case "open" -> open(fields);
            case "fill", "churn" -> store(request, fields);
            case "watch" -> {
                long count = fields.natural("count");
                fields.end();
                playing().watch(count);
                yield reply(request);
            }
            case "run", "explain" -> play(request, fields);
            case "check" -> {
                int table = (int) fields.naturalOr("table", 1);
                fields.end();
                yield playing().check(table);
            }
            case "close", "quit" -> {
                fields.end();
                close();
                yield reply(request);
            }
            default -> throw Failure.protocol("not a request: `" + request + "`");
        };
    }

    private JsonObject hello(Fields fields) throws Failure {
        long protocol = fields.natural("protocol");
        fields.end();
        if (protocol != PROTOCOL) {
            throw Failure.protocol("the lab speaks protocol " + protocol + ", this kit speaks " + PROTOCOL);
        }
        JsonArray capabilities = new JsonArray();
        for (Session<?, ?> session : sessions) {
            Shelf<?, ?> shelf = session.shelf;
            String record = shelf.kind().wire();
            shelf.verbs().stream().sorted().forEach(verb -> capabilities.add(record + "." + verb.wire()));
            if (shelf.holds()) {
                capabilities.add(record + ".held");
            }
            if (shelf.tables()) {
                capabilities.add(record + ".tables");
            }
            if (!shelf.typed().isEmpty()) {
                capabilities.add(record + ".typed");
            }
            if (!shelf.watches().isEmpty()) {
                capabilities.add(record + "." + Verb.DELIVER.wire());
                capabilities.add(record + "." + Verb.SUBSCRIBE.wire());
            }
            shelf.watches().forEach(watched -> capabilities.add(record + ".watch-" + watched.wire()));
        }
        About about = driver.about();
        JsonArray options = new JsonArray();
        about.compileOptions().forEach(options::add);
        JsonObject reply = reply("hello");
        reply.addProperty("protocol", PROTOCOL);
        reply.addProperty("kit", "java " + Kit.class.getPackage().getImplementationVersion());
        reply.addProperty("subject", about.subject());
        reply.addProperty("version", about.version());
        reply.addProperty("engine", about.engine());
        reply.addProperty("engine_source", about.engineSource());
        reply.add("compile_options", options);
        reply.add("capabilities", capabilities);
        reply.add("clock", Clock.measure());
        return reply;
    }

    private JsonObject prepare(Fields fields) throws Failure {
        RecordKind record = RecordKind.named(fields.text("record"));
        var dataset = fields.path("dataset");
        var operations = fields.pathOrNull("operations");
        var states = fields.pathOrNull("states");
        var subscriptions = fields.pathOrNull("subscriptions");
        fields.end();
        sessions.forEach(Session::forget);
        return session(record).prepare(dataset, operations, states, subscriptions);
    }

    private JsonObject open(Fields fields) throws Exception {
        var directory = fields.path("directory");
        RecordKind record = RecordKind.named(fields.text("record"));
        Fields schema = fields.object("schema");
        boolean create = schema.flag("create");
        int tables = (int) schema.natural("tables");
        boolean keyed = schema.flagOr("keyed", false);
        boolean typed = schema.flagOr("typed", false);
        List<String> indexes = schema.texts("indexes");
        schema.end();
        var settings = fields.object("settings").settings();
        fields.end();
        if (sessions.stream().anyMatch(Session::isOpen)) {
            throw Failure.protocol("a database is open; close it first");
        }
        return session(record).open(new Open(directory, record, create, tables, keyed, typed, indexes, 1, settings));
    }

    private JsonObject store(String request, Fields fields) throws Exception {
        long from = fields.natural("from");
        long count = fields.natural("count");
        int table = (int) fields.naturalOr("table", 1);
        if (request.equals("churn")) {
            long times = fields.natural("times");
            fields.end();
            playing().churn(from, count, table, times);
        } else {
            fields.end();
            playing().fill(from, count, table);
        }
        return reply(request);
    }

    private JsonObject play(String request, Fields fields) throws Exception {
        List<Lane> lanes = new ArrayList<>();
        for (Fields lane : fields.objects("lanes")) {
            lanes.add(Lane.read(lane));
        }
        if (request.equals("explain")) {
            fields.end();
            return playing().explain(lanes);
        }
        var latency = fields.pathOrNull("latency");
        fields.end();
        return playing().run(lanes, latency);
    }

    private void close() throws Exception {
        for (Session<?, ?> session : sessions) {
            session.close();
        }
    }

    /** The session whose database is open. */
    private Session<?, ?> playing() throws Failure {
        return sessions.stream()
                .filter(Session::isOpen)
                .findFirst()
                .orElseThrow(() -> Failure.protocol("no database is open"));
    }

    private Session<?, ?> session(RecordKind record) throws Failure {
        String subject = driver.about().subject();
        return sessions.stream()
                .filter(session -> session.shelf.kind() == record)
                .findFirst()
                .orElseThrow(() -> Failure.unsupported(subject + " stores no " + record.wire()));
    }
}
