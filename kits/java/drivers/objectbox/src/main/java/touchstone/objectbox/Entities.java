// What handles on the entities of any class have in common.

package touchstone.objectbox;

import io.objectbox.Box;
import io.objectbox.BoxStore;
import io.objectbox.query.Query;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import touchstone.kit.Record;
import touchstone.kit.Store;

/** A handle on the entities of a class. */
abstract class Entities<K, R extends Record<K>> implements Store<K, R> {
    final Opened opened;
    final BoxStore store;
    final Box<R> box;
    private final List<Query<R>> queries = new ArrayList<>();

    Entities(Opened opened, Class<R> entity) {
        this.opened = opened;
        store = opened.store;
        box = store.boxFor(entity);
    }

    /** A query that is closed with the handle. */
    Query<R> keep(Query<R> query) {
        queries.add(query);
        return query;
    }

    /** The library has nothing that could be asked for by a neutral name. */
    @Override
    public Map<String, Object> settings() {
        return Map.of();
    }

    @Override
    public void hold(Held held) throws Exception {
        store.callInReadTx(
                () -> {
                    held.run();
                    return null;
                });
    }

    @Override
    public void leaveThread() {
        store.closeThreadResources();
    }

    @Override
    public List<R> readAll() {
        return box.getAll();
    }

    @Override
    public void insertOne(R record) {
        box.put(record);
    }

    @Override
    public void insertMany(List<R> records) {
        box.put(records);
    }

    @Override
    public void close() {
        queries.forEach(Query::close);
        store.closeThreadResources();
        if (opened.own) {
            store.close();
        }
    }

    /** A store; the handle that opened it closes it. */
    record Opened(BoxStore store, boolean own) {
        Opened another() {
            return new Opened(store, false);
        }
    }
}
