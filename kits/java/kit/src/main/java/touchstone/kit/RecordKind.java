// The record types of the protocol, by their names on the wire.

package touchstone.kit;

/** A record type. */
public enum RecordKind {
    /** A number and bytes. */
    ROW("key"),
    /** A text by its name, with a revision and a hash. */
    DOCUMENT("id"),
    /** An object: numbers, an enum, a union, and an integer that may be missing. */
    DOC("title");

    /** The field that is its key. */
    final String key;

    RecordKind(String key) {
        this.key = key;
    }

    String wire() {
        return name().toLowerCase(java.util.Locale.ROOT);
    }

    static RecordKind named(String name) throws Failure {
        for (RecordKind kind : values()) {
            if (kind.wire().equals(name)) {
                return kind;
            }
        }
        throw Failure.protocol("there is no record `" + name + "`");
    }
}
