// The lab's part, in miniature: starts a driver, says lines, and waits for the answers with a limit.

package touchstone.tests;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/** A driver that is spoken to. It is killed when closed. */
final class Session implements AutoCloseable {
    /** Longer than any answer takes, even on a machine that builds something else beside. */
    private static final long PATIENCE_S = 60;

    private final Process process;
    private final OutputStream input;
    private final BufferedReader output;

    /** Starts a command in the kit's folder. */
    Session(List<String> command) throws IOException {
        process =
                new ProcessBuilder(command)
                        .directory(kit().toFile())
                        .redirectError(ProcessBuilder.Redirect.DISCARD)
                        .start();
        input = process.getOutputStream();
        output = new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8));
    }

    /** The kit's folder, which is above this module's. */
    static Path kit() {
        return Path.of("").toAbsolutePath().getParent();
    }

    /** Says a line and waits for one; null if the driver ends instead. */
    String say(String line) throws IOException {
        input.write((line + "\n").getBytes(StandardCharsets.UTF_8));
        input.flush();
        return hear();
    }

    /** Waits for a line; null if the driver ends instead. */
    String hear() throws IOException {
        FutureTask<String> heard = new FutureTask<>(output::readLine);
        Thread reader = new Thread(heard);
        reader.setDaemon(true);
        reader.start();
        try {
            return heard.get(PATIENCE_S, TimeUnit.SECONDS);
        } catch (InterruptedException | ExecutionException | TimeoutException error) {
            throw new IOException("the driver does not answer", error);
        }
    }

    /** Closes the driver's input. */
    void hangUp() throws IOException {
        input.close();
    }

    /** Waits until the driver has ended, and gives its status. */
    int status() throws InterruptedException {
        return process.waitFor(PATIENCE_S, TimeUnit.SECONDS) ? process.exitValue() : -1;
    }

    @Override
    public void close() {
        process.destroyForcibly();
    }
}
