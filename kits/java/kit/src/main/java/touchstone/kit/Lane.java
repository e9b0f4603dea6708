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
 */
record Lane(Verb verb, long from, long count, boolean held, int table, Long above) {
    static Lane read(Fields fields) throws Failure {
        Lane lane =
                new Lane(
                        Verb.named(fields.text("verb")),
                        fields.natural("from"),
                        fields.natural("count"),
                        fields.flagOr("held", false),
                        (int) fields.naturalOr("table", 1),
                        fields.integerOrNull("above"));
        fields.end();
        return lane;
    }
}
