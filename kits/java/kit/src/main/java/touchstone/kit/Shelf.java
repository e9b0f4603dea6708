// A record type that a driver stores: how it is read from a dataset, what can be done with it, how its database is opened.

package touchstone.kit;

import java.util.Set;
import java.util.function.Function;

/**
 * A record type that a driver stores.
 *
 * @param kind which one
 * @param decode reads one from a dataset, a new object each time, as a program has one that it has just made
 * @param verbs what the driver can do with it
 * @param holds whether {@link Store#hold} does anything
 * @param tables whether a handle can be about another table than the first
 * @param watches what can be watched: nothing, unless the opener gives a {@link Live}
 * @param opener opens a database of it
 */
public record Shelf<K, R extends Record<K>>(
        RecordKind kind,
        Function<Decoder, R> decode,
        Set<Verb> verbs,
        boolean holds,
        boolean tables,
        Set<Watched> watches,
        Opener<K, R> opener) {

    /** Opens a database. */
    public interface Opener<K, R extends Record<K>> {
        /** Opens the database in the directory, configured as asked; first makes it if that is asked for. */
        Store<K, R> open(Open open) throws Exception;
    }

    /** Refuses a lane that the driver cannot do, before anything is opened for it. */
    void require(Lane lane, int tables) throws Failure {
        if (!verbs.contains(lane.verb())) {
            throw Failure.unsupported("the driver has no " + kind.wire() + "." + lane.verb().wire());
        }
        if (lane.held() && !holds) {
            throw Failure.unsupported("the driver holds no read transactions");
        }
        requireTable(lane.table(), tables);
    }

    /** As {@link #require}, of one of so many tables alone. */
    void requireTable(int table, int tables) throws Failure {
        if (table == 1 || (this.tables && table > 1 && table <= tables)) {
            return;
        }
        if (this.tables || table < 1) {
            throw Failure.protocol(
                    "table " + table + " was asked for; the " + tables + " of this database are numbered from 1");
        }
        throw Failure.unsupported("the driver has no " + kind.wire() + ".tables, so no table " + table);
    }
}
