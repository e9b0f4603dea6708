// A lane's operations, gathered in the order in which they will be played.

package touchstone.kit;

import java.util.ArrayList;
import java.util.List;

/** A lane's operations. */
final class Work<K, R extends Record<K>> {
    private final Verb verb;
    /** How often, for verbs that are not about single records. */
    private final long times;
    private final long above;
    /** The keys of gets, side by side. */
    private final List<K> keys;
    /** What is stored or written. */
    private final List<R> records;

    private Work(Verb verb, long times, long above, List<K> keys, List<R> records) {
        this.verb = verb;
        this.times = times;
        this.above = above;
        this.keys = keys;
        this.records = records;
    }

    /** Gathers, off the clock. */
    static <K, R extends Record<K>> Work<K, R> gather(Dataset<R> dataset, Lane lane) throws Failure {
        List<K> keys = new ArrayList<>();
        List<R> records = List.of();
        long above = 0;
        switch (lane.verb()) {
            case GET -> {
                for (R record : dataset.gather(lane.from(), lane.count())) {
                    keys.add(record.key());
                }
            }
            case INSERT_ONE, INSERT_MANY -> records = dataset.gather(lane.from(), lane.count());
            case UPDATE_ONE, UPDATE_MANY -> records = dataset.states(lane.from(), lane.count());
            case FIND -> {
                if (lane.above() == null) {
                    throw Failure.protocol("a find lane needs `above`, the bound to compare with");
                }
                above = lane.above();
            }
            case OPEN, DELIVER, SUBSCRIBE -> throw Failure.unsupported(
                    "a lane that opens, delivers or subscribes runs alone, and there is nothing to explain about an opening");
            case READ_ALL, DELETE_MANY -> {}
        }
        return new Work<>(lane.verb(), lane.count(), above, keys, records);
    }

    /** How many latencies there are. */
    int operations() {
        return switch (verb) {
            case GET -> keys.size();
            case INSERT_ONE, UPDATE_ONE -> records.size();
            case READ_ALL, FIND -> (int) times;
            default -> 1;
        };
    }

    int gets() {
        return keys.size();
    }

    /** The operations themselves. */
    void play(Store<K, R> store, Answers<R> answers, Ticks ticks) {
        switch (verb) {
            case GET -> gets(store, answers, ticks);
            case READ_ALL, FIND -> reads(store, answers, ticks);
            case INSERT_ONE, UPDATE_ONE -> writes(store, answers, ticks);
            default -> transaction(store, answers, ticks);
        }
    }

    private void gets(Store<K, R> store, Answers<R> answers, Ticks ticks) {
        for (K key : keys) {
            try {
                answers.found(store.get(key));
            } catch (Exception error) {
                answers.failed(error);
            }
            ticks.tick();
        }
    }

    private void reads(Store<K, R> store, Answers<R> answers, Ticks ticks) {
        for (long time = 0; time < times; time++) {
            try {
                answers.read(verb == Verb.FIND ? store.find(above) : store.readAll());
            } catch (Exception error) {
                answers.failed(error);
            }
            ticks.tick();
        }
    }

    private void writes(Store<K, R> store, Answers<R> answers, Ticks ticks) {
        for (R record : records) {
            try {
                if (verb == Verb.INSERT_ONE) {
                    store.insertOne(record);
                    answers.acknowledged(1);
                } else {
                    answers.acknowledged(store.updateOne(record) ? 1 : 0);
                }
            } catch (Exception error) {
                answers.failed(error);
            }
            ticks.tick();
        }
    }

    private void transaction(Store<K, R> store, Answers<R> answers, Ticks ticks) {
        try {
            switch (verb) {
                case INSERT_MANY -> {
                    store.insertMany(records);
                    answers.acknowledged(records.size());
                }
                case UPDATE_MANY -> answers.read(store.updateMany(records));
                default -> answers.read(store.deleteMany());
            }
        } catch (Exception error) {
            answers.failed(error);
        }
        ticks.tick();
    }
}
