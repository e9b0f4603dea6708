// Reads the lab's lines. One that is too long is skipped, and said to be so.

package touchstone.kit;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;

/** Lines of an input. */
final class Lines {
    /** The most bytes of a line, its line feed included. */
    static final int BYTES_MAX = 1 << 20;

    private final InputStream input;

    /** Of an input that has a buffer. */
    Lines(InputStream input) {
        this.input = input;
    }

    /** The next line; null at the end of the input. What stands before that without a line feed was cut off. */
    String next() throws IOException, Failure {
        ByteArrayOutputStream line = new ByteArrayOutputStream();
        boolean tooLong = false;
        for (int next = input.read(); next != '\n'; next = input.read()) {
            if (next < 0) {
                return null;
            }
            tooLong |= line.size() >= BYTES_MAX - 1;
            if (!tooLong) {
                line.write(next);
            }
        }
        if (tooLong) {
            throw Failure.protocol("a line is longer than " + BYTES_MAX + " bytes");
        }
        return line.toString(StandardCharsets.UTF_8);
    }
}
