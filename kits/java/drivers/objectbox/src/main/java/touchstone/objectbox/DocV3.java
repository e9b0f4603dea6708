// What table 3 of a typed database holds, as an ObjectBox entity: an object's texts and its priority.

package touchstone.objectbox;

import io.objectbox.annotation.Entity;
import io.objectbox.annotation.Id;
import io.objectbox.annotation.Unique;
import touchstone.kit.Decoder;
import touchstone.kit.Encoder;

/** An object with fewer fields, and a text that may be missing. */
@Entity
public class DocV3 implements Titled {
    @Id long id;
    @Unique String title;
    String tag;
    String text;
    Long priority;

    /** For the library. */
    public DocV3() {}

    DocV3(Decoder bytes) {
        Doc whole = new Doc(bytes);
        title = whole.title;
        tag = whole.tag;
        text = whole.text;
        priority = whole.priority;
    }

    @Override
    public long id() {
        return id;
    }

    @Override
    public void identify(long id) {
        this.id = id;
    }

    @Override
    public String key() {
        return title;
    }

    @Override
    public void encode(Encoder bytes) {
        new Doc(title, tag, Colour.RED, text, priority).encode(bytes);
    }
}
