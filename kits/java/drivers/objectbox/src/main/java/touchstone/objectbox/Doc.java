// The object benchmark's record as an ObjectBox entity. The library embeds no structs and has no unions, so a position is
// three properties and a content is a number with a property for each kind that has something.

package touchstone.objectbox;

import io.objectbox.annotation.Convert;
import io.objectbox.annotation.Entity;
import io.objectbox.annotation.Id;
import io.objectbox.annotation.Unique;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import touchstone.kit.Decoder;
import touchstone.kit.Encoder;

/** An object: numbers, an enum, a union, and an integer that may be missing. */
@Entity
public class Doc implements Titled {
    private static final int IMAGES = 0;
    private static final int NOTHING = 1;
    private static final int TEXT = 2;

    @Id long id;
    @Unique String title;
    String tag;
    float x;
    float y;
    float z;

    @Convert(converter = Colour.Converter.class, dbType = Integer.class)
    Colour colour;

    int contentKind;
    List<String> images;
    String text;
    Long priority;

    /** For the library. */
    public Doc() {}

    /** What an object of a type with fewer fields is in an answer. */
    Doc(String title, String tag, Colour colour, String text, Long priority) {
        this.title = title;
        this.tag = tag;
        this.colour = colour;
        contentKind = text == null ? NOTHING : TEXT;
        this.text = text;
        this.priority = priority;
    }

    Doc(Decoder bytes) {
        title = bytes.text();
        tag = bytes.text();
        x = bytes.f32();
        y = bytes.f32();
        z = bytes.f32();
        colour = Colour.numbered(bytes.u8());
        contentKind = bytes.u8();
        switch (contentKind) {
            case IMAGES -> {
                images = new ArrayList<>();
                for (int left = bytes.u32(); left > 0; left--) {
                    images.add(bytes.text());
                }
            }
            case NOTHING -> {}
            case TEXT -> text = bytes.text();
            default -> throw new IllegalArgumentException("there is no content " + contentKind);
        }
        priority =
                switch (bytes.u8()) {
                    case 0 -> null;
                    case 1 -> bytes.i64();
                    default -> throw new IllegalArgumentException("a priority is there or missing");
                };
    }

    /** Whether all fields but the library's own identifier are the same. */
    @Override
    public boolean equals(Object other) {
        return other instanceof Doc doc
                && title.equals(doc.title)
                && tag.equals(doc.tag)
                && x == doc.x
                && y == doc.y
                && z == doc.z
                && colour == doc.colour
                && contentKind == doc.contentKind
                && Objects.equals(images, doc.images)
                && Objects.equals(text, doc.text)
                && Objects.equals(priority, doc.priority);
    }

    @Override
    public int hashCode() {
        return title.hashCode();
    }

    /** Whether it comes before another in the order of priorities. */
    boolean comesBefore(Doc other) {
        return priority == null || (other.priority != null && priority < other.priority);
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
        bytes.text(title);
        bytes.text(tag);
        bytes.f32(x);
        bytes.f32(y);
        bytes.f32(z);
        bytes.u8(colour.ordinal());
        bytes.u8(contentKind);
        if (contentKind == IMAGES) {
            bytes.u32(images.size());
            images.forEach(bytes::text);
        } else if (contentKind == TEXT) {
            bytes.text(text);
        }
        bytes.u8(priority == null ? 0 : 1);
        if (priority != null) {
            bytes.i64(priority);
        }
    }
}
