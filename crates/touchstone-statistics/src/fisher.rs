//! Fisher's exact test of two shares (R. A. Fisher, "The Design of Experiments", 1935, chapter II).

/// The one-sided p that `hits` of `trials` are no more than `other_hits` of `other_trials`: how often that many or more of all
/// the hits fall to the first by chance. A p of 1 where there are no trials.
pub fn more_often(hits: u64, trials: u64, other_hits: u64, other_trials: u64) -> f64 {
    let all_hits = hits + other_hits;
    let ways = |of_first: u64| ln_choose(trials, of_first) + ln_choose(other_trials, all_hits - of_first);
    let all_ways = ln_choose(trials + other_trials, all_hits);
    let most = trials.min(all_hits);
    (hits..=most).map(|of_first| (ways(of_first) - all_ways).exp()).sum::<f64>().min(1.0)
}

/// The logarithm of how many ways there are to choose so many of all.
fn ln_choose(all: u64, chosen: u64) -> f64 {
    if chosen > all {
        return f64::NEG_INFINITY;
    }
    (1..=chosen).map(|k| ((all - chosen + k) as f64 / k as f64).ln()).sum()
}

#[cfg(test)]
mod tests {
    use super::more_often;

    /// Fisher's lady, who found three of the four cups, and R's `fisher.test(alternative = "greater")`.
    #[test]
    fn known_answers() {
        let known = [
            ((3, 4, 1, 4), 17.0 / 70.0),
            ((4, 4, 0, 4), 1.0 / 70.0),
            ((8, 8, 3, 8), 56.0 / 4_368.0),
            ((0, 5, 0, 5), 1.0),
            ((0, 0, 3, 7), 1.0),
        ];
        for ((hits, trials, other_hits, other_trials), wanted) in known {
            let p = more_often(hits, trials, other_hits, other_trials);
            assert!((p - wanted).abs() < 1e-12, "{hits}/{trials} against {other_hits}/{other_trials}: {p}");
        }
    }

    /// Against an enumeration of all ways to deal the hits out.
    #[test]
    fn as_an_enumeration() {
        for (trials, other_trials, all_hits) in [(3, 4, 2), (5, 3, 4), (6, 6, 5)] {
            let deals: Vec<u32> =
                (0..1_u32 << (trials + other_trials)).filter(|deal| deal.count_ones() == all_hits).collect();
            for hits in 0..=all_hits.min(trials) {
                let first = (1_u32 << trials) - 1;
                let as_many = deals.iter().filter(|deal| (*deal & first).count_ones() >= hits).count();
                let wanted = as_many as f64 / deals.len() as f64;
                let others = all_hits - hits;
                let p = more_often(hits.into(), trials.into(), others.into(), other_trials.into());
                let is_possible = others <= other_trials;
                assert!(!is_possible || (p - wanted).abs() < 1e-12, "{hits} of {trials}: {p}, not {wanted}");
            }
        }
    }
}
