"""The time of a pass over rows that several processes share, from the network's latency and bandwidth.

    python benchmarks/processes/model.py --rows 1e8 --features 4000 --latency 2e-6 --bandwidth 1.2e10

A pass takes the time of a process's rows, then its sums go up the row of processes in strips and down again:
with M bytes in K strips, 2 (M / B + L) (1 + (P − 2) / K) and a round of 4 log2 P messages before it. Segments
are the least that a process takes, so that the largest share decides.
"""

from __future__ import annotations

import argparse
import math

STRIP = 8 * 2**16  # bytes of a message
STATUS = 40


def sum_bytes(what: str, features: int, outputs: int) -> int:
    """Of the sums of one pass."""
    width = features + outputs + 1
    return {"direct": 4 * width * (width + 1), "iteration": 8 * features * outputs}[what]


def traffic(what: str, features: int, outputs: int, processes: int) -> tuple[int, int]:
    """Messages and bytes that all processes together send in one pass."""
    strips = math.ceil(sum_bytes(what, features, outputs) / STRIP)
    links = processes - 1
    return links * (2 + 2 * strips), links * (2 * STATUS + 2 * sum_bytes(what, features, outputs))


def segments_of(rows: float) -> int:
    return int(min(64, max(8, rows // 32768)))


def seconds(what: str, args: argparse.Namespace, processes: int) -> tuple[float, float]:
    """Of the rows, and of the sums."""
    segments = segments_of(args.rows)
    own = math.ceil(segments / min(processes, segments)) / segments * args.rows
    if processes == 1:
        return own / args.rate, 0.0
    message = min(STRIP, sum_bytes(what, args.features, args.outputs))
    strips = math.ceil(sum_bytes(what, args.features, args.outputs) / STRIP)
    hop = args.latency + message / args.bandwidth
    travel = 2 * hop * (strips + processes - 2)
    return own / args.rate, travel + 4 * math.ceil(math.log2(processes)) * args.latency


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=float, default=1e8)
    parser.add_argument("--features", type=int, default=4000)
    parser.add_argument("--outputs", type=int, default=1)
    parser.add_argument("--rate", type=float, default=1e6, help="rows a second of one process alone")
    parser.add_argument("--latency", type=float, default=2e-6, help="seconds of an empty message")
    parser.add_argument(
        "--bandwidth", type=float, default=1.2e10, help="bytes a second between two processes"
    )
    parser.add_argument("--pass", dest="what", choices=["direct", "iteration"], default="direct")
    args = parser.parse_args()
    alone = sum(seconds(args.what, args, 1))
    print("| processes | rows, s | sums, s | speed-up | messages | bytes |\n|---:|---:|---:|---:|---:|---:|")
    for processes in (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1000):
        rows, sums = seconds(args.what, args, processes)
        messages, sent = traffic(args.what, args.features, args.outputs, processes)
        speed = alone / (rows + sums)
        print(f"| {processes} | {rows:.3g} | {sums:.3g} | {speed:.1f} | {messages} | {sent:.3g} |")


if __name__ == "__main__":
    main()
