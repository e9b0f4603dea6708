// What the operating system counts over a stretch: context switches, major faults, bytes read and written.

package touchstone.kit;

import com.google.gson.JsonObject;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;

/** The counts of the whole process at a moment. */
final class Usage {
    private static final Path IO = Path.of("/proc/self/io");

    private final long[] counts = Clock.counts();
    private final String io = io();

    /** What was counted from here to {@code later}. */
    JsonObject until(Usage later) {
        JsonObject usage = new JsonObject();
        usage.addProperty("voluntary_switches", later.counts[16] - counts[16]);
        usage.addProperty("involuntary_switches", later.counts[17] - counts[17]);
        usage.addProperty("major_faults", later.counts[9] - counts[9]);
        // Reading the counts is itself counted, and taken off again.
        long own = io.getBytes(StandardCharsets.UTF_8).length;
        usage.addProperty("read_bytes", Math.max(0, later.field("rchar: ") - field("rchar: ") - own));
        usage.addProperty("written_bytes", later.field("wchar: ") - field("wchar: "));
        return usage;
    }

    private long field(String name) {
        return io.lines()
                .filter(line -> line.startsWith(name))
                .mapToLong(line -> Long.parseLong(line.substring(name.length())))
                .findFirst()
                .orElse(0);
    }

    /** A kernel without I/O accounting has no such file; its bytes are 0 then. */
    private static String io() {
        try {
            return Files.readString(IO);
        } catch (IOException error) {
            return "";
        }
    }
}
