// Plays a `subscribe` lane: subscriptions are begun and ended again, one at a time, and their first results are kept until
// the clock has stopped.

package touchstone.kit;

import com.google.gson.JsonArray;
import com.google.gson.JsonObject;
import java.util.ArrayList;
import java.util.List;
import java.util.zip.CRC32;

/** What the subscriptions of a lane come to. */
final class Subscribing<K, R extends Record<K>> {
    private final Live<K, R> live;
    private final Lane lane;
    /** How many subscriptions there are, which are taken round and round. */
    private final int size;
    /** What each operation begins. */
    private final List<Subscription> begun = new ArrayList<>();

    private final Answers<R> failed;
    /** What each operation's subscriber had at first; null where it failed. */
    private final List<List<R>> firsts = new ArrayList<>();

    /** A lane on the session's handle, whose subscriptions are these, round and round. */
    Subscribing(Driver driver, Live<K, R> live, Lane lane, List<Subscription> all) throws Failure {
        if (all.isEmpty()) {
            throw Failure.protocol("there are no subscriptions to begin");
        }
        this.live = live;
        this.lane = lane;
        size = all.size();
        for (long operation = 0; operation < lane.count(); operation++) {
            begun.add(all.get(number(operation)));
        }
        failed = new Answers<>(driver, 0);
    }

    /** What it begins. */
    List<Subscription> begun() {
        return begun;
    }

    /** Begins and ends them on the clock, then digests what they were given at first. */
    Timing.Played play(boolean latency) {
        Ticks ticks = new Ticks(latency, (int) lane.count());
        Usage before = new Usage();
        long processorStartNs = Clock.processorNs();
        long start = Clock.now();
        ticks.startAt(start);
        for (Subscription subscription : begun) {
            firsts.add(first(subscription));
            ticks.tick();
        }
        long wallNs = Clock.now() - start;
        long processorNs = Clock.processorNs() - processorStartNs;
        JsonObject usage = before.until(new Usage());
        JsonArray lanes = new JsonArray();
        lanes.add(sample(wallNs));
        return new Timing.Played(Timing.sample(wallNs, processorNs, lanes, usage), List.of(ticks.latencyNs()));
    }

    private List<R> first(Subscription subscription) {
        try {
            // A list of the kit's own has every record: one of the library's may fetch them when they are looked at.
            List<R> first = new ArrayList<>(live.subscribe(subscription));
            live.unsubscribe();
            return first;
        } catch (Exception error) {
            failed.failed(error);
            return null;
        }
    }

    /** Which subscription an operation takes. */
    private int number(long operation) {
        return (int) ((lane.from() + operation) % size);
    }

    private JsonObject sample(long wallNs) {
        Results results = new Results();
        CRC32 digest = new CRC32();
        int given = 0;
        for (int operation = 0; operation < firsts.size(); operation++) {
            List<R> first = firsts.get(operation);
            if (first != null) {
                results.digest(digest, operation, number(operation), results.crcs(first));
                given++;
            }
        }
        JsonObject sample = failed.sample(wallNs);
        sample.addProperty("answers", given);
        sample.addProperty("digest", String.format("%08x", digest.getValue()));
        return sample;
    }
}
