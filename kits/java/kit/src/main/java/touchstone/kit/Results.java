// Results as the kit checks them, off the clock: by the CRC-32 of each record.

package touchstone.kit;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.zip.CRC32;

/** What is worked out of results. */
final class Results {
    private final EncodedBytes encoder = new EncodedBytes();

    /** The CRC-32 of each record, encoded as in the dataset file. */
    int[] crcs(List<? extends Record<?>> records) {
        return records.stream().mapToInt(this::crc).toArray();
    }

    /** Adds one result to the digest of many: two numbers of whose it is, its length, and the CRC-32 of each record. */
    void digest(CRC32 digest, int operation, int subscription, int[] crcs) {
        encoder.clear();
        encoder.u32(operation);
        encoder.u32(subscription);
        encoder.u32(crcs.length);
        for (int crc : crcs) {
            encoder.u32(crc);
        }
        digest.update(encoder.array(), 0, encoder.length());
    }

    private int crc(Record<?> record) {
        encoder.clear();
        record.encode(encoder);
        CRC32 crc = new CRC32();
        crc.update(encoder.array(), 0, encoder.length());
        return (int) crc.getValue();
    }

    /** The sum of the priorities, by way of the encoding: the kit knows no field of a driver's own type. */
    long sum(List<? extends Record<?>> records) {
        long sum = 0;
        for (Record<?> record : records) {
            encoder.clear();
            record.encode(encoder);
            sum += priority(new Decoder(Arrays.copyOf(encoder.array(), encoder.length()), 0));
        }
        return sum;
    }

    /** The priority of an object, or 0. */
    private static long priority(Decoder object) {
        object.text();
        object.text();
        object.f32();
        object.f32();
        object.f32();
        object.u8();
        switch (object.u8()) {
            case 0 -> {
                for (int left = object.u32(); left > 0; left--) {
                    object.text();
                }
            }
            case 2 -> object.text();
            default -> {}
        }
        return object.u8() == 1 ? object.i64() : 0;
    }

    /** The older result with the differences applied; null where they name places that there are not. */
    <R extends Record<?>> int[] patched(int[] before, List<Difference<R>> differences) {
        boolean[] removed = new boolean[before.length];
        Map<Integer, Integer> inserted = new TreeMap<>();
        Map<Integer, Integer> changed = new TreeMap<>();
        for (Difference<R> difference : differences) {
            int at = difference.at();
            boolean again =
                    switch (difference.kind()) {
                        case REMOVED -> {
                            boolean gone = at >= before.length || removed[at];
                            if (!gone) {
                                removed[at] = true;
                            }
                            yield gone;
                        }
                        case INSERTED -> inserted.put(at, crc(difference.record())) != null;
                        case CHANGED -> changed.put(at, crc(difference.record())) != null;
                    };
            if (again) {
                return null;
            }
        }
        List<Integer> after = new ArrayList<>();
        int old = 0;
        int size = before.length + inserted.size() - (int) differences.stream()
                .filter(difference -> difference.kind() == Difference.Kind.REMOVED)
                .count();
        for (int at = 0; at < size; at++) {
            Integer record = inserted.remove(at);
            if (record == null) {
                while (old < before.length && removed[old]) {
                    old++;
                }
                if (old == before.length) {
                    return null;
                }
                record = before[old++];
            }
            Integer other = changed.remove(at);
            after.add(other == null ? record : other);
        }
        if (!inserted.isEmpty() || !changed.isEmpty()) {
            return null;
        }
        return after.stream().mapToInt(Integer::intValue).toArray();
    }
}
