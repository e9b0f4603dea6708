// One lane of a run, as the lab asks for it.

package touchstone.kit;

/**
 * One lane's work.
 *
 * @param verb what to do
 * @param from the first operation
 * @param count how many
 * @param held hold one read transaction around all of them
 * @param table on which table, from 1
 * @param above what `find` compares with, or null
 * @param changes how many new states each transaction of `deliver` writes
 * @param depth what the subscribers of `deliver` do with what they are given
 * @param stretch which stretch of a transaction of `deliver` is timed
 */
record Lane(
        Verb verb,
        long from,
        long count,
        boolean held,
        int table,
        Long above,
        long changes,
        Depth depth,
        Stretch stretch) {
    /** What a subscriber does with an update before its clock stops. */
    enum Depth {
        HANDLE,
        ITERATED,
        COPIED,
        DIFF
    }

    /** Which stretch of a transaction with subscribers is timed. */
    enum Stretch {
        WRITE,
        COMMIT,
        DELIVERY,
        BOTH
    }

    static Lane read(Fields fields) throws Failure {
        Lane lane =
                new Lane(
                        Verb.named(fields.text("verb")),
                        fields.natural("from"),
                        fields.natural("count"),
                        fields.flagOr("held", false),
                        (int) fields.naturalOr("table", 1),
                        fields.integerOrNull("above"),
                        fields.naturalOr("changes", 1),
                        fields.wordOr("depth", Depth.HANDLE),
                        fields.wordOr("stretch", Stretch.BOTH));
        fields.end();
        return lane;
    }
}
