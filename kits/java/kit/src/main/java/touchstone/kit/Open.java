// What `open` asks for, with the settings read out by type.

package touchstone.kit;

import java.nio.file.Path;
import java.util.List;
import java.util.Map;

/**
 * What a driver is asked to open.
 *
 * @param directory an existing directory that belongs to this contender alone
 * @param record the record type that it stores
 * @param create make the tables in a directory that is empty, instead of expecting them
 * @param tables how many tables, the record's own included
 * @param keyed rows are got by their key, so a table that would else have none makes it its key
 * @param typed tables 2 and on hold types of their own
 * @param indexes fields to index beyond the natural schema
 * @param table the table that the handle's verbs are about, from 1
 * @param settings what is asked for by neutral name, a {@link Long} or a {@link String} each
 */
public record Open(
        Path directory,
        RecordKind record,
        boolean create,
        int tables,
        boolean keyed,
        boolean typed,
        List<String> indexes,
        int table,
        Map<String, Object> settings) {

    /** The setting as one of {@code words}, or null if it is not asked for. */
    public String word(String name, String... words) throws Failure {
        Object asked = settings.get(name);
        if (asked == null || List.of(words).contains(asked)) {
            return (String) asked;
        }
        String known = String.join(", ", words);
        throw Failure.unsupported("setting " + name + ": `" + asked + "` is not one of " + known);
    }

    /** The setting as a number, or null if it is not asked for. */
    public Long number(String name) throws Failure {
        Object asked = settings.get(name);
        if (asked == null || asked instanceof Long) {
            return (Long) asked;
        }
        throw Failure.unsupported("setting " + name + ": `" + asked + "` is not a number");
    }

    /**
     * Refuses an index on any field but the key, which has one already: for a library that makes none when it is asked,
     * lest an arm be told to have what it has not.
     */
    public void keyAloneIsIndexed() throws Failure {
        for (String field : indexes) {
            if (!field.equals(record.key)) {
                String why = "this library makes none when it is asked, and its `" + record.key + "` has one";
                throw Failure.unsupported("index on `" + field + "`: " + why);
            }
        }
    }

    /** The same, of another table, with nothing left to create. */
    Open reopened(int table) {
        return new Open(directory, record, false, tables, keyed, typed, indexes, table, settings);
    }
}
