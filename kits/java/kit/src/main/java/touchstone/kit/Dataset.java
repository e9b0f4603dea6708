// A dataset, its order of operations and its new states, in memory. Records are kept as their bytes and made anew each
// time, off the clock: a program hands a library an object that it has just made, and a library may write into it.

package touchstone.kit;

import java.io.IOException;
import java.nio.BufferUnderflowException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.Function;

/** A dataset of one record type. */
final class Dataset<R> {
    private static final byte[] MAGIC = "TSDATA1\n".getBytes(StandardCharsets.US_ASCII);

    private final Packed<R> records;
    private final Packed<R> states;
    /** Each operation's record; null where operation i is record i. */
    private final int[] operations;

    /** Reads the files whole; the last two may be null. */
    Dataset(Function<Decoder, R> decode, Path dataset, Path operations, Path states) throws Failure {
        records = new Packed<>(decode, dataset);
        this.states = states == null ? null : new Packed<>(decode, states);
        this.operations = operations == null ? null : operations(operations);
        for (int operation : this.operations == null ? new int[0] : this.operations) {
            if (operation < 0 || operation >= records.size()) {
                long number = Integer.toUnsignedLong(operation);
                String there = "; the dataset has " + records.size();
                throw Failure.protocol("an operation names record " + number + there);
            }
        }
    }

    private Dataset(Packed<R> records, Packed<R> states, int[] operations) {
        this.records = records;
        this.states = states;
        this.operations = operations;
    }

    /** The same dataset, read into another type. */
    Dataset<R> as(Function<Decoder, R> decode) {
        return new Dataset<>(records.as(decode), states == null ? null : states.as(decode), operations);
    }

    int records() {
        return records.size();
    }

    int operations() {
        return operations == null ? records.size() : operations.length;
    }

    int states() {
        return states == null ? 0 : states.size();
    }

    /** New objects of records {@code from} and on. */
    List<R> records(long from, long count) throws Failure {
        check(from, count, records(), "records");
        return records.range((int) from, (int) count);
    }

    /** New objects of the records of operations {@code from} and on. */
    List<R> gather(long from, long count) throws Failure {
        check(from, count, operations(), "operations");
        if (operations == null) {
            return records.range((int) from, (int) count);
        }
        List<R> gathered = new ArrayList<>((int) count);
        for (int operation = (int) from; operation < from + count; operation++) {
            gathered.add(records.get(operations[operation]));
        }
        return gathered;
    }

    /** New objects of new states {@code from} and on. */
    List<R> states(long from, long count) throws Failure {
        check(from, count, states(), "new states");
        return states == null ? List.of() : states.range((int) from, (int) count);
    }

    /** New objects of the new states of one transaction. They are taken round and round. */
    List<R> statesRound(long from, long changes) throws Failure {
        int size = states();
        if (changes == 0 || changes > size || size % changes != 0) {
            throw Failure.protocol(size + " new states are no whole number of transactions of " + changes);
        }
        List<R> round = new ArrayList<>((int) changes);
        for (long state = from; state < from + changes; state++) {
            round.add(states.get((int) (state % size)));
        }
        return round;
    }

    private static void check(long from, long count, int size, String of) throws Failure {
        if (from > size || count > size - from) {
            throw Failure.protocol(count + " " + of + " from " + from + " were asked for; there are " + size);
        }
    }

    private static int[] operations(Path path) throws Failure {
        byte[] bytes = read(path);
        if (bytes.length % 4 != 0) {
            throw Failure.protocol(path + ": not a whole number of operations");
        }
        int[] operations = new int[bytes.length / 4];
        ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN).asIntBuffer().get(operations);
        return operations;
    }

    /** A file, whole. */
    static byte[] read(Path path) throws Failure {
        try {
            return Files.readAllBytes(path);
        } catch (IOException error) {
            throw new Failure(Failure.Kind.IO, path + ": " + error);
        }
    }

    /** Records in their bytes, with where each begins. */
    private static final class Packed<R> {
        private final Function<Decoder, R> decode;
        private final byte[] bytes;
        private final int[] begins;

        Packed(Function<Decoder, R> decode, Path path) throws Failure {
            this.decode = decode;
            bytes = read(path);
            int head = MAGIC.length;
            if (bytes.length < head + 8 || !Arrays.equals(bytes, 0, head, MAGIC, 0, head)) {
                throw Failure.protocol(path + ": not a dataset file");
            }
            Decoder decoder = new Decoder(bytes, head);
            long count = decoder.i64();
            // A record has at least its key's length.
            if (count < 0 || count > bytes.length / 4) {
                throw Failure.protocol(path + ": holds a damaged record");
            }
            begins = new int[(int) count];
            try {
                for (int number = 0; number < begins.length; number++) {
                    begins[number] = decoder.position();
                    decode.apply(decoder);
                }
            } catch (BufferUnderflowException | IllegalArgumentException error) {
                throw Failure.protocol(path + ": holds a damaged record");
            }
            if (!decoder.ended()) {
                throw Failure.protocol(path + ": goes on after its last record");
            }
        }

        private Packed(Function<Decoder, R> decode, byte[] bytes, int[] begins) {
            this.decode = decode;
            this.bytes = bytes;
            this.begins = begins;
        }

        Packed<R> as(Function<Decoder, R> decode) {
            return new Packed<>(decode, bytes, begins);
        }

        int size() {
            return begins.length;
        }

        R get(int number) {
            return decode.apply(new Decoder(bytes, begins[number]));
        }

        List<R> range(int from, int count) {
            List<R> range = new ArrayList<>(count);
            for (int number = from; number < from + count; number++) {
                range.add(get(number));
            }
            return range;
        }
    }
}
