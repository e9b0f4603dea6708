// Writes records as a dataset file has them: flat, little-endian, lengths before what is long.

package touchstone.kit;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/** Bytes that grow as fields are put at their end. */
final class EncodedBytes implements Encoder {
    private byte[] bytes = new byte[256];
    private int length;

    @Override
    public void u8(int number) {
        room(1);
        bytes[length++] = (byte) number;
    }

    @Override
    public void u32(int number) {
        room(4);
        for (int shift = 0; shift < 32; shift += 8) {
            bytes[length++] = (byte) (number >>> shift);
        }
    }

    @Override
    public void i64(long number) {
        u32((int) number);
        u32((int) (number >>> 32));
    }

    @Override
    public void f32(float number) {
        u32(Float.floatToRawIntBits(number));
    }

    @Override
    public void bytes(byte[] value) {
        u32(value.length);
        room(value.length);
        System.arraycopy(value, 0, bytes, length, value.length);
        length += value.length;
    }

    @Override
    public void text(String value) {
        bytes(value.getBytes(StandardCharsets.UTF_8));
    }

    private void room(int more) {
        if (length + more > bytes.length) {
            bytes = Arrays.copyOf(bytes, Math.max(2 * bytes.length, length + more));
        }
    }

    void clear() {
        length = 0;
    }

    byte[] array() {
        return bytes;
    }

    int length() {
        return length;
    }
}
