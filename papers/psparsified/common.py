"""What the scripts of this folder share: the study of this paper, and names of papers/study.py."""

import sys
from functools import partial
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1]))
import study
from study import Check, Rows, least_seconds, slope, timed

__all__ = ["Check", "Rows", "Study", "least_seconds", "slope", "timed"]

Study = partial(study.Study, "ElAhmad2023", "psparsified")
