// What can be watched, by its names on the wire.

package touchstone.kit;

/** What kind of thing a subscription watches. */
public enum Watched {
    /** One object, by its key. */
    OBJECT,
    /** The result of a query for one title, the primary key. */
    ONE,
    /** The ordered result of a query for a range of priorities. */
    WINDOW;

    String wire() {
        return name().toLowerCase(java.util.Locale.ROOT);
    }
}
