// A record type that a driver stores: how it is read from a dataset, what can be done with it, how its database is opened.

package touchstone.kit;

import java.util.List;
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
 * @param typed reads a dataset into the types that tables 2 and on hold where a database is typed: empty where they have
 *     none of their own
 */
public record Shelf<K, R extends Record<K>>(
        RecordKind kind,
        Function<Decoder, R> decode,
        Set<Verb> verbs,
        boolean holds,
        boolean tables,
        Set<Watched> watches,
        Opener<K, R> opener,
        List<Function<Decoder, ? extends Record<K>>> typed) {

    /** A record type whose further tables hold the same type, if there are any. */
    public Shelf(
            RecordKind kind,
            Function<Decoder, R> decode,
            Set<Verb> verbs,
            boolean holds,
            boolean tables,
            Set<Watched> watches,
            Opener<K, R> opener) {
        this(kind, decode, verbs, holds, tables, watches, opener, List.of());
    }

    /** Opens a database. */
    public interface Opener<K, R extends Record<K>> {
        /** Opens the database in the directory, configured as asked; first makes it if that is asked for. */
        Store<K, R> open(Open open) throws Exception;
    }

    /** Refuses a lane that the driver cannot do, before anything is opened for it. */
    void require(Lane lane, Open open) throws Failure {
        if (!verbs.contains(lane.verb())) {
            throw Failure.unsupported("the driver has no " + kind.wire() + "." + lane.verb().wire());
        }
        if (lane.held() && !holds) {
            throw Failure.unsupported("the driver holds no read transactions");
        }
        requireTable(lane.table(), open);
    }

    /** Refuses subscriptions of a kind that the driver cannot watch. */
    void requireWatched(List<Subscription> subscriptions) throws Failure {
        for (Subscription subscription : subscriptions) {
            if (!watches.contains(subscription.watched())) {
                String missing = kind.wire() + ".watch-" + subscription.watched().wire();
                throw Failure.unsupported("the driver has no " + missing);
            }
        }
    }

    /** As {@link #require}, of a table alone. */
    void requireTable(int table, Open open) throws Failure {
        boolean further = open.typed() ? !typed.isEmpty() : tables;
        if (table == 1 || (further && table > 1 && table <= open.tables())) {
            return;
        }
        if (further || table < 1) {
            String there = "; the " + open.tables() + " of this database are numbered from 1";
            throw Failure.protocol("table " + table + " was asked for" + there);
        }
        throw Failure.unsupported("the driver has no " + kind.wire() + ".tables, so no table " + table);
    }

    /** Refuses a database that the driver cannot have. */
    void require(Open open) throws Failure {
        if (open.typed() && typed.isEmpty()) {
            throw Failure.unsupported("the driver has no " + kind.wire() + ".typed");
        }
        if (open.typed() && open.tables() > 1 + typed.size()) {
            String there = " typed tables were asked for; there are " + (1 + typed.size());
            throw Failure.protocol(open.tables() + there);
        }
    }

    /**
     * What reads a dataset into the type of a table. That the type is another one than the first table's only the driver
     * knows, whose handle on the table takes it: the kit has one for all records.
     */
    @SuppressWarnings("unchecked")
    Function<Decoder, R> decode(int table, Open open) {
        return table == 1 || !open.typed() ? decode : (Function<Decoder, R>) typed.get(table - 2);
    }
}
