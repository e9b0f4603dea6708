// What every record type can do. A driver's own classes are records: a library's users declare theirs to it.

package touchstone.kit;

/**
 * A record as a program has it.
 *
 * @param <K> what a get by key takes: a {@link Long} or a {@link String}
 */
public interface Record<K> {
    /** This record's key. */
    K key();

    /** Hands over every field, in the order of a dataset file, the key first. An answer's is timed. */
    void encode(Encoder bytes);

    /** The order of keys: numbers by their size, texts by their bytes in UTF-8, which is the order of code points. */
    static int compareKeys(Object one, Object other) {
        if (one instanceof Long number) {
            return number.compareTo((Long) other);
        }
        int[] points = ((String) one).codePoints().toArray();
        return java.util.Arrays.compare(points, ((String) other).codePoints().toArray());
    }
}
