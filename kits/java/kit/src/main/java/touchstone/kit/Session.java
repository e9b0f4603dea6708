// What a session does on one record type: a dataset is prepared, a database is open, and verbs go from one to the other.

package touchstone.kit;

import com.google.gson.JsonObject;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** The datasets and databases of one record type. At most one of each is there. */
final class Session<K, R extends Record<K>> {
    private final Driver driver;
    final Shelf<K, R> shelf;
    private Dataset<R> dataset;
    private Database<K, R> database;
    /** Null where none were prepared. */
    private List<Subscription> subscriptions;

    /** How many of them are watched. */
    private int watched;
    /** What each subscriber had last, while lanes ask for differences. */
    private List<int[]> had;

    Session(Driver driver, Shelf<K, R> shelf) {
        this.driver = driver;
        this.shelf = shelf;
    }

    boolean isOpen() {
        return database != null;
    }

    void forget() {
        dataset = null;
    }

    /** Reads the files; all but the first may be null. */
    JsonObject prepare(Path dataset, Path operations, Path states, Path subscriptions) throws Failure {
        if (subscriptions != null && shelf.watches().isEmpty()) {
            throw Failure.unsupported("the driver has no subscriptions to a " + shelf.kind().wire());
        }
        this.dataset = new Dataset<>(shelf.decode(), dataset, operations, states);
        this.subscriptions = subscriptions == null ? null : Subscription.read(subscriptions);
        watched = 0;
        JsonObject reply = Kit.reply("prepare");
        reply.addProperty("records", this.dataset.records());
        reply.addProperty("operations", this.dataset.operations());
        if (this.dataset.states() > 0) {
            reply.addProperty("states", this.dataset.states());
        }
        if (subscriptions != null && !this.subscriptions.isEmpty()) {
            reply.addProperty("subscriptions", this.subscriptions.size());
        }
        return reply;
    }

    JsonObject open(Open open) throws Exception {
        shelf.require(open);
        Store<K, R> store = shelf.opener().open(open);
        database = new Database<>(open, store);
        JsonObject settings = new JsonObject();
        for (Map.Entry<String, Object> setting : store.settings().entrySet()) {
            if (setting.getValue() instanceof Number number) {
                settings.addProperty(setting.getKey(), number);
            } else {
                settings.addProperty(setting.getKey(), (String) setting.getValue());
            }
        }
        JsonObject reply = Kit.reply("open");
        reply.add("settings", settings);
        return reply;
    }

    void fill(long from, long count, int table) throws Exception {
        playing().requireTable(table, database.open);
        Store<K, R> store = database.handles(List.of(table)).get(0);
        List<R> records = of(table).records(from, count);
        if (shelf.verbs().contains(Verb.INSERT_MANY)) {
            store.insertMany(records);
            return;
        }
        for (R record : records) {
            store.insertOne(record);
        }
    }

    void churn(long from, long count, int table, long times) throws Exception {
        playing().requireTable(table, database.open);
        for (Verb verb : List.of(Verb.INSERT_MANY, Verb.DELETE_MANY)) {
            if (!shelf.verbs().contains(verb)) {
                String missing = shelf.kind().wire() + "." + verb.wire();
                throw Failure.unsupported("the driver has no " + missing + ", which churning takes");
            }
        }
        Store<K, R> store = database.handles(List.of(table)).get(0);
        for (long time = 0; time < times; time++) {
            store.insertMany(of(table).records(from, count));
            store.deleteMany();
        }
    }

    /** Subscribes to the first so many. */
    void watch(long count) throws Exception {
        playing();
        Live<K, R> live = live();
        if (count > subscriptions.size()) {
            throw Failure.protocol(
                    count + " subscriptions were asked for; there are " + subscriptions.size());
        }
        List<Subscription> first = subscriptions.subList(0, (int) count);
        shelf.requireWatched(first);
        watched = (int) count;
        had = null;
        live.watch(first);
    }

    JsonObject run(List<Lane> lanes, Path latency) throws Exception {
        playing();
        if (lanes.size() == 1 && lanes.get(0).verb() == Verb.OPEN) {
            return keep(runOpen(lanes.get(0)), latency);
        }
        return keep(play(lanes, latency != null), latency);
    }

