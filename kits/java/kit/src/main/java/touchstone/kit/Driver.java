// A driver: who it is, what it stores, and what the library's errors mean.

package touchstone.kit;

import java.io.IOException;
import java.util.List;

/** A driver. Its `main` is one line: {@code Kit.main(new Driver())}. */
public interface Driver {
    /** Who it is. */
    About about();

    /** The record types that it stores. */
    List<Shelf<?, ?>> shelves();

    /** What kind of failure one of the library's errors is. */
    default Failure.Kind kindOf(Exception error) {
        return error instanceof IOException ? Failure.Kind.IO : Failure.Kind.OTHER;
    }

    /** An error as a failure, in the subject's words. */
    default Failure failure(Exception error) {
        return error instanceof Failure failure ? failure : new Failure(kindOf(error), error.toString());
    }
}
