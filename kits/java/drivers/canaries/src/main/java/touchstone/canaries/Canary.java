// Canaries without a database: rows in memory, kept in a file while closed. One answers wrongly now and then,
// one sleeps before each right answer. Reading everything and inserting many stay innocent, so that the lab can fill and
// check them.

package touchstone.canaries;

import java.io.IOException;
import java.io.ObjectInputStream;
import java.io.ObjectOutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import touchstone.kit.About;
import touchstone.kit.Driver;
import touchstone.kit.Kit;
import touchstone.kit.Open;
import touchstone.kit.RecordKind;
import touchstone.kit.Shelf;
import touchstone.kit.Store;
import touchstone.kit.Verb;
import touchstone.kit.Watched;

/** A canary. */
public final class Canary implements Driver {
    /** What a canary does wrong. */
    private enum Mischief {
        WRONG,
        SLEEP
    }

    private final Mischief mischief;

    private Canary(Mischief mischief) {
        this.mischief = mischief;
    }

    /** Starts the canary that is named: {@code wrong} or {@code sleep}. */
    public static void main(String[] arguments) throws IOException {
        Kit.main(new Canary(arguments[0].equals("wrong") ? Mischief.WRONG : Mischief.SLEEP));
    }

    @Override
    public About about() {
        String subject = "canary-java-" + (mischief == Mischief.WRONG ? "wrong" : "sleep");
        return new About(subject, "0.1.0", "none", "", List.of());
    }

    @Override
    public List<Shelf<?, ?>> shelves() {
        var verbs = EnumSet.of(Verb.GET, Verb.READ_ALL, Verb.INSERT_ONE, Verb.INSERT_MANY);
        var nothing = EnumSet.noneOf(Watched.class);
        return List.of(
                new Shelf<Long, Row>(RecordKind.ROW, Row::new, verbs, false, false, nothing, this::open));
    }

    private Rows open(Open open) throws Exception {
        return new Rows(mischief, open.directory().resolve("rows"));
    }

    /** Rows in memory. */
    private static final class Rows implements Store<Long, Row> {
        private final Mischief mischief;
        private final Path file;
        private final TreeMap<Long, byte[]> rows;
        private long gets;

        @SuppressWarnings("unchecked")
        Rows(Mischief mischief, Path file) throws Exception {
            this.mischief = mischief;
            this.file = file;
            if (Files.exists(file)) {
                try (var input = new ObjectInputStream(Files.newInputStream(file))) {
                    rows = (TreeMap<Long, byte[]>) input.readObject();
                }
            } else {
                rows = new TreeMap<>();
            }
        }

        private Rows(Rows other) {
            mischief = other.mischief;
            file = other.file;
            rows = other.rows;
        }

        @Override
        public Rows another(Open open) {
            return new Rows(this);
        }

        @Override
        public Map<String, Object> settings() {
            return Map.of();
        }

        @Override
        public Row get(Long key) throws InterruptedException {
            if (mischief == Mischief.SLEEP) {
                Thread.sleep(1);
            }
            byte[] value = rows.get(key);
            if (value == null) {
                return null;
            }
            byte[] answer = value.clone();
            if (mischief == Mischief.WRONG && ++gets % 97 == 0) {
                answer[answer.length - 1] ^= 1;
            }
            return new Row(key, answer);
        }

        @Override
        public List<Row> readAll() {
            return rows.entrySet().stream().map(row -> new Row(row.getKey(), row.getValue())).toList();
        }

        @Override
        public void insertOne(Row row) {
            rows.put(row.key(), row.value());
        }

        @Override
        public void insertMany(List<Row> rows) {
            rows.forEach(this::insertOne);
        }

        @Override
        public void close() throws IOException {
            try (var output = new ObjectOutputStream(Files.newOutputStream(file))) {
                output.writeObject(rows);
            }
        }
    }
}
