// What a record hands its fields to, in the order of a dataset file: flat, little-endian, lengths before what is long.

package touchstone.kit;

/** Takes the fields of a record, one after the other. */
public sealed interface Encoder permits EncodedBytes, Gathered {
    /** One byte. */
    void u8(int number);

    /** Four bytes. */
    void u32(int number);

    /** Eight bytes. */
    void i64(long number);

    /** Four bytes. */
    void f32(float number);

    /** A length, then the bytes. */
    void bytes(byte[] value);

    /** A length, then the text in UTF-8. */
    void text(String value);
}
