// ObjectBox, as its users write it: entities with properties of their own, one store for all threads, queries that are
// built once and given their parameters anew.
//
// A store's types are those that it was compiled with, so there are no further tables, and an index is an annotation. The
// library has no settings for what a commit promises: each is flushed.

package touchstone.objectbox;

import io.objectbox.Box;
import io.objectbox.BoxStore;
import io.objectbox.Property;
import io.objectbox.exception.DbException;
import io.objectbox.exception.DbFullException;
import io.objectbox.exception.FileCorruptException;
import io.objectbox.query.Query;
import io.objectbox.query.QueryBuilder.StringOrder;
import java.io.IOException;
import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Stream;
import touchstone.kit.About;
import touchstone.kit.Driver;
import touchstone.kit.Failure;
import touchstone.kit.Kit;
import touchstone.kit.Live;
import touchstone.kit.Moments;
import touchstone.kit.Open;
import touchstone.kit.Record;
import touchstone.kit.RecordKind;
import touchstone.kit.Shelf;
import touchstone.kit.Store;
import touchstone.kit.Subscription;
import touchstone.kit.Verb;
import touchstone.kit.Watched;

/** The driver. */
public final class ObjectBox implements Driver {
    /** The library refuses to grow beyond this; it maps the file, so that the number costs addresses alone. */
    private static final long SIZE_KILOBYTES_MAX = 16L << 20;

    /** Every result that is fetched anew is fetched in a thread of the library's own, all of them at once. */
    private static final int READERS_MAX = 2_048;

    private static final Set<Verb> OF_RECORDS =
            EnumSet.of(Verb.GET, Verb.READ_ALL, Verb.INSERT_ONE, Verb.INSERT_MANY);
    private static final Set<Verb> OF_OBJECTS =
            EnumSet.complementOf(EnumSet.of(Verb.OPEN, Verb.DELIVER));
    private static final Set<Watched> NOTHING = EnumSet.noneOf(Watched.class);

    /** Starts the driver. */
    public static void main(String[] arguments) throws IOException {
        Kit.main(new ObjectBox());
    }

    @Override
    public About about() {
        Stream<String> collectors =
                ManagementFactory.getGarbageCollectorMXBeans().stream().map(GarbageCollectorMXBean::getName);
        Stream<String> machine =
                Stream.of(System.getProperty("java.vm.name") + " " + System.getProperty("java.vm.version"));
        return new About(
                "objectbox",
                BoxStore.getVersion(),
                "ObjectBox " + BoxStore.getVersionNative(),
                "",
                Stream.concat(machine, collectors).toList());
    }

    @Override
    public List<Shelf<?, ?>> shelves() {
        return List.of(
                new Shelf<Long, Row>(
                        RecordKind.ROW, Row::new, OF_RECORDS, true, false, NOTHING, open -> new Rows(store(open))),
                new Shelf<String, Document>(
                        RecordKind.DOCUMENT,
                        Document::new,
                        OF_RECORDS,
                        true,
                        false,
                        NOTHING,
                        open -> new Documents(store(open))),
                new Shelf<String, Doc>(
                        RecordKind.DOC,
                        Doc::new,
                        OF_OBJECTS,
                        true,
                        false,
                        EnumSet.allOf(Watched.class),
                        open -> new Docs(store(open))));
    }

    @Override
    public Failure.Kind kindOf(Exception error) {
        if (error instanceof DbFullException) {
            return Failure.Kind.FULL;
        }
        return error instanceof FileCorruptException ? Failure.Kind.CORRUPT : Driver.super.kindOf(error);
    }

    private static Opened store(Open open) throws Failure {
        open.keyAloneIsIndexed();
        BoxStore store =
                MyObjectBox.builder()
                        .directory(open.directory().toFile())
                        .maxSizeInKByte(SIZE_KILOBYTES_MAX)
                        .maxReaders(READERS_MAX)
                        .build();
        return new Opened(store, true);
    }

