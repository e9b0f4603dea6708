// The clocks: the monotonic one of the standard library, and the processor time of the whole process.
//
// The Java library tells processor time in hundredths of a second, so the system is asked itself, as for the counts
// that it has nobody tell.

package touchstone.kit;

import com.google.gson.JsonObject;
import com.sun.jna.Native;
import com.sun.jna.NativeLibrary;
import com.sun.jna.Platform;

/** The clocks of a process, and what the system counts of it. */
final class Clock {
    private static final int PROCESSOR = Platform.isMac() ? 12 : 2;

    static {
        // Else the library starts a program, to learn where other libraries are.
        if (System.getProperty("jna.platform.library.path") == null) {
            System.setProperty("jna.platform.library.path", "");
        }
        // The C library is a part of every process.
        Native.register(NativeLibrary.getProcess());
    }

    private Clock() {}

    private static native int clock_gettime(int clock, long[] time);

    private static native int getrusage(int who, long[] usage);

    /** The monotonic clock. */
    static long now() {
        return System.nanoTime();
    }

    /** The processor time of the whole process so far, all threads. */
    static long processorNs() {
        long[] time = new long[2];
        if (clock_gettime(PROCESSOR, time) != 0) {
            throw new IllegalStateException("the kernel has a processor clock");
        }
        return time[0] * 1_000_000_000 + time[1];
    }

    /** What the system counts of the whole process: two times of two numbers each, then fourteen counts. */
    static long[] counts() {
        long[] usage = new long[18];
        if (getrusage(0, usage) != 0) {
            throw new IllegalStateException("the kernel counts this process");
        }
        return usage;
    }

    /** Measures the clock itself: the cost of a reading and the smallest step it makes. */
    static JsonObject measure() {
        final int readings = 1_000;
        double costNs = Double.POSITIVE_INFINITY;
        long resolutionNs = Long.MAX_VALUE;
        // The first rounds are interpreted; the best is of compiled code.
        for (int round = 0; round < 50; round++) {
            long start = now();
            long last = start;
            for (int reading = 0; reading < readings; reading++) {
                long now = now();
                if (now > last) {
                    resolutionNs = Math.min(resolutionNs, now - last);
                }
                last = now;
            }
            costNs = Math.min(costNs, (double) (last - start) / readings);
        }
        JsonObject clock = new JsonObject();
        clock.addProperty("name", "System.nanoTime (CLOCK_MONOTONIC)");
        clock.addProperty("cost_ns", costNs);
        clock.addProperty("resolution_ns", resolutionNs);
        return clock;
    }
}
