// Subscriptions, and the file in which the lab writes them for every kit.

package touchstone.kit;

import java.nio.BufferUnderflowException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * What a subscriber wants to be told of.
 *
 * @param watched what it watches
 * @param title of an object, or of a query for one: its title
 * @param below of a window: every priority is below this
 * @param from of a window: the least priority
 * @param limit of a window: how many of the first ones, or 0 for all
 */
public record Subscription(Watched watched, String title, long below, long from, long limit) {
    private static final byte[] MAGIC = "TSSUBS1\n".getBytes(StandardCharsets.US_ASCII);

    /** Reads subscriptions whole. */
    static List<Subscription> read(Path path) throws Failure {
        byte[] bytes = Dataset.read(path);
        int head = MAGIC.length;
        if (bytes.length < head || !Arrays.equals(bytes, 0, head, MAGIC, 0, head)) {
            throw Failure.protocol(path + ": not a file of subscriptions");
        }
        List<Subscription> all = new ArrayList<>();
        try {
            Decoder decoder = new Decoder(bytes, head);
            for (long left = decoder.i64(); left > 0; left--) {
                all.add(decode(decoder));
            }
            if (decoder.ended()) {
                return all;
            }
        } catch (BufferUnderflowException | IllegalArgumentException error) {
            // Said below.
        }
        throw Failure.protocol(path + ": holds a damaged subscription");
    }

    private static Subscription decode(Decoder bytes) {
        return switch (bytes.u8()) {
            case 0 -> new Subscription(Watched.OBJECT, bytes.text(), 0, 0, 0);
            case 1 -> new Subscription(Watched.ONE, bytes.text(), 0, 0, 0);
            case 2 -> new Subscription(
                    Watched.WINDOW, null, bytes.i64(), bytes.i64(), Integer.toUnsignedLong(bytes.u32()));
            default -> throw new IllegalArgumentException("there is no such kind of subscription");
        };
    }
}
