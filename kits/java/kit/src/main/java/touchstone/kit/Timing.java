// The timing loop: plays lanes against handles, with everything gathered before the clock starts and everything worked
// out after it has stopped.

package touchstone.kit;

import com.google.gson.JsonArray;
import com.google.gson.JsonObject;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Future;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;

/** Plays lanes on the clock. */
final class Timing {
    /**
     * The lanes' threads, which rest between stretches and never end. A thread that ends gives back what LMDB keeps for it,
     * after Java has taken it for ended: where its store was closed by then, the process died of it.
     */
    private static final ExecutorService LANES =
            new ThreadPoolExecutor(
                    0, Integer.MAX_VALUE, Long.MAX_VALUE, TimeUnit.NANOSECONDS, new SynchronousQueue<>(), Timing::thread);

    private Timing() {}

    private static Thread thread(Runnable work) {
        Thread thread = new Thread(work, "lane");
        thread.setDaemon(true);
        return thread;
    }

    /** A played stretch: the sample, and each operation's nanoseconds if they were asked for. */
    record Played(JsonObject sample, List<long[]> latencyNs) {}

    /** A handle, and what is to be played on it. */
    record Part<K, R extends Record<K>>(Store<K, R> store, Work<K, R> work, boolean held) {}

    /** What one lane's clock and driver yield, before anything is worked out. */
    private static final class Reading<R extends Record<?>> {
        long start;
        long end;
        long processorStartNs;
        long processorEndNs;
        Answers<R> answers;
        Ticks ticks;
        Exception refused;
    }

    /** Plays the parts side by side, each in a thread; a single one on the calling thread. */
    static <K, R extends Record<K>> Played play(Driver driver, List<Part<K, R>> parts, boolean latency)
            throws Exception {
        Usage before = new Usage();
        CyclicBarrier met = new CyclicBarrier(parts.size());
        List<Reading<R>> readings = new ArrayList<>();
        List<Future<?>> lanes = new ArrayList<>();
        for (Part<K, R> part : parts) {
            Reading<R> reading = new Reading<>();
            readings.add(reading);
            Runnable lane = () -> lane(driver, part, latency, met, reading);
            if (parts.size() == 1) {
                lane.run();
            } else {
                Runnable whole =
                        () -> {
                            lane.run();
                            part.store.leaveThread();
                        };
                lanes.add(LANES.submit(whole));
            }
        }
        for (Future<?> lane : lanes) {
            lane.get();
        }
        JsonObject usage = before.until(new Usage());
        for (Reading<R> reading : readings) {
            if (reading.refused != null) {
                throw reading.refused;
            }
        }
        return settle(readings, usage);
    }

    private static <K, R extends Record<K>> void lane(
            Driver driver, Part<K, R> part, boolean latency, CyclicBarrier met, Reading<R> reading) {
        try {
            reading.answers = new Answers<>(driver, part.work.gets());
            reading.ticks = new Ticks(latency, part.work.operations());
            if (part.held) {
                part.store.hold(() -> time(part, met, reading));
            } else {
                time(part, met, reading);
            }
        } catch (Exception error) {
            reading.refused = error;
            // Who waits for this lane waits no longer.
            met.reset();
        }
    }

    /** Times one lane, once all have met. Nothing but the operations stands between the two readings of the clock. */
    private static <K, R extends Record<K>> void time(Part<K, R> part, CyclicBarrier met, Reading<R> reading)
            throws Exception {
        met.await();
        reading.processorStartNs = Clock.processorNs();
        reading.start = Clock.now();
        reading.ticks.startAt(reading.start);
        part.work.play(part.store, reading.answers, reading.ticks);
        reading.end = Clock.now();
        reading.processorEndNs = Clock.processorNs();
    }

    /** Works the lanes' readings out into one sample, from the first lane's start to the last one's end. */
    private static <R extends Record<?>> Played settle(List<Reading<R>> readings, JsonObject usage) {
        long start = readings.stream().mapToLong(reading -> reading.start).min().orElseThrow();
        long end = readings.stream().mapToLong(reading -> reading.end).max().orElseThrow();
        long processorStartNs = readings.stream().mapToLong(r -> r.processorStartNs).min().orElseThrow();
        long processorEndNs = readings.stream().mapToLong(r -> r.processorEndNs).max().orElseThrow();
        JsonArray lanes = new JsonArray();
        readings.forEach(reading -> lanes.add(reading.answers.sample(reading.end - start)));
        List<long[]> latencyNs = readings.stream().map(reading -> reading.ticks.latencyNs()).toList();
        return new Played(sample(end - start, processorEndNs - processorStartNs, lanes, usage), latencyNs);
    }

    /**
     * Plays an `open` lane: opens, configures and answers a first query, so many times. Each handle is the only one, and
     * is closed again before the next; closing is off the clock.
     */
    static <K, R extends Record<K>> Played open(
            Driver driver, Shelf.Opener<K, R> opener, Open open, long times) throws Exception {
        Usage before = new Usage();
        Answers<R> answers = new Answers<>(driver, (int) times);
        long wallNs = 0;
        long processorNs = 0;
        long[] latencyNs = new long[(int) times];
        for (int time = 0; time < times; time++) {
            Store<K, R> store = null;
            long processorStartNs = Clock.processorNs();
            long start = Clock.now();
            try {
                store = opener.open(open);
                answers.found(store.first());
            } catch (Exception error) {
                answers.failed(error);
            }
            latencyNs[time] = Clock.now() - start;
            processorNs += Clock.processorNs() - processorStartNs;
            wallNs += latencyNs[time];
            if (store != null) {
                store.close();
            }
        }
        JsonObject usage = before.until(new Usage());
        JsonArray lanes = new JsonArray();
        lanes.add(answers.sample(wallNs));
        return new Played(sample(wallNs, processorNs, lanes, usage), List.of(latencyNs));
    }

    /** A sample of a whole run. */
    static JsonObject sample(long wallNs, long processorNs, JsonArray lanes, JsonObject usage) {
        JsonObject sample = new JsonObject();
        sample.addProperty("reply", "run");
        sample.addProperty("wall_ns", wallNs);
        sample.addProperty("cpu_ns", processorNs);
        sample.add("lanes", lanes);
        sample.add("usage", usage);
        return sample;
    }
}
