// What a driver implements whose library has subscriptions.

package touchstone.kit;

import java.util.List;

/**
 * Subscriptions to one record type. Those of {@link #watch} are made before anything is timed, and end with the handle. For
 * each transaction the kit calls {@link #change}, then {@link #receive}; where it times how long subscriptions take to begin
 * and to end, {@link #subscribe}, then {@link #unsubscribe}.
 */
public interface Live<K, R extends Record<K>> extends Store<K, R> {
    /** Subscribes to all of them; a subscription's number is its place. Those made before end. */
    void watch(List<Subscription> subscriptions) throws Exception;

    /**
     * Begins one more subscription, and hands over its first result, every record of it: who is called with it is waited
     * for, and what is fetched when it is first looked at is looked at.
     */
    List<R> subscribe(Subscription subscription) throws Exception;

    /** Ends the subscription that {@link #subscribe} began last, as who leaves a view does. */
    void unsubscribe() throws Exception;

    /**
     * In one transaction, writes each new state, whole, over the record with its key, and commits. Calls
     * {@link Moments#handedOver} once, when every statement is done and nothing is left but to commit.
     */
    void change(List<R> states, Moments moments) throws Exception;

    /**
     * Hands over what the last transaction has for the subscribers, in any order: exactly one update for each subscription
     * whose result is another than before. Returns when there is nothing more to come.
     */
    List<? extends Update<R>> receive() throws Exception;

    /** Fetches what a subscription is about anew, by the library's own means, in its order. Never timed. */
    List<R> fetch(Subscription subscription) throws Exception;
}
