// What a driver implements: a handle on an open database, and its verbs on one record type.

package touchstone.kit;

import java.util.List;
import java.util.Map;

/**
 * A handle on an open database, as the library's users have one. Each verb is one call of the library's natural model,
 * never a shortcut that its users would not write. A verb that is left out is a capability that the driver lacks.
 *
 * @param <K> the record's key
 * @param <R> the record, a class of the driver's own
 */
public interface Store<K, R extends Record<K>> {
    /**
     * A second handle on the same database, the way the library's users get one.
     *
     * @param open what the first was opened with, except that nothing is to be created, and that it may be about another
     *     table: where that has a type of its own, the handle takes records of that type
     */
    Store<K, ? extends Record<K>> another(Open open) throws Exception;

    /** The settings that took effect, read back from the engine, a number or a word each. */
    Map<String, Object> settings() throws Exception;

    /** Does something in one read transaction. */
    default void hold(Held held) throws Exception {
        throw Failure.unsupported("the driver holds no read transactions");
    }

    /** Gives back what the library keeps for this thread, which rests from now on. */
    default void leaveThread() {}

    /** Closes the handle. */
    void close() throws Exception;

    /** Gets one record by key into an object of its own; null where there is none. */
    default R get(K key) throws Exception {
        throw missing(Verb.GET);
    }

    /** Reads every record into objects. */
    default List<R> readAll() throws Exception {
        throw missing(Verb.READ_ALL);
    }

    /** Inserts one record in a commit of its own. */
    default void insertOne(R record) throws Exception {
        throw missing(Verb.INSERT_ONE);
    }

    /** Inserts the records in one commit: all or none. */
    default void insertMany(List<R> records) throws Exception {
        throw missing(Verb.INSERT_MANY);
    }

    /** Finds every record whose priority is greater than {@code above}. A missing one is not above anything. */
    default List<R> find(long above) throws Exception {
        throw missing(Verb.FIND);
    }

    /** Writes a whole new state over the record with its key, in a commit of its own; false where there is none. */
    default boolean updateOne(R state) throws Exception {
        throw missing(Verb.UPDATE_ONE);
    }

    /**
     * In one transaction: fetches every record into an object, then writes each new state, whole, over the record with
     * its key. Answers the objects as they were fetched, in any order.
     */
    default List<R> updateMany(List<R> states) throws Exception {
        throw missing(Verb.UPDATE_MANY);
    }

    /** In one transaction: fetches every record into an object, then deletes each. Answers them, in any order. */
    default List<R> deleteMany() throws Exception {
        throw missing(Verb.DELETE_MANY);
    }

    /**
     * Answers a first query after opening: any one record of the first table, the same one as long as nothing is stored, or
     * null from an empty table.
     */
    default R first() throws Exception {
        throw missing(Verb.OPEN);
    }

    private static Failure missing(Verb verb) {
        return Failure.unsupported("the driver does not implement " + verb.wire());
    }

    /** What is done while a read transaction is held. */
    interface Held {
        /** Does it. */
        void run() throws Exception;
    }
}
