// The digest of an answer: CRC-32 over the answered records, each encoded as in the dataset file. Worked out after the
// clock has stopped.

package touchstone.kit;

import java.util.zip.CRC32;

/** Digests records in the order in which they are answered. */
final class Digest {
    private final CRC32 crc = new CRC32();
    private final EncodedBytes bytes = new EncodedBytes();
    private long answers;

    void add(Record<?> record) {
        bytes.clear();
        record.encode(bytes);
        digest();
    }

    /** Adds a record whose fields were gathered. */
    void add(Gathered gathered, int record) {
        bytes.clear();
        gathered.encode(record, bytes);
        digest();
    }

    private void digest() {
        crc.update(bytes.array(), 0, bytes.length());
        answers++;
    }

    long answers() {
        return answers;
    }

    @Override
    public String toString() {
        return String.format("%08x", crc.getValue());
    }
}
