// What the types of objects have in common.

package touchstone.objectbox;

import touchstone.kit.Record;

/** An entity whose key is a title, beside the identifier that the library gives it. */
interface Titled extends Record<String> {
    /** The library's identifier; 0 for an object that is not stored. */
    long id();

    /** Makes it the stored object of that identifier. */
    void identify(long id);
}
