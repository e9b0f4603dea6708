// The colours of an object, and how ObjectBox stores them: an entity's property of another type has a converter.

package touchstone.objectbox;

import io.objectbox.converter.PropertyConverter;

/** A colour. Its place is its number. */
public enum Colour {
    RED,
    GREEN,
    BLUE;

    private static final Colour[] ALL = values();

    static Colour numbered(int number) {
        if (number < ALL.length) {
            return ALL[number];
        }
        throw new IllegalArgumentException("there is no colour " + number);
    }

    /** Stores a colour by its number. */
    public static class Converter implements PropertyConverter<Colour, Integer> {
        @Override
        public Colour convertToEntityProperty(Integer number) {
            return number == null ? null : ALL[number];
        }

        @Override
        public Integer convertToDatabaseValue(Colour colour) {
            return colour == null ? null : colour.ordinal();
        }
    }
}
