"""Writes expected.json next to this file: results of NumPy and SciPy for fixed samples.

    python3 -m venv .cache/scipy
    .cache/scipy/bin/pip install -r packages/bench/test/scipy/requirements.txt
    .cache/scipy/bin/python packages/bench/test/scipy/make_expected.py
"""

import json
from pathlib import Path

import numpy as np
from scipy import stats

SHARES = [0, 0.01, 0.25, 0.5, 0.75, 0.95, 0.99, 1]
RESAMPLES = 200_000


def expanded_tail(count, confidence):
    """The share to cut off on each side for Hesterberg's expanded percentile interval."""
    t = stats.t.ppf((1 - confidence) / 2, count - 1)
    return stats.norm.cdf(np.sqrt(count / (count - 1)) * t)


def bootstrap(values, statistic, confidence):
    interval = stats.bootstrap(
        (values,),
        statistic,
        n_resamples=RESAMPLES,
        confidence_level=1 - 2 * expanded_tail(len(values), confidence),
        method="percentile",
        batch=10_000,
        rng=np.random.default_rng(7),
    ).confidence_interval
    return {"low": interval.low, "high": interval.high, "confidence": confidence}


def sample(values):
    values = np.asarray(values, dtype=float)
    return {
        "values": values.tolist(),
        "mean": values.mean(),
        "percentiles": [[share, np.quantile(values, share, method="linear")] for share in SHARES],
        "median95": bootstrap(values, np.median, 0.95),
        "median99": bootstrap(values, np.median, 0.99),
        "mean95": bootstrap(values, np.mean, 0.95),
    }


def line(xs, ys):
    fit, logarithmic = stats.linregress(xs, ys), stats.linregress(np.log(xs), np.log(ys))
    return {
        "xs": xs.tolist(),
        "ys": ys.tolist(),
        "slope": fit.slope,
        "slopeError": fit.stderr,
        "exponent": logarithmic.slope,
        "exponentError": logarithmic.stderr,
    }


def main():
    rng = np.random.default_rng(20_260_101)
    xs = np.array([1.0, 4, 16, 64, 256, 1024])
    expected = {
        "tails": [
            [count, confidence, expanded_tail(count, confidence)]
            for count in [5, 10, 20, 50, 1000]
            for confidence in [0.95, 0.99]
        ],
        "samples": {
            "normal": sample(rng.normal(10, 2, 20)),
            "log-normal": sample(rng.lognormal(0, 1, 41)),
            "ties": sample(rng.integers(1, 6, 30)),
            "many": sample(rng.exponential(1, 200)),
        },
        "lines": {
            "linear": line(xs, 3 * xs + rng.normal(0, 0.3, 6)),
            "steeper": line(xs, 0.2 * xs**1.3 * np.exp(rng.normal(0, 0.1, 6))),
        },
    }
    target = Path(__file__).with_name("expected.json")
    target.write_text(json.dumps(expected, indent=2) + "\n")


main()
