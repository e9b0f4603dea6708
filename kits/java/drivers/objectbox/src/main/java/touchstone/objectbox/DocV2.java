// What table 2 of a typed database holds, as an ObjectBox entity: what differs from a whole object is that it has no place and no images.

package touchstone.objectbox;

import io.objectbox.annotation.Convert;
import io.objectbox.annotation.Entity;
import io.objectbox.annotation.Id;
import io.objectbox.annotation.Unique;
import touchstone.kit.Decoder;
import touchstone.kit.Encoder;

/** An object with fewer fields, and a text that may be missing. */
@Entity
public class DocV2 implements Titled {
    @Id long id;
    @Unique String title;
    String tag;

    @Convert(converter = Colour.Converter.class, dbType = Integer.class)
    Colour colour;

    String text;
    Long priority;

    /** For the library. */
    public DocV2() {}

    DocV2(Decoder bytes) {
        Doc whole = new Doc(bytes);
        title = whole.title;
        tag = whole.tag;
        colour = whole.colour;
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
        new Doc(title, tag, colour, text, priority).encode(bytes);
    }
}
