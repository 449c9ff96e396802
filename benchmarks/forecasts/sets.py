"""The series of the forecast benchmark, and which of them choices may be made on. Written before the first
run.

Starts, rules, defaults and anything else that depends on measured errors are chosen on the five series of the
group "chosen" alone: one of each kind, yearly, monthly and daily, with a trend and without. The eight of the
group "reported" are for reporting: nothing is changed because of what they show. A series never moves from
one group to the other.

Each series has its last tenth held out, and is forecast from all that is before. The period of the seasonal
naive forecast is what a person who knows how the series was taken would say, in the unit of its times
(years); None where nobody could: then the last value is what a forecast has to beat.
"""

from dataclasses import dataclass

CHOSEN, REPORTED = "chosen", "reported"
YEAR, WEEK = 1.0, 7 / 365


@dataclass(frozen=True)
class Series:
    """A series of the collection: its name here, its file, what is known of it."""

    name: str
    file: str
    group: str
    period: float | None


ALL = [
    Series("airline", "01-airline", CHOSEN, YEAR),
    Series("solar", "02-solar", CHOSEN, None),
    Series("temperature", "daily-minimum-temperatures-in-me", CHOSEN, YEAR),
    Series("gas", "monthly-production-of-gas-in-aus", CHOSEN, YEAR),
    Series("unemployment", "monthly-us-male-1619-years-unemp", CHOSEN, YEAR),
    Series("carbon_dioxide", "03-mauna2003", REPORTED, YEAR),
    Series("wheat", "beveridge-wheat-price-index-1500", REPORTED, None),
    Series("traffic", "internet-traffic-data-in-bits-fr-2", REPORTED, WEEK),
    Series("calls", "monthly-average-daily-calls-to-d", REPORTED, YEAR),
    Series("radio", "monthly-critical-radio-frequenci", REPORTED, YEAR),
    Series("sulphuric", "monthly-production-of-sulphuric-", REPORTED, YEAR),
    Series("births", "number-of-daily-births-in-quebec", REPORTED, WEEK),
    Series("wages", "real-daily-wages-in-pounds-engla", REPORTED, None),
]
