//! Whole numbers as people read them, wherever words are made.

/// A whole number with its thousands apart: `100,000`.
pub fn count(count: u64) -> String {
    let figures = count.to_string();
    let mut grouped = String::with_capacity(figures.len() + figures.len() / 3);
    for (place, figure) in figures.chars().enumerate() {
        if place > 0 && (figures.len() - place).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(figure);
    }
    grouped
}

#[cfg(test)]
mod tests {
    use super::count;

    #[test]
    fn thousands_stand_apart() {
        assert_eq!([0, 100, 1_000, 1_234_567].map(count), ["0", "100", "1,000", "1,234,567"]);
    }
}
