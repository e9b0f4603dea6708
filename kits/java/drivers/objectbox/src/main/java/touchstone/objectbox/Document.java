// The document benchmark's record as an ObjectBox entity.

package touchstone.objectbox;

import io.objectbox.annotation.Entity;
import io.objectbox.annotation.Id;
import io.objectbox.annotation.Unique;
import touchstone.kit.Decoder;
import touchstone.kit.Encoder;
import touchstone.kit.Record;

/** A text by its name, with a revision and a hash. */
@Entity
public class Document implements Record<String> {
    @Id long id;
    @Unique String name;
    long revision;
    byte[] hash;
    String data;

    /** For the library, which prefers one that takes all properties. */
    public Document(long id, String name, long revision, byte[] hash, String data) {
        this.id = id;
        this.name = name;
        this.revision = revision;
        this.hash = hash;
        this.data = data;
    }

    Document(Decoder bytes) {
        this(0, bytes.text(), bytes.i64(), bytes.bytes(), bytes.text());
    }

    @Override
    public String key() {
        return name;
    }

    @Override
    public void encode(Encoder bytes) {
        bytes.text(name);
        bytes.i64(revision);
        bytes.bytes(hash);
        bytes.text(data);
    }
}
