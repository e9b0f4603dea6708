// An open database: the session's own handle, and those that further lanes need.

package touchstone.kit;

import java.util.ArrayList;
import java.util.List;

/** The handles on one database. */
final class Database<K, R extends Record<K>> {
    /** As asked, except that there is nothing left to create. */
    final Open open;

    private record Handle<K, R extends Record<K>>(int table, Store<K, R> store) {}

    /** The first is the session's own, on the first table. */
    private final List<Handle<K, R>> handles = new ArrayList<>();

    /** The database that {@code store} was opened on. */
    Database(Open open, Store<K, R> store) {
        this.open = open.reopened(1);
        handles.add(new Handle<>(1, store));
    }

    /** The session's own handle. */
    Store<K, R> own() {
        return handles.get(0).store;
    }

    /** A new handle, on that table. It takes the records that {@link Shelf#decode(int, Open)} reads for the table. */
    @SuppressWarnings("unchecked")
    Store<K, R> another(int table) throws Exception {
        return (Store<K, R>) own().another(open.reopened(table));
    }

    /**
     * A handle for each table of the list; those that further lanes need are opened once and kept, so that their caches
     * stay warm from slice to slice as the first one's do.
     */
    List<Store<K, R>> handles(List<Integer> tables) throws Exception {
        List<Handle<K, R>> idle = new ArrayList<>(handles);
        List<Store<K, R>> wanted = new ArrayList<>();
        for (int table : tables) {
            Handle<K, R> handle =
                    idle.stream().filter(known -> known.table == table).findFirst().orElse(null);
            if (handle == null) {
                handle = new Handle<>(table, another(table));
                handles.add(handle);
            }
            idle.remove(handle);
            wanted.add(handle.store);
        }
        return wanted;
    }

    /** Closes every handle, the session's own last, whatever becomes of one; tells the first failure. */
    void close() throws Exception {
        Exception first = null;
        for (int place = handles.size() - 1; place >= 0; place--) {
            try {
                handles.get(place).store.close();
            } catch (Exception error) {
                first = first == null ? error : first;
            }
        }
        if (first != null) {
            throw first;
        }
    }
}
