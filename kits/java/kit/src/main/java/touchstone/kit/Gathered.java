// The fields of answered records, taken while the clock runs and encoded after it has stopped.
//
// A record is a class of the driver's own, and could fetch its fields when they are first asked for: here they are asked
// for in time. Numbers are copied, texts and bytes are kept as they are, so that a field costs the store of a word.

package touchstone.kit;

import java.util.Arrays;
import java.util.Comparator;
import java.util.stream.IntStream;

/** The fields of records. The first field of each is its key. */
final class Gathered implements Encoder {
    private static final byte U8 = 0;
    private static final byte U32 = 1;
    private static final byte I64 = 2;
    private static final byte BYTES = 3;
    private static final byte TEXT = 4;

    private byte[] kinds;
    /** Each field's number, or its place among the values. */
    private long[] numbers;

    private int fields;
    private Object[] values;
    private int valued;
    /** The first field of each record. */
    private int[] begins;

    private int records;

    /** Room for so many records, before it has to grow. */
    Gathered(int records) {
        begins = new int[Math.max(records, 16)];
        kinds = new byte[4 * begins.length];
        numbers = new long[4 * begins.length];
        values = new Object[2 * begins.length];
    }

    /** Takes every field of a record. */
    void add(Record<?> record) {
        if (records == begins.length) {
            begins = Arrays.copyOf(begins, 2 * records);
        }
        begins[records++] = fields;
        record.encode(this);
    }

    int records() {
        return records;
    }

    /** Encodes a record as a dataset file has it. */
    void encode(int record, Encoder bytes) {
        int end = record + 1 < records ? begins[record + 1] : fields;
        for (int field = begins[record]; field < end; field++) {
            long number = numbers[field];
            switch (kinds[field]) {
                case U8 -> bytes.u8((int) number);
                case U32 -> bytes.u32((int) number);
                case I64 -> bytes.i64(number);
                case BYTES -> bytes.bytes((byte[]) values[(int) number]);
                default -> bytes.text((String) values[(int) number]);
            }
        }
    }

    /** The records by their keys. */
    int[] inKeyOrder() {
        Comparator<Integer> byKey = (one, other) -> Record.compareKeys(key(one), key(other));
        return IntStream.range(0, records).boxed().sorted(byKey).mapToInt(Integer::intValue).toArray();
    }

    private Object key(int record) {
        int first = begins[record];
        return kinds[first] == TEXT ? values[(int) numbers[first]] : (Object) numbers[first];
    }

    @Override
    public void u8(int number) {
        field(U8, number);
    }

    @Override
    public void u32(int number) {
        field(U32, number);
    }

    @Override
    public void i64(long number) {
        field(I64, number);
    }

    @Override
    public void f32(float number) {
        field(U32, Float.floatToRawIntBits(number));
    }

    @Override
    public void bytes(byte[] value) {
        value(BYTES, value);
    }

    @Override
    public void text(String value) {
        value(TEXT, value);
    }

    private void value(byte kind, Object value) {
        if (valued == values.length) {
            values = Arrays.copyOf(values, 2 * valued);
        }
        values[valued] = value;
        field(kind, valued++);
    }

    private void field(byte kind, long number) {
        if (fields == kinds.length) {
            kinds = Arrays.copyOf(kinds, 2 * fields);
            numbers = Arrays.copyOf(numbers, 2 * fields);
        }
        kinds[fields] = kind;
        numbers[fields++] = number;
    }
}
