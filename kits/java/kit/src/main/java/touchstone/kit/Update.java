// What a subscriber is given: its new result, and a way to what differs.

package touchstone.kit;

import java.util.List;

/**
 * What a subscriber is given. What takes time in a library that has a method for it belongs into that method here: what
 * is read in place is not copied before, and what differs is worked out when it is asked for.
 */
public interface Update<R> {
    /** Which subscription it is for. */
    int subscription();

    /** The sum of the priorities in the result, read record by record in place. A missing one counts nothing. */
    long sum();

    /** A list of the subscriber's own with every record of the result. Its records may be shared. */
    List<R> copy();

    /** What differs from the result that the subscriber had. */
    List<Difference<R>> diff();

    /** The result. Never timed. */
    List<R> records();
}
