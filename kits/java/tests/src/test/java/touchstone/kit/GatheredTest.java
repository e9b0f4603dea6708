// What is gathered of a record is what it was while the clock ran.

package touchstone.kit;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.Arrays;
import java.util.List;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;

class GatheredTest {
    /** A record that is right only once somebody has had the time to look it up. */
    private static final class Later implements Record<Long> {
        private final long key;
        private byte[] value = {};

        Later(long key) {
            this.key = key;
        }

        @Override
        public Long key() {
            return key;
        }

        @Override
        public void encode(Encoder bytes) {
            bytes.i64(key);
            bytes.bytes(value);
            bytes.f32(1.5f);
            bytes.u8(200);
        }
    }

    private static byte[] encoded(Record<?> record) {
        EncodedBytes bytes = new EncodedBytes();
        record.encode(bytes);
        return Arrays.copyOf(bytes.array(), bytes.length());
    }

    @Test
    void whatARecordFetchesLaterIsNoAnswer() {
        Gathered gathered = new Gathered(1);
        List<Later> records = LongStream.of(7, -1, 3).mapToObj(Later::new).toList();
        List<byte[]> before = records.stream().map(GatheredTest::encoded).toList();
        for (int more = 0; more < 100; more++) {
            records.forEach(gathered::add);
        }
        records.forEach(record -> record.value = new byte[] {1, 2, 3});
        assertEquals(300, gathered.records());
        for (int record = 0; record < 300; record++) {
            EncodedBytes bytes = new EncodedBytes();
            gathered.encode(record, bytes);
            assertArrayEquals(before.get(record % 3), Arrays.copyOf(bytes.array(), bytes.length()));
        }
        int[] order = gathered.inKeyOrder();
        assertEquals(List.of(1, 2, 0), List.of(order[0] % 3, order[100] % 3, order[299] % 3));
    }
}
