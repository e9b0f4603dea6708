// What the timing loop does after each operation: nothing, or read the clock.

package touchstone.kit;

/** Latencies, if they were asked for: the end of one operation is the start of the next. */
final class Ticks {
    /** Null where none were asked for. */
    private final long[] latencyNs;

    private int count;
    private long last;

    /** Room for so many latencies; none without {@code each}. */
    Ticks(boolean each, int operations) {
        latencyNs = each ? new long[operations] : null;
    }

    /** The first operation starts now. */
    void startAt(long start) {
        last = start;
    }

    /** Marks the end of an operation. */
    void tick() {
        if (latencyNs != null) {
            long now = Clock.now();
            latencyNs[count++] = now - last;
            last = now;
        }
    }

    /** The latencies, in the order of the operations. */
    long[] latencyNs() {
        return latencyNs == null ? new long[0] : java.util.Arrays.copyOf(latencyNs, count);
    }
}
