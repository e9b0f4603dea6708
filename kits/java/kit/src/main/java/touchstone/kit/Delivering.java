// Plays a `deliver` lane: transactions with subscribers, each timed by its moments, and after each, off the clock,
// everything that was delivered is looked at.

package touchstone.kit;

import com.google.gson.JsonArray;
import com.google.gson.JsonObject;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Supplier;
import java.util.zip.CRC32;

/** What the transactions of a lane come to. */
final class Delivering<K, R extends Record<K>> {
    private static final String[] COUNTS = {
        "voluntary_switches", "involuntary_switches", "major_faults", "read_bytes", "written_bytes"
    };

    private final Live<K, R> live;
    private final Lane lane;
    private final List<Subscription> watched;
    private final Results results = new Results();
    private final Answers<R> failed;
    /** What each subscriber had last: kept only while differences are asked for, else null. */
    private final List<int[]> had;
    /** The last result that each subscription was given. */
    private final Map<Integer, int[]> last = new TreeMap<>();

    private final CRC32 digest = new CRC32();
    private final List<Long> latencyNs = new ArrayList<>();
    private final long[] usage = new long[COUNTS.length];
    private long deliveries;
    private long wallNs;
    private long processorNs;
    private long writeNs;
    private long commitNs;
    private long deliveryNs;
    private long depthNs;
    private long differing;

    /** A lane on the session's handle; {@code had} is what {@link #had} gave after the lane before. */
    Delivering(Driver driver, Live<K, R> live, Lane lane, List<Subscription> watched, List<int[]> had)
            throws Exception {
        this.live = live;
        this.lane = lane;
        this.watched = watched;
        failed = new Answers<>(driver, 0);
        if (lane.depth() != Lane.Depth.DIFF) {
            this.had = null;
        } else if (had != null) {
            this.had = had;
        } else {
            this.had = new ArrayList<>();
            for (Subscription subscription : watched) {
                this.had.add(results.crcs(live.fetch(subscription)));
            }
        }
    }

    /** What each subscriber has, for the next lane. */
    List<int[]> had() {
        return had;
    }

    /** Plays all transactions. */
    Timing.Played play(Dataset<R> dataset) throws Exception {
        for (long transaction = 0; transaction < lane.count(); transaction++) {
            long from = lane.from() + transaction * lane.changes();
            transaction((int) transaction, dataset.statesRound(from, lane.changes()));
        }
        for (Map.Entry<Integer, int[]> given : last.entrySet()) {
            int[] fresh = results.crcs(live.fetch(watched.get(given.getKey())));
            expect(
                    Arrays.equals(fresh, given.getValue()),
                    () -> "what subscription " + given.getKey() + " was given is not what a fresh fetch gives");
        }
        JsonArray lanes = new JsonArray();
        lanes.add(sample());
        JsonObject counts = new JsonObject();
        for (int count = 0; count < COUNTS.length; count++) {
            counts.addProperty(COUNTS[count], usage[count]);
        }
        long[] each = latencyNs.stream().mapToLong(Long::longValue).toArray();
        return new Timing.Played(Timing.sample(wallNs, processorNs, lanes, counts), List.of(each));
    }

    /** One transaction. */
    private void transaction(int number, List<R> states) {
        Usage before = new Usage();
        List<? extends Update<R>> updates = List.of();
        Exception refused = null;
        Moments moments = new Moments(lane.stretch());
        try {
            live.change(states, moments);
        } catch (Exception error) {
            refused = error;
        }
        moments.committed();
        if (refused == null) {
            try {
                updates = live.receive();
            } catch (Exception error) {
                refused = error;
            }
        }
        moments.received();
        List<Object> taken = take(updates);
        moments.done();
        JsonObject counts = before.until(new Usage());
        if (refused != null) {
            failed.failed(refused);
            return;
        }
        expect(moments.isTold(), () -> "the driver did not say when its commit began");
        add(moments, counts);
        settle(number, updates, taken);
    }

    /** Does to every update what the depth says: this is timed. */
    private List<Object> take(List<? extends Update<R>> updates) {
        List<Object> taken = new ArrayList<>(updates.size());
        for (Update<R> update : updates) {
            switch (lane.depth()) {
                case HANDLE -> {}
                case ITERATED -> taken.add(update.sum());
                case COPIED -> taken.add(update.copy());
                case DIFF -> taken.add(update.diff());
            }
        }
        return taken;
    }

    private void add(Moments moments, JsonObject counts) {
        latencyNs.add(moments.wallNs());
        wallNs += moments.wallNs();
        processorNs += moments.processorNs();
        writeNs += moments.writeNs();
        commitNs += moments.commitNs();
        deliveryNs += moments.deliveryNs();
        depthNs += moments.depthNs();
        for (int count = 0; count < COUNTS.length; count++) {
            usage[count] += counts.get(COUNTS[count]).getAsLong();
        }
    }

    /** Digests what a transaction delivered, and checks what the subscribers did with it. */
    private void settle(int transaction, List<? extends Update<R>> updates, List<Object> taken) {
        Map<Integer, int[]> given = new TreeMap<>();
        for (int place = 0; place < updates.size(); place++) {
            Update<R> update = updates.get(place);
            int number = update.subscription();
            int[] crcs = results.crcs(update.records());
            if (lane.depth() != Lane.Depth.HANDLE) {
                boolean right = isOf(update, crcs, taken.get(place));
                expect(right, () -> "what subscription " + number + " made of its result is not of it");
            }
            boolean known = number >= 0 && number < watched.size();
            expect(
                    known && given.put(number, crcs) == null,
                    () -> "subscription " + number + " was told twice, or nobody watches as it");
        }
        given.forEach(
                (number, crcs) -> {
                    results.digest(digest, transaction, number, crcs);
                    deliveries++;
                    last.put(number, crcs);
                    if (had != null) {
                        had.set(number, crcs);
                    }
                });
    }

    /** Whether what a subscriber made of a result is right. */
    @SuppressWarnings("unchecked")
    private boolean isOf(Update<R> update, int[] crcs, Object taken) {
        return switch (lane.depth()) {
            case HANDLE -> true;
            case ITERATED -> (long) taken == results.sum(update.records());
            case COPIED -> Arrays.equals(results.crcs((List<R>) taken), crcs);
            case DIFF -> {
                int[] before = had.get(update.subscription());
                yield Arrays.equals(results.patched(before, (List<Difference<R>>) taken), crcs);
            }
        };
    }

    /** Counts what differs. The first is told on standard error. */
    private void expect(boolean right, Supplier<String> message) {
        if (!right && differing++ == 0) {
            System.err.println(message.get());
        }
    }

    private JsonObject sample() {
        JsonObject delivery = new JsonObject();
        delivery.addProperty("write_ns", writeNs);
        delivery.addProperty("commit_ns", commitNs);
        delivery.addProperty("delivery_ns", deliveryNs);
        delivery.addProperty("depth_ns", depthNs);
        delivery.addProperty("differing", differing);
        JsonObject sample = failed.sample(wallNs);
        sample.addProperty("answers", deliveries);
        sample.addProperty("digest", String.format("%08x", digest.getValue()));
        sample.add("delivery", delivery);
        return sample;
    }
}
