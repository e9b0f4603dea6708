// What a driver may be asked to do, by its names on the wire.

package touchstone.kit;

import java.util.Locale;

/** A verb. A driver that lacks one lacks a capability, which is not an error. */
public enum Verb {
    /** Get each operation's record by key. */
    GET,
    /** Read every record, so many times. */
    READ_ALL,
    /** Insert each record in a commit of its own. */
    INSERT_ONE,
    /** Insert all records in one commit. */
    INSERT_MANY,
    /** Open the database, configure it and answer a first query, so many times. */
    OPEN,
    /** Find every object whose priority is above a bound, so many times. */
    FIND,
    /** Write each new state over the object of its key, in a commit of its own. */
    UPDATE_ONE,
    /** Fetch every object, then write all new states, in one transaction. */
    UPDATE_MANY,
    /** Fetch every object, then delete each, in one transaction. */
    DELETE_MANY,
    /** Write new states in one transaction and let every subscriber have what it is to be told, so many times. */
    DELIVER,
    /** Begin a subscription, have its first result and end it again, so many times. */
    SUBSCRIBE;

    /** Whether it is about subscriptions, so that it runs alone, on the session's own handle. */
    boolean watches() {
        return this == DELIVER || this == SUBSCRIBE;
    }

    String wire() {
        return name().toLowerCase(Locale.ROOT).replace('_', '-');
    }

    static Verb named(String name) throws Failure {
        for (Verb verb : values()) {
            if (verb.wire().equals(name)) {
                return verb;
            }
        }
        throw Failure.protocol("there is no verb `" + name + "`");
    }
}
