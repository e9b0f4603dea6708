// The digest of an answer: CRC-32 over the answered records, each encoded as in the dataset file. Worked out after the
// clock has stopped.

package touchstone.kit;

import java.util.zip.CRC32;

/** Digests records in the order in which they are answered. */
final class Digest {
    private final CRC32 crc = new CRC32();
    private final Encoder encoder = new Encoder();
    private long answers;

    void add(Record<?> record) {
        encoder.clear();
        record.encode(encoder);
        crc.update(encoder.array(), 0, encoder.length());
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