    /** A store; the handle that opened it closes it. */
    private record Opened(BoxStore store, boolean own) {
        Opened another() {
            return new Opened(store, false);
        }
    }

    /** A handle on the entities of a class. */
    private abstract static class Entities<K, R extends Record<K>> implements Store<K, R> {
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
    }

    private static final class Rows extends Entities<Long, Row> {
        private final Query<Row> byKey = keep(box.query(Row_.key.equal(0)).build());

        Rows(Opened opened) {
            super(opened, Row.class);
        }

        @Override
        public Rows another(Open open) {
            return new Rows(opened.another());
        }

        @Override
        public Row get(Long key) {
            return byKey.setParameter(Row_.key, key).findUnique();
        }
    }

    private static final class Documents extends Entities<String, Document> {
        private final Query<Document> byName =
                keep(box.query(Document_.name.equal("", StringOrder.CASE_SENSITIVE)).build());

        Documents(Opened opened) {
            super(opened, Document.class);
        }

        @Override
        public Documents another(Open open) {
            return new Documents(opened.another());
        }

        @Override
        public Document get(String name) {
            return byName.setParameter(Document_.name, name).findUnique();
        }
    }

    private static final class Docs extends Entities<String, Doc> implements Live<String, Doc> {
        private final Query<Doc> byTitle =
                keep(box.query(Doc_.title.equal("", StringOrder.CASE_SENSITIVE)).build());
        private final Query<Doc> above = keep(box.query(Doc_.priority.greater(0)).build());
        private final Subscribers subscribers = new Subscribers(store, box);
        private boolean touched;

        Docs(Opened opened) {
            super(opened, Doc.class);
        }

        @Override
        public Docs another(Open open) {
            return new Docs(opened.another());
        }

        @Override
        public Doc get(String title) {
            return byTitle.setParameter(Doc_.title, title).findUnique();
        }

        @Override
        public List<Doc> find(long bound) {
            return above.setParameter(Doc_.priority, bound).find();
        }

        @Override
        public boolean updateOne(Doc state) throws Exception {
            return store.callInTx(() -> overwrite(state));
        }

        private boolean overwrite(Doc state) {
            state.id = byTitle.setParameter(Doc_.title, state.title).findUniqueId();
            if (state.id == 0) {
                return false;
            }
            box.put(state);
            return true;
        }

        @Override
        public List<Doc> updateMany(List<Doc> states) throws Exception {
            return store.callInTx(
                    () -> {
                        List<Doc> fetched = box.getAll();
                        box.put(overwritten(fetched, states));
                        return fetched;
                    });
        }

        @Override
        public List<Doc> deleteMany() throws Exception {
            return store.callInTx(
                    () -> {
                        List<Doc> fetched = box.getAll();
                        box.remove(fetched);
                        return fetched;
                    });
        }

        @Override
        public void watch(List<Subscription> subscriptions) throws Failure {
            subscribers.watch(subscriptions);
        }

        @Override
        public void change(List<Doc> states, Moments moments) {
            touched = false;
            store.runInTx(
                    () -> {
                        for (Doc state : states) {
                            touched |= overwrite(state);
                        }
                        moments.handedOver();
                    });
        }

        @Override
        public List<Subscribers.Told> receive() throws Failure {
            return touched ? subscribers.receive() : List.of();
        }

        @Override
        public List<Doc> fetch(Subscription subscription) {
            return subscribers.fetch(subscription);
        }

        @Override
        public void close() {
            subscribers.close();
            super.close();
        }

        /** The new states of objects that are there, each with the identifier of its object. */
        private static List<Doc> overwritten(List<Doc> fetched, List<Doc> states) {
            Map<String, Doc> byTitle = new java.util.HashMap<>(2 * fetched.size());
            fetched.forEach(doc -> byTitle.put(doc.title, doc));
            List<Doc> written = new ArrayList<>(states.size());
            for (Doc state : states) {
                Doc known = byTitle.get(state.title);
                if (known != null) {
                    state.id = known.id;
                    written.add(state);
                }
            }
            return written;
        }
    }
}
