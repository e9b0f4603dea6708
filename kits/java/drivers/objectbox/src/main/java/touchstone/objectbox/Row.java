// The wrapper benchmarks' record as an ObjectBox entity. Its key is a property: the library's own identifiers begin at 1.

package touchstone.objectbox;

import io.objectbox.annotation.Entity;
import io.objectbox.annotation.Id;
import io.objectbox.annotation.Unique;
import touchstone.kit.Decoder;
import touchstone.kit.Encoder;
import touchstone.kit.Record;

/** A number and bytes. */
@Entity
public class Row implements Record<Long> {
    @Id long id;
    @Unique long key;
    byte[] value;

    /** For the library, which prefers one that takes all properties. */
    public Row(long id, long key, byte[] value) {
        this.id = id;
        this.key = key;
        this.value = value;
    }

    Row(Decoder bytes) {
        this(0, bytes.i64(), bytes.bytes());
    }

    @Override
    public Long key() {
        return key;
    }

    @Override
    public void encode(Encoder bytes) {
        bytes.i64(key);
        bytes.bytes(value);
    }
}
