// What a lane answered: kept as it comes while the clock runs, counted and digested after.

package touchstone.kit;

import com.google.gson.JsonObject;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;

/**
 * The answers of one lane. Nothing here is worked out while the clock runs, but every field of every record is taken: what
 * an object would fetch later is fetched in time.
 */
final class Answers<R extends Record<?>> {
    private final Driver driver;
    private final List<R> records;
    private final List<List<R>> reads = new ArrayList<>();
    private final Gathered gathered;
    private final List<Gathered> gatheredReads = new ArrayList<>();
    private long acknowledged;
    private final Map<Failure.Kind, Long> failures = new EnumMap<>(Failure.Kind.class);

    /** Room for the records of so many gets. */
    Answers(Driver driver, int gets) {
        this.driver = driver;
        records = new ArrayList<>(gets);
        gathered = new Gathered(gets);
    }

    /** Keeps the answer of a get. */
    void found(R record) {
        if (record != null) {
            records.add(record);
            gathered.add(record);
        }
    }

    /** Keeps the answer of a verb that answers many records in an order of its own. */
    void read(List<R> read) {
        reads.add(read);
        Gathered all = new Gathered(read.size());
        read.forEach(all::add);
        gatheredReads.add(all);
    }

    /** Counts the acknowledgement of a write of so many records. */
    void acknowledged(int count) {
        acknowledged += count;
    }

    /** Counts an operation that failed: it is a result, and the lane goes on. The first of a kind is told. */
    void failed(Exception error) {
        Failure failure = driver.failure(error);
        if (failures.merge(failure.kind, 1L, Long::sum) == 1) {
            String kind = failure.kind.wire();
            System.err.println("operations failed (" + kind + "), the first with: " + failure.getMessage());
        }
    }

    /** Counts and digests, off the clock. No two engines owe each other an order, so reads are put in key order. */
    JsonObject sample(long wallNs) {
        Digest digest = new Digest();
        for (int record = 0; record < gathered.records(); record++) {
            digest.add(gathered, record);
        }
        for (Gathered read : gatheredReads) {
            for (int record : read.inKeyOrder()) {
                digest.add(read, record);
            }
        }
        JsonObject errors = new JsonObject();
        failures.forEach((kind, count) -> errors.addProperty(kind.wire(), count));
        JsonObject sample = new JsonObject();
        sample.addProperty("wall_ns", wallNs);
        sample.addProperty("answers", digest.answers() + acknowledged);
        sample.addProperty("digest", digest.toString());
        sample.add("errors", errors);
        return sample;
    }

    /** The records, sorted by key, in a list of their own. */
    static <R extends Record<?>> List<R> inKeyOrder(List<R> records) {
        List<R> sorted = new ArrayList<>(records);
        sorted.sort((one, other) -> Record.compareKeys(one.key(), other.key()));
        return sorted;
    }
}
