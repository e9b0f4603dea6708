// The canaries' record: a number and bytes.

package touchstone.canaries;

import touchstone.kit.Decoder;
import touchstone.kit.Encoder;
import touchstone.kit.Record;

/** A number and bytes. */
record Row(Long key, byte[] value) implements Record<Long> {
    Row(Decoder bytes) {
        this(bytes.i64(), bytes.bytes());
    }

    @Override
    public void encode(Encoder bytes) {
        bytes.i64(key);
        bytes.bytes(value);
    }
}
