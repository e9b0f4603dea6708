"""Known answers for the statistics of Touchstone, computed elsewhere: SciPy, statsmodels, NumPy, or plain enumeration.

Regenerate (the environment stays outside the tree):

    python3 -m venv /tmp/oracle && /tmp/oracle/bin/pip install scipy==1.17.1 statsmodels==0.15.0
    /tmp/oracle/bin/python oracle.py > known_answers.json

Nothing here repeats the algorithm under test: p values come from SciPy's exact mode or, for ties and zeros, which it
refuses, from all 2^n assignments of signs; intervals come from inverting that test, not from order statistics; the
interval of a share comes from the beta distribution, not from a bisection.
"""

import itertools
import json
import math

import numpy
import scipy
import statsmodels
from scipy import stats
from statsmodels.stats.multitest import multipletests

LEVEL_OF_A_LOOK = 1 - 0.0182
SEED = 20240607


def walsh_averages(values):
    pairs = itertools.combinations_with_replacement(values, 2)
    return sorted((left + right) / 2 for left, right in pairs)


def exact_p(values):
    """SciPy's exact two-sided p value; only for values without ties and zeros."""
    magnitudes = numpy.abs(values)
    assert len(set(magnitudes)) == len(values) and 0.0 not in magnitudes
    return float(stats.wilcoxon(values, method="exact").pvalue)


def enumerated_p(values):
    """The same by visiting every assignment of signs to the midranks of the values that are not zero."""
    nonzero = [value for value in values if value != 0.0]
    if not nonzero:
        return 1.0
    ranks = stats.rankdata(numpy.abs(nonzero))
    centre = ranks.sum() / 2
    observed = abs(sum(rank for rank, value in zip(ranks, nonzero) if value > 0) - centre)
    extreme = 0
    for signs in itertools.product((0, 1), repeat=len(ranks)):
        extreme += abs(numpy.dot(signs, ranks) - centre) >= observed - 1e-9
    return extreme / 2 ** len(ranks)


def inverted_interval(values, level):
    """The closed hull of all centres that the exact test does not reject; None where it rejects nothing."""
    averages = sorted(set(walsh_averages(values)))
    beyond = averages[-1] + 1.0
    if exact_p([value - beyond for value in values]) >= 1 - level:
        return None
    accepted = []
    for low, high in itertools.pairwise(averages):
        # The p value is constant strictly between two neighbouring Walsh averages. A third of the way, not the middle,
        # because half sums of half sums produce ties among the magnitudes.
        inside = low + (high - low) / 3
        if exact_p([value - inside for value in values]) >= 1 - level:
            accepted += [low, high]
    return [min(accepted), max(accepted)]


def clean_samples(random):
    for size in (1, 5, 6, 7, 8, 9, 12, 16, 20, 24, 33, 50):
        shift = random.choice([0.0, 0.3, 1.0])
        yield [float(value) for value in random.normal(shift, 1.0, size)]
    yield [float(value) for value in 0.01 + 0.008 * random.standard_t(2, 24)]
    yield [float(value) for value in numpy.exp(random.normal(0, 1, 12))]


def signed_rank(random):
    for values in clean_samples(random):
        yield {
            "values": values,
            "p": exact_p(values),
            "hodges_lehmann": float(numpy.median(walsh_averages(values))),
            "intervals": [
                {"level": level, "interval": inverted_interval(values, level)}
                for level in (0.5, 0.95, LEVEL_OF_A_LOOK, 0.999)
            ],
        }


def signed_rank_tied(random):
    samples = [
        [0.0],
        [0.0, 0.0, 0.0],
        [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0],
        [1.0, -1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0],
        [-2.0, 1.0, 1.0, 3.0, 0.0, 3.0, 3.0, 5.0],
        [0.0, 0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0],
    ]
    for size in (8, 11, 12, 14, 16):
        samples.append([float(value) for value in random.integers(-3, 6, size)])
        samples.append([float(value) / 4 for value in random.integers(-2, 20, size)])
    for values in samples:
        yield {
            "values": values,
            "p": enumerated_p(values),
            "hodges_lehmann": float(numpy.median(walsh_averages(values))),
        }


