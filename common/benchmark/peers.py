#!/usr/bin/env python3
"""The course's kernels and those that others use, on the same rows, in the same run.

    python3 common/benchmark/peers.py --out FILE.json
    python3 common/benchmark/peers.py --out FILE.json --operations rms_norm --cols 4096,8192 --peers pytorch,liger

The peers are PyTorch, torch.compile, Liger, FlashInfer, Transformer Engine and Quack, as far as they are installed. All
work in binary32, on the same tensors. On each point, an operation on rows × columns, every contender is compared with a
double-precision reference; one that is wrong gets no time. The others are timed in turn with a copy of as many
elements, with a cold L2 cache: device events around each call, 3 warm-ups, then 20 rounds.

FILE has the form of the benchmarks' own results, and is written after each point. A run that was interrupted goes on
from it, if card, commit and PyTorch are the same.

Exit code: 0 measured; 1 a result was wrong, or the GPU was lost; 2 wrong use; 77 there is no PyTorch, no GPU for it, or
no library of the course's kernels.
"""
import argparse
import datetime
import importlib
import os
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import peers_engine as engine  # noqa: E402
import peers_torch  # noqa: E402

ROOT = HERE.parent.parent
LIBRARY = ROOT / "build/cuda/common/benchmark/libcourse_kernels.so"


class Missing(Exception):
    """What this program needs is not here: a sentence that says what to do."""


def torch_and_gpu():
    try:
        torch = importlib.import_module("torch")
    except ImportError as error:
        raise Missing("There is no PyTorch here, so nothing was measured. Install it: pip install torch.") from error
    if not torch.cuda.is_available():
        raise Missing("PyTorch finds no GPU here, so nothing was measured. Run this on a machine with one.")
    return torch


def course_library(path):
    if not pathlib.Path(path).exists():
        raise Missing(f"There is no {os.path.basename(path)} at the place named by --library, so nothing was measured. "
                      "Build it: cmake --preset cuda && cmake --build --preset cuda --target course_kernels.")
    try:
        return peers_torch.Library(path)
    except (OSError, AttributeError) as error:
        raise Missing(f"{os.path.basename(path)} does not load: {engine.first_line(error)}. Build it again: "
                      "cmake --build --preset cuda --target course_kernels.") from error


def choice_of(choices):
    def parse(text):
        chosen = text.split(",")
        for part in chosen:
            if part not in choices:
                raise argparse.ArgumentTypeError(f"there is no {part}; choose from {','.join(choices)}")
        return chosen
    return parse


def numbers(text):
    try:
        chosen = [int(part) for part in text.split(",")]
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text} is no list of numbers as 1024,4096") from error
    if min(chosen) < 1:
        raise argparse.ArgumentTypeError("a row has at least 1 column")
    return chosen


def options_of(arguments):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    keys = [peer.key for peer in peers_torch.PEERS]
    parser.add_argument("--out", required=True, metavar="FILE", help="the JSON file to write, or to go on with")
    parser.add_argument("--library", default=LIBRARY, metavar="LIB.so",
                        help="the course's kernels; by default those of build/cuda")
    parser.add_argument("--operations", type=choice_of(engine.OPERATIONS), default=list(engine.OPERATIONS),
                        metavar="A,B", help=f"of {','.join(engine.OPERATIONS)}; by default all")
    parser.add_argument("--cols", type=numbers, metavar="N,M",
                        help="numbers of columns; by default many from 128 to 131072")
    parser.add_argument("--kernels", default="last", metavar="all|A,B",
                        help="the course's kernels; by default the copies and the last kernel of each other operation")
    parser.add_argument("--peers", type=choice_of(keys), metavar="A,B", help=f"of {','.join(keys)}; by default all")
    parser.add_argument("--all-compiled", action="store_true", help="torch.compile on every point: seconds for each")
    parser.add_argument("--point-seconds", type=float, default=10, metavar="S",
                        help="a point is timed for no longer, but for 5 rounds at least; by default 10")
    parser.add_argument("--quick", action="store_true", help="few points, 5 rounds")
    return parser.parse_args(arguments)


def context_of(machine, library, versions, absent):
    context = machine.context()
    cuda = machine.torch.version.cuda
    return {
        "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "backend": "cuda",
        "commit": os.environ.get("LNH_COMMIT")
                  or peers_torch.first_line_of(["git", "-C", str(HERE), "describe", "--always", "--dirty"]),
        "toolkit": f"{library.toolkit}, PyTorch {context['torch']} with CUDA {cuda}",
        **context,
        "peers": versions,
        "absent": absent,
    }


def main(arguments=None):
    options = options_of(arguments)
    try:
        torch = torch_and_gpu()
        library = course_library(options.library)
    except Missing as missing:
        print(missing)
        return 77
    machine = peers_torch.Machine(torch)
    others, versions, absent = peers_torch.peers(torch, options.peers, options.all_compiled, machine.elements)
    for line in absent:
        print(f"absent: {line}")
    try:
        contenders = peers_torch.course(library, machine, options.kernels) + others
        results = engine.Results(options.out, context_of(machine, library, versions, absent))
    except (ValueError, engine.OtherRun) as error:
        print(error)
        return 2
    problems = engine.points(options.operations, options.cols, machine.elements, options.quick)
    rounds = engine.QUICK_ROUNDS if options.quick else engine.ROUNDS
    try:
        return engine.run(machine, problems, contenders, results, rounds, options.point_seconds,
                          say=lambda line: print(line, flush=True))
    except ArithmeticError as error:
        print(f"The inputs are not what the reference takes them for: {error}.")
        return 1


if __name__ == "__main__":
    sys.exit(main())
