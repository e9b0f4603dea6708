// Subscribers, as the library's users write them: a query is subscribed to, and gives its whole result anew after each
// commit that touched its type. Of an object by its key, and of the first few of a result, no query can be subscribed to;
// there the type is, and whoever is told fetches what it is about.
//
// The library tells everybody whose type was touched, changed or not. So each subscriber keeps what it had, as an app
// does that draws anew only what is another than before. What differs nobody tells: it is worked out from both results.

package touchstone.objectbox;

import io.objectbox.Box;
import io.objectbox.BoxStore;
import io.objectbox.query.Query;
import io.objectbox.query.QueryBuilder.StringOrder;
import io.objectbox.reactive.DataObserver;
import io.objectbox.reactive.DataSubscription;
import io.objectbox.reactive.DataSubscriptionList;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import touchstone.kit.Difference;
import touchstone.kit.Failure;
import touchstone.kit.Subscription;
import touchstone.kit.Update;
import touchstone.kit.Watched;

/** The subscribers to objects, each in the thread that the library tells it in. */
final class Subscribers {
    /** Longer than any result takes. */
    private static final long PATIENCE_S = 300;

    private final BoxStore store;
    private final Box<Doc> box;
    private final DataSubscriptionList subscribed = new DataSubscriptionList();
    private final List<Query<Doc>> queries = new ArrayList<>();
    private final ConcurrentLinkedQueue<Told> updates = new ConcurrentLinkedQueue<>();
    /** One for each subscriber that was told. */
    private final Semaphore told = new Semaphore(0);

    private int count;
    /** The one that was begun beside those that are watched, and its query; null where there is none. */
    private DataSubscription begun;

    private Query<Doc> begunQuery;

    Subscribers(BoxStore store, Box<Doc> box) {
        this.store = store;
        this.box = box;
    }

    /** Subscribes to all of them, and waits until each has its first result. */
    void watch(List<Subscription> subscriptions) throws Failure {
        close();
        count = subscriptions.size();
        for (int number = 0; number < count; number++) {
            subscribe(number, subscriptions.get(number));
        }
        await();
        updates.clear();
    }

    private void subscribe(int number, Subscription subscription) {
        Subscriber subscriber = new Subscriber(number);
        Query<Doc> query = query(subscription);
        queries.add(query);
        subscribed.add(observe(query, subscription, subscriber::told));
    }

    /** Has an observer called with the result, at once and after each commit. */
    private DataSubscription observe(
            Query<Doc> query, Subscription subscription, DataObserver<List<Doc>> observer) {
        long limit = subscription.limit();
        if (subscription.watched() == Watched.OBJECT) {
            long id = query.findUniqueId();
            return store.subscribe(Doc.class)
                    .observer(type -> observer.onData(id == 0 ? query.find() : there(box.get(id))));
        }
        if (limit > 0) {
            return store.subscribe(Doc.class).observer(type -> observer.onData(query.find(0, limit)));
        }
        return query.subscribe().observer(observer);
    }

    /** Begins one more subscription, and waits until it has its first result. */
    List<Doc> begin(Subscription subscription) throws Failure {
        CompletableFuture<List<Doc>> first = new CompletableFuture<>();
        begunQuery = query(subscription);
        begun = observe(begunQuery, subscription, first::complete);
        try {
            return first.get(PATIENCE_S, TimeUnit.SECONDS);
        } catch (InterruptedException error) {
            Thread.currentThread().interrupt();
        } catch (ExecutionException | TimeoutException error) {
            // Said below.
        }
        end();
        throw new Failure(Failure.Kind.OTHER, "a subscriber was not told of its first result");
    }

    /** Ends the subscription that was begun last. */
    void end() {
        if (begun != null) {
            begun.cancel();
            begunQuery.close();
            begun = null;
        }
    }

    /** Waits until every subscriber was told once, and gives what is another than before. */
    List<Told> receive() throws Failure {
        await();
        List<Told> all = new ArrayList<>(updates);
        updates.clear();
        return all;
    }

    private void await() throws Failure {
        try {
            if (told.tryAcquire(count, PATIENCE_S, TimeUnit.SECONDS)) {
                return;
            }
        } catch (InterruptedException error) {
            Thread.currentThread().interrupt();
        }
        String message = told.availablePermits() + " of " + count + " subscribers were told";
        throw new Failure(Failure.Kind.OTHER, message);
    }

    /** Fetches anew what a subscription is about. */
    List<Doc> fetch(Subscription subscription) {
        try (Query<Doc> query = query(subscription)) {
            return query.find(0, subscription.limit());
        }
    }

    private Query<Doc> query(Subscription subscription) {
        if (subscription.title() != null) {
            return box.query(Doc_.title.equal(subscription.title(), StringOrder.CASE_SENSITIVE)).build();
        }
        var window =
                Doc_.priority.less(subscription.below()).and(Doc_.priority.greaterOrEqual(subscription.from()));
        return box.query(window).order(Doc_.priority).build();
    }

    private static List<Doc> there(Doc doc) {
        return doc == null ? List.of() : List.of(doc);
    }

    /** Ends all subscriptions. */
    void close() {
        end();
        subscribed.cancel();
        queries.forEach(Query::close);
        queries.clear();
        updates.clear();
        told.drainPermits();
        count = 0;
    }

    /** Somebody who is told of a result. */
    private final class Subscriber {
        private final int number;
        private List<Doc> had;

        Subscriber(int number) {
            this.number = number;
        }

        void told(List<Doc> result) {
            if (!result.equals(had)) {
                updates.add(new Told(number, had, result));
                had = result;
            }
            told.release();
        }
    }

    /** What a subscriber is given. */
    record Told(int subscription, List<Doc> before, List<Doc> records) implements Update<Doc> {
        @Override
        public long sum() {
            long sum = 0;
            for (Doc doc : records) {
                if (doc.priority != null) {
                    sum += doc.priority;
                }
            }
            return sum;
        }

        @Override
        public List<Doc> copy() {
            return new ArrayList<>(records);
        }

        /** Walks both results at once: a window is in the order of its priorities, and another result has one object. */
        @Override
        public List<Difference<Doc>> diff() {
            List<Difference<Doc>> differences = new ArrayList<>();
            int old = 0;
            int now = 0;
            while (old < before.size() || now < records.size()) {
                Doc was = old < before.size() ? before.get(old) : null;
                Doc is = now < records.size() ? records.get(now) : null;
                if (was != null && is != null && was.title.equals(is.title)) {
                    if (!was.equals(is)) {
                        differences.add(new Difference<>(Difference.Kind.CHANGED, now, is));
                    }
                    old++;
                    now++;
                } else if (is == null || (was != null && was.comesBefore(is))) {
                    differences.add(new Difference<>(Difference.Kind.REMOVED, old++, null));
                } else {
                    differences.add(new Difference<>(Difference.Kind.INSERTED, now++, is));
                }
            }
            return differences;
        }
    }
}
