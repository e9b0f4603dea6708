// A handle on objects of any of their types.

package touchstone.objectbox;

import io.objectbox.Property;
import io.objectbox.query.Query;
import io.objectbox.query.QueryBuilder.StringOrder;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import touchstone.kit.Open;

/** The objects of a class. */
class Objects<R extends Titled> extends Entities<String, R> {
    private final Property<R> title;
    private final Property<R> priority;
    private final Query<R> byTitle;
    private final Query<R> above;

    Objects(Opened opened, Class<R> entity, Property<R> title, Property<R> priority) {
        super(opened, entity);
        this.title = title;
        this.priority = priority;
        byTitle = keep(box.query(title.equal("", StringOrder.CASE_SENSITIVE)).build());
        above = keep(box.query(priority.greater(0)).build());
    }

    /** A further table is a class of its own. */
    @Override
    public Objects<? extends Titled> another(Open open) {
        Opened again = opened.another();
        return switch (open.typed() ? open.table() : 1) {
            case 2 -> new Objects<>(again, DocV2.class, DocV2_.title, DocV2_.priority);
            case 3 -> new Objects<>(again, DocV3.class, DocV3_.title, DocV3_.priority);
            case 4 -> new Objects<>(again, DocV4.class, DocV4_.title, DocV4_.priority);
            default -> new Docs(again);
        };
    }

    @Override
    public R get(String wanted) {
        return byTitle.setParameter(title, wanted).findUnique();
    }

    @Override
    public List<R> find(long bound) {
        return above.setParameter(priority, bound).find();
    }

    @Override
    public boolean updateOne(R state) throws Exception {
        return store.callInTx(() -> overwrite(state));
    }

    /** Within a transaction, writes a state over the object of its title, if there is one. */
    boolean overwrite(R state) {
        state.identify(byTitle.setParameter(title, state.key()).findUniqueId());
        if (state.id() == 0) {
            return false;
        }
        box.put(state);
        return true;
    }

    @Override
    public List<R> updateMany(List<R> states) throws Exception {
        return store.callInTx(
                () -> {
                    List<R> fetched = box.getAll();
                    box.put(overwritten(fetched, states));
                    return fetched;
                });
    }

    @Override
    public List<R> deleteMany() throws Exception {
        return store.callInTx(
                () -> {
                    List<R> fetched = box.getAll();
                    box.remove(fetched);
                    return fetched;
                });
    }

    /** The new states of objects that are there, each with the identifier of its object. */
    private static <R extends Titled> List<R> overwritten(List<R> fetched, List<R> states) {
        Map<String, R> byTitle = new HashMap<>(2 * fetched.size());
        fetched.forEach(object -> byTitle.put(object.key(), object));
        List<R> written = new ArrayList<>(states.size());
        for (R state : states) {
            R known = byTitle.get(state.key());
            if (known != null) {
                state.identify(known.id());
                written.add(state);
            }
        }
        return written;
    }
}
