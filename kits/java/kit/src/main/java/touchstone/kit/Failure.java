// Why something could not be done, in the protocol's terms: a kind that the lab tells apart, and the subject's own words.

package touchstone.kit;

/** A failure that is answered to the lab, or counted in a lane. */
public final class Failure extends Exception {
    private static final long serialVersionUID = 1;

    /** The kinds of failure that the lab tells apart. */
    public enum Kind {
        /** The driver does not implement the verb, the record or the setting. */
        UNSUPPORTED,
        /** Another handle was writing, and the subject would not wait or gave up. */
        BUSY,
        /** The disk is full. */
        FULL,
        /** The operating system refused a read or a write. */
        IO,
        /** The database is damaged, or the key is wrong. */
        CORRUPT,
        /** The request makes no sense now, such as a run before an open. */
        PROTOCOL,
        /** Anything else. */
        OTHER;

        /** The kind's name on the wire. */
        String wire() {
            return name().toLowerCase(java.util.Locale.ROOT);
        }
    }

    /** Of what kind. */
    public final Kind kind;

    /** A failure of that kind, with a message in the subject's words. */
    public Failure(Kind kind, String message) {
        super(message);
        this.kind = kind;
    }

    /** What makes no sense now. */
    static Failure protocol(String message) {
        return new Failure(Kind.PROTOCOL, message);
    }

    /** What this driver cannot do. */
    public static Failure unsupported(String message) {
        return new Failure(Kind.UNSUPPORTED, message);
    }
}
