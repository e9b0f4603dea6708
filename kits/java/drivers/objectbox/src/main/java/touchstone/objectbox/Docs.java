// A handle on whole objects, which can be watched.

package touchstone.objectbox;

import java.util.List;
import touchstone.kit.Failure;
import touchstone.kit.Live;
import touchstone.kit.Moments;
import touchstone.kit.Subscription;

/** Whole objects, and who subscribes to them. */
final class Docs extends Objects<Doc> implements Live<String, Doc> {
    private final Subscribers subscribers = new Subscribers(store, box);
    private boolean touched;

    Docs(Opened opened) {
        super(opened, Doc.class, Doc_.title, Doc_.priority);
    }

    @Override
    public void watch(List<Subscription> subscriptions) throws Failure {
        subscribers.watch(subscriptions);
    }

    @Override
    public List<Doc> subscribe(Subscription subscription) throws Failure {
        return subscribers.begin(subscription);
    }

    @Override
    public void unsubscribe() {
        subscribers.end();
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
}
