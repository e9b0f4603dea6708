// ObjectBox, as its users write it: entities with properties of their own, one store for all threads, queries that are
// built once and given their parameters anew.
//
// A store's types are those that it was compiled with: further tables are types of their own or none, and an index is an
// annotation. The library has no settings for what a commit promises: each is flushed.

package touchstone.objectbox;

import io.objectbox.BoxStore;
import io.objectbox.exception.DbException;
import io.objectbox.exception.DbFullException;
import io.objectbox.exception.FileCorruptException;
import io.objectbox.query.Query;
import io.objectbox.query.QueryBuilder.StringOrder;
import java.io.IOException;
import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.ManagementFactory;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import java.util.stream.Stream;
import touchstone.kit.About;
import touchstone.kit.Driver;
import touchstone.kit.Failure;
import touchstone.kit.Kit;
import touchstone.kit.Open;
import touchstone.kit.RecordKind;
import touchstone.kit.Shelf;
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
            EnumSet.complementOf(EnumSet.of(Verb.OPEN, Verb.DELIVER, Verb.SUBSCRIBE));
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
                        open -> new Docs(store(open)),
                        List.of(DocV2::new, DocV3::new, DocV4::new)));
    }

    @Override
    public Failure.Kind kindOf(Exception error) {
        if (error instanceof DbFullException) {
            return Failure.Kind.FULL;
        }
        return error instanceof FileCorruptException ? Failure.Kind.CORRUPT : Driver.super.kindOf(error);
    }

    private static Entities.Opened store(Open open) throws Failure {
        open.keyAloneIsIndexed();
        BoxStore store =
                MyObjectBox.builder()
                        .directory(open.directory().toFile())
                        .maxSizeInKByte(SIZE_KILOBYTES_MAX)
                        .maxReaders(READERS_MAX)
                        .build();
        return new Entities.Opened(store, true);
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
}