def location(random):
    for size in (1, 2, 3, 4, 10, 25, 60):
        values = [float(value) for value in random.standard_cauchy(size)]
        yield {
            "values": values,
            "median": float(numpy.median(values)),
            "mad": float(stats.median_abs_deviation(values)),
            "quantiles": [
                {"probability": probability, "value": float(numpy.quantile(values, probability, method="linear"))}
                for probability in (0.0, 0.025, 0.1, 0.25, 0.5, 0.9, 0.975, 1.0)
            ],
        }


def multiplicity(random):
    families = [
        [0.03],
        [0.01, 0.04, 0.03, 0.005],
        [0.5, 0.5, 0.001, 0.001, 1.0],
        [2.0**-7, 2.0**-11, 2.0**-8, 0.3, 0.02, 0.9, 2.0**-15],
    ]
    for size in (6, 20, 100):
        families.append([float(value) for value in random.beta(0.3, 2.0, size)])
    for p in families:
        holm_rejected, holm_adjusted, _, _ = multipletests(p, 0.05, method="holm")
        fdr_rejected, fdr_adjusted, _, _ = multipletests(p, 0.05, method="fdr_bh")
        yield {
            "p": p,
            "alpha": 0.05,
            "holm": [bool(value) for value in holm_rejected],
            "holm_adjusted": [float(value) for value in holm_adjusted],
            "benjamini_hochberg": [bool(value) for value in fdr_rejected],
            "benjamini_hochberg_adjusted": [float(value) for value in fdr_adjusted],
        }


def clopper_pearson():
    for successes, trials in ((0, 1), (1, 1), (0, 20), (1, 20), (7, 20), (20, 20), (50, 80), (9, 400), (176, 4000)):
        for level in (0.9, 0.95, 0.99):
            tail = (1 - level) / 2
            low = stats.beta.ppf(tail, successes, trials - successes + 1) if successes > 0 else 0.0
            high = stats.beta.ppf(1 - tail, successes + 1, trials - successes) if successes < trials else 1.0
            yield {
                "successes": successes,
                "trials": trials,
                "level": level,
                "low": float(low),
                "high": float(high),
            }


def latency(random):
    shapes = [
        [random.lognormal(8, 0.4, 500), random.lognormal(8, 0.4, 700), random.lognormal(8.1, 1.5, 300)],
        [random.exponential(50, 1000)],
        # One launch far below the other: their histograms have different ranges.
        [random.uniform(1, 900, 400), random.uniform(1e8, 2e9, 100)],
    ]
    for launches in shapes:
        launches_ns = [[int(value) for value in launch] for launch in launches]
        pooled = numpy.array(sum(launches_ns, []))
        yield {
            "launches_ns": launches_ns,
            "operations": len(pooled),
            "percentiles": [
                {"percentile": percentile, "latency_ns": int(nearest_rank(pooled, percentile))}
                for percentile in (50.0, 90.0, 95.0, 99.0, 99.9, 100.0)
            ],
        }


def nearest_rank(values, percentile):
    rank = math.ceil(len(values) * round(percentile * 10) / 1000 - 1e-9)
    return sorted(values)[rank - 1]


def main():
    random = numpy.random.default_rng(SEED)
    answers = {
        "computed_with": {
            "numpy": numpy.__version__,
            "scipy": scipy.__version__,
            "statsmodels": statsmodels.__version__,
        },
        "signed_rank": list(signed_rank(random)),
        "signed_rank_tied": list(signed_rank_tied(random)),
        "location": list(location(random)),
        "multiplicity": list(multiplicity(random)),
        "clopper_pearson": list(clopper_pearson()),
        "latency": list(latency(random)),
    }
    # One case a line keeps the file readable in a review and its differences small.
    lines = []
    for name, cases in answers.items():
        if isinstance(cases, list):
            body = ",\n".join(json.dumps(case) for case in cases)
            lines.append(f'"{name}": [\n{body}\n]')
        else:
            lines.append(f'"{name}": {json.dumps(cases)}')
    print("{\n" + ",\n".join(lines) + "\n}")


if __name__ == "__main__":
    main()
