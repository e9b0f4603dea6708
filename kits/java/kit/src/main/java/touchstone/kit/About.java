// Who a driver is, as it says on `hello`.

package touchstone.kit;

import java.util.List;

/**
 * Who a driver is.
 *
 * @param subject the subject, as in the kit's table
 * @param version the subject's version
 * @param engine the library really linked, with its version: ask the library, not the manifest
 * @param engineSource the engine's own source identification, where it has one
 * @param compileOptions how the engine was compiled, in its own words
 */
public record About(
        String subject, String version, String engine, String engineSource, List<String> compileOptions) {}