    /** There is no plan to tell: no Java driver has one yet. The lanes are played all the same, as the lab expects. */
    JsonObject explain(List<Lane> lanes) throws Exception {
        play(lanes, false);
        JsonObject reply = Kit.reply("explain");
        reply.add("plan", new com.google.gson.JsonArray());
        reply.add("counters", new JsonObject());
        return reply;
    }

    JsonObject check(int table) throws Exception {
        playing().requireTable(table, database.open);
        Store<K, R> store = database.another(table);
        Digest digest = new Digest();
        try {
            Answers.inKeyOrder(store.readAll()).forEach(digest::add);
        } finally {
            store.close();
        }
        JsonObject reply = Kit.reply("check");
        reply.addProperty("answers", digest.answers());
        reply.addProperty("digest", digest.toString());
        return reply;
    }

    void close() throws Exception {
        if (database != null) {
            Database<K, R> closing = database;
            database = null;
            closing.close();
        }
    }

    private Timing.Played play(List<Lane> lanes, boolean latency) throws Exception {
        playing();
        if (lanes.size() == 1 && lanes.get(0).verb().watches()) {
            return playWatching(lanes.get(0), latency);
        }
        if (lanes.isEmpty()) {
            throw Failure.protocol("a run has at least one lane");
        }
        for (Lane lane : lanes) {
            shelf.require(lane, database.open);
        }
        List<Store<K, R>> handles = database.handles(lanes.stream().map(Lane::table).toList());
        List<Timing.Part<K, R>> parts = new ArrayList<>();
        for (int number = 0; number < lanes.size(); number++) {
            Lane lane = lanes.get(number);
            Work<K, R> work = Work.gather(of(lane.table()), lane);
            parts.add(new Timing.Part<>(handles.get(number), work, lane.held()));
        }
        return Timing.play(driver, parts, latency);
    }

    /** A lane about subscriptions runs on the session's own handle. */
    private Timing.Played playWatching(Lane lane, boolean latency) throws Exception {
        Live<K, R> live = live();
        if (lane.verb() == Verb.SUBSCRIBE) {
            var subscribing = new Subscribing<>(driver, live, lane, subscriptions);
            shelf.requireWatched(subscribing.begun());
            return subscribing.play(latency);
        }
        var delivering = new Delivering<>(driver, live, lane, subscriptions.subList(0, watched), had);
        Timing.Played played = delivering.play(dataset);
        had = delivering.had();
        return played;
    }

    /** An `open` lane measures the only handle of a process, so the session's own gives way to it. */
    private Timing.Played runOpen(Lane lane) throws Exception {
        shelf.require(lane, database.open);
        Open open = database.open;
        close();
        Timing.Played played = Timing.open(driver, shelf.opener(), open, lane.count());
        database = new Database<>(open, shelf.opener().open(open));
        return played;
    }

    /** The dataset in the type of a table. */
    private Dataset<R> of(int table) {
        return dataset.as(shelf.decode(table, database.open));
    }

    private Live<K, R> live() throws Failure {
        if (subscriptions == null || !(database.own() instanceof Live<K, R> live)) {
            throw Failure.protocol("no subscriptions are prepared");
        }
        return live;
    }

    private Shelf<K, R> playing() throws Failure {
        if (database == null) {
            throw Failure.protocol("no database of this record is open");
        }
        if (dataset == null) {
            throw Failure.protocol("no dataset of this record is prepared");
        }
        return shelf;
    }

    /** Writes the latencies to their file, off the clock. */
    private static JsonObject keep(Timing.Played played, Path latency) throws Failure {
        if (latency != null) {
            int operations = played.latencyNs().stream().mapToInt(lane -> lane.length).sum();
            ByteBuffer bytes = ByteBuffer.allocate(8 * operations).order(ByteOrder.LITTLE_ENDIAN);
            played.latencyNs().forEach(lane -> java.util.Arrays.stream(lane).forEach(bytes::putLong));
            try {
                Files.write(latency, bytes.array());
            } catch (IOException error) {
                throw new Failure(Failure.Kind.IO, latency + ": " + error);
            }
        }
        return played.sample();
    }
}
