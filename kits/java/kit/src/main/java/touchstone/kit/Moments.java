// The moments of a transaction, from its first statement until its last subscriber is done.
//
// The wall clock is read at each, the processor's only where the timed stretch begins and ends.

package touchstone.kit;

/** The moments of a transaction. */
public final class Moments {
    private final Lane.Stretch stretch;
    private long processorStartNs = Clock.processorNs();
    private final long started = Clock.now();
    private boolean told;
    private long handedOver = started;
    private long committed;
    private long received;
    private long done;
    private long processorEndNs;

    Moments(Lane.Stretch stretch) {
        this.stretch = stretch;
    }

    /** Every statement of the transaction is done; what follows is the commit. */
    public void handedOver() {
        if (stretch == Lane.Stretch.COMMIT || stretch == Lane.Stretch.BOTH) {
            processorStartNs = Clock.processorNs();
        }
        told = true;
        handedOver = Clock.now();
    }

    void committed() {
        committed = Clock.now();
        switch (stretch) {
            case WRITE, COMMIT -> processorEndNs = Clock.processorNs();
            case DELIVERY -> processorStartNs = Clock.processorNs();
            case BOTH -> {}
        }
    }

    void received() {
        received = Clock.now();
    }

    void done() {
        done = Clock.now();
        if (stretch == Lane.Stretch.DELIVERY || stretch == Lane.Stretch.BOTH) {
            processorEndNs = Clock.processorNs();
        }
    }

    /** Whether the driver said when the commit began. */
    boolean isTold() {
        return told;
    }

    long writeNs() {
        return handedOver - started;
    }

    long commitNs() {
        return committed - handedOver;
    }

    long deliveryNs() {
        return received - committed;
    }

    long depthNs() {
        return done - received;
    }

    long processorNs() {
        return Math.max(0, processorEndNs - processorStartNs);
    }

    /** The stretch that the lane times. */
    long wallNs() {
        return switch (stretch) {
            case WRITE -> committed - started;
            case COMMIT -> commitNs();
            case DELIVERY -> done - committed;
            case BOTH -> done - handedOver;
        };
    }
}
