// One difference between two results.

package touchstone.kit;

/**
 * One difference. The place of what was removed is that in the older result, all others are those in the newer one.
 *
 * @param kind what happened there
 * @param at where
 * @param record the record that is there now, or null
 */
public record Difference<R>(Kind kind, int at, R record) {
    /** What happened. */
    public enum Kind {
        /** A record is no longer there. */
        REMOVED,
        /** A record is there that was not. */
        INSERTED,
        /** A record is another than before, in the same place among those that stayed. */
        CHANGED
    }
}
