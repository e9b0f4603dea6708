// Reads records as a dataset file has them. What is cut off or no record is said so, never read as another one.

package touchstone.kit;

import java.nio.BufferUnderflowException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;

/** A place in bytes that were read whole. */
public final class Decoder {
    private final ByteBuffer bytes;

    Decoder(byte[] bytes, int from) {
        this.bytes = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN).position(from);
    }

    /** One byte. */
    public int u8() {
        return bytes.get() & 0xff;
    }

    /** Four bytes. */
    public int u32() {
        return bytes.getInt();
    }

    /** Eight bytes. */
    public long i64() {
        return bytes.getLong();
    }

    /** Four bytes. */
    public float f32() {
        return bytes.getFloat();
    }

    /** A length, then so many bytes. */
    public byte[] bytes() {
        byte[] value = new byte[length()];
        bytes.get(value);
        return value;
    }

    /** A length, then so many bytes of UTF-8. */
    public String text() {
        int length = length();
        ByteBuffer text = bytes.slice().limit(length);
        bytes.position(bytes.position() + length);
        try {
            return StandardCharsets.UTF_8.newDecoder().decode(text).toString();
        } catch (CharacterCodingException error) {
            throw new IllegalArgumentException("a text is no UTF-8", error);
        }
    }

    private int length() {
        int length = bytes.getInt();
        if (length < 0 || length > bytes.remaining()) {
            throw new BufferUnderflowException();
        }
        return length;
    }

    int position() {
        return bytes.position();
    }

    boolean ended() {
        return !bytes.hasRemaining();
    }
}
