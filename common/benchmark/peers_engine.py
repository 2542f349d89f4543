"""The engine of peers.py: which points there are, what is right on them, how they are timed, and how results are kept.

It knows no PyTorch. A machine brings tensors and times:

    inputs(problem)           x, dy [rows][cols]; gamma, beta [cols]; mean, rstd [rows]; float32, as attributes
    spoil(problem)            fills free memory with NaN, so that an output that was not written is no result
    rows(tensor, indices)     those rows of a matrix as lists of floats
    column(tensor, index)     a column of a matrix
    values(tensor, indices)   those elements, by their place in memory; all of them without indices
    first_nan(tensor)         the place of the first NaN, or None
    copy(problem, inputs)     a call that copies as many elements as x has
    seconds(call)             how long the device takes for it with a cold cache, and whether host time may be within
    finish()                  waits for the device; raises what has gone wrong there
    alive()                   whether the device still answers
    sm_clock()                what it runs at now, as text
    clock()                   seconds of the wall clock
"""
import dataclasses
import json
import math
import os
import pathlib
import re
from typing import Callable

COPY = "copy"
OPERATIONS = (COPY, "layer_norm", "rms_norm", "layer_norm_backward", "rms_norm_backward")
COLS = (128, 256, 512, 768, 1024, 2048, 4096, 5120, 8192, 12288, 16384, 32768, 65536, 131072)
MOST_ELEMENTS = 1 << 28
BATCHES = (1, 8, 32, 128)  # rows, as when text is generated
BATCH_COLS = (4096, 8192)
QUICK_COLS = (1024, 8192)
WARM_UPS = 3
ROUNDS = 20
FEWEST_ROUNDS = 5
QUICK_ROUNDS = 5
EPS = 1e-5
SAMPLED_ELEMENTS = 1 << 16


@dataclasses.dataclass(frozen=True)
class Problem:
    """An operation on x [rows][cols]; a copy is of one row."""

    operation: str
    rows: int
    cols: int

    @property
    def centred(self):
        return self.operation.startswith("layer_norm")

    @property
    def backward(self):
        return self.operation.endswith("_backward")

    @property
    def elements(self):
        return self.rows * self.cols

    @property
    def least_bytes(self):
        """As byte_model.h: every input once, every output once."""
        if self.operation == COPY:
            return 8 * self.elements
        statistics = 2 if self.centred else 1
        if self.backward:  # x, dy, dx; mean, rstd; gamma, dgamma, dbeta
            return 4 * (3 * self.elements + statistics * self.rows + (statistics + 1) * self.cols)
        return 4 * (2 * self.elements + statistics * self.rows + statistics * self.cols)

    @property
    def size(self):
        """The part of a benchmark's name that says it."""
        size = f"count:{self.cols}" if self.operation == COPY else f"rows:{self.rows}/cols:{self.cols}"
        return f"{size}/cold_L2"

    def __str__(self):
        return f"{self.operation} {self.rows}×{self.cols}"


def points(operations=OPERATIONS, cols=None, most_elements=MOST_ELEMENTS, quick=False):
    """What is measured, in this order."""
    large = cols or (QUICK_COLS if quick else COLS)
    batches = BATCHES[1:2] if quick else BATCHES
    batch_cols = [c for c in BATCH_COLS if c in large]
    problems = []
    for operation in operations:
        if operation == COPY:
            problems.append(Problem(COPY, 1, most_elements))
            continue
        problems += [Problem(operation, rows, c) for c in batch_cols for rows in batches if rows * c <= most_elements]
        problems += [Problem(operation, most_elements // c, c) for c in large if c <= most_elements]
    return list(dict.fromkeys(problems))


@dataclasses.dataclass(frozen=True)
class Contender:
    """A kernel of the course, or a peer's function.

    prepare(problem, inputs) returns a call without arguments, which launches it and returns its outputs by name: y,
    mean and rstd, or dx, dgamma and dbeta. Either may raise: the contender is then reported as refused on this point.
    """

    name: str
    prepare: Callable
    takes: Callable = lambda problem: True
    peer: bool = True

    def label(self, problem):
        operation = problem.operation.replace("_backward", " backward")
        return f"{self.name}: {operation}" if self.peer else self.name


# --- what is right ----------------------------------------------------------------------------------------------------

U = 2.0**-24


def walk(count):
    """What the roundings of a sum of `count` floats may add up to, relative to the sum of their absolute values.

    count·u in the worst case; but the roundings walk at random: λ·√count·u, with probability 1 − 2·exp(−λ²/2) at least,
    in whatever order is added (Higham & Mary 2019, A new approach to probabilistic rounding error analysis). λ = 8 is
    never wrong.
    """
    return 8 * math.sqrt(count) * U


# Tolerances. Let W = walk(cols). x is uniform in [-1, 3), so that the root of its mean square is κ = 1.32 standard
# deviations σ. The mean is off by W·κ·σ at most, and the variance, even as E[x²] − E[x]², relatively by
# W·(κ² + 2·κ·|mean|/σ) ≤ 4.1·W, rstd by half of that: x̂ is off by 2.1·W·(1 + |x̂|). y has that times γ, and a few
# roundings more, for which 8·u are enough. In dx = rstd·(g − mean(g) − x̂·mean(g·x̂)) rstd, x̂ and both means have such
# an error, on a scale that is at most |g| + (mean|g| + mean|g·x̂|)·(1 + |x̂|): four times as much covers all of them.
# dγ = Σ dy·x̂ has the error of x̂ in each term, and the walk over the rows. W is at most 2e-4, and 5e-6 for short rows:
# a row, a column or a piece of one that is mistaken or left out is beyond.


@dataclasses.dataclass
class Sample:
    """Some elements of one output. indices: rows of a matrix, elements of a vector."""

    indices: list
    cols: int  # 0: a vector
    expected: list = dataclasses.field(default_factory=list)
    tolerance: list = dataclasses.field(default_factory=list)

    def add(self, expected, tolerance):
        self.expected.append(expected)
        self.tolerance.append(tolerance)

    def place(self, i):
        if self.cols:
            return f"[{self.indices[i // self.cols]}][{i % self.cols}]"
        return f"[{self.indices[i]}]"


def spread(count, sampled):
    """`sampled` numbers from 0 to count − 1; the first and the last are among them."""
    sampled = min(count, sampled)
    return [0] if sampled == 1 else [i * (count - 1) // (sampled - 1) for i in range(sampled)]


def row_statistics(problem, row):
    """x̂ of a row without its rstd, mean and rstd, in double precision."""
    mean = math.fsum(row) / len(row) if problem.centred else 0.0
    centred = [x - mean for x in row]
    return centred, mean, 1 / math.sqrt(math.fsum(x * x for x in centred) / len(row) + EPS)


def truth(problem, machine, inputs):
    """Samples by the name of the output, in double precision."""
    rows = spread(problem.rows, min(64, max(2, SAMPLED_ELEMENTS // problem.cols)))
    if problem.operation == COPY:
        indices = spread(problem.cols, SAMPLED_ELEMENTS)
        return {"y": Sample(indices, 0, machine.values(inputs.x, indices), [0.0] * len(indices))}
    return (backward_truth if problem.backward else forward_truth)(problem, machine, inputs, rows)


def forward_truth(problem, machine, inputs, rows):
    gamma = machine.values(inputs.gamma)
    beta = machine.values(inputs.beta) if problem.centred else [0.0] * problem.cols
    y, means, rstds = Sample(rows, problem.cols), Sample(rows, 0), Sample(rows, 0)
    tolerance = 2.1 * walk(problem.cols) + 8 * U
    for row in machine.rows(inputs.x, rows):
        centred, mean, rstd = row_statistics(problem, row)
        means.add(mean, tolerance * math.fsum(map(abs, row)) / problem.cols)
        rstds.add(rstd, tolerance * rstd)
        for x, g, b in zip(centred, gamma, beta):
            normalised = x * rstd
            y.add(g * normalised + b, tolerance * (abs(g) * (1 + abs(normalised)) + abs(b)))
    return {"y": y, "mean": means, "rstd": rstds} if problem.centred else {"y": y, "rstd": rstds}


def backward_truth(problem, machine, inputs, rows):
    cols = problem.cols
    gamma = machine.values(inputs.gamma)
    dx = Sample(rows, cols)
    tolerance = 4 * (2.1 * walk(cols) + 8 * U)
    given_mean = machine.values(inputs.mean) if problem.centred else [0.0] * problem.rows
    given_rstd = machine.values(inputs.rstd)
    for index, row, dy in zip(rows, machine.rows(inputs.x, rows), machine.rows(inputs.dy, rows)):
        centred, mean, rstd = row_statistics(problem, row)
        if not max(abs(given_mean[index] - mean), abs(given_rstd[index] - rstd)) <= 4 * U * (abs(mean) + rstd):
            raise ArithmeticError(f"the statistics of row {index} that the backwards are given are not those of x")
        normalised = [x * rstd for x in centred]
        g = [d * weight for d, weight in zip(dy, gamma)]
        g_mean = math.fsum(g) / cols if problem.centred else 0.0
        projection = math.fsum(a * b for a, b in zip(g, normalised)) / cols
        scale = math.fsum(abs(a) * (1 + abs(b)) for a, b in zip(g, normalised)) / cols  # mean|g| + mean|g·x̂|
        for a, b in zip(g, normalised):
            dx.add(rstd * (a - g_mean - b * projection), tolerance * rstd * (abs(a) + scale * (1 + abs(b))))

    columns = [cols - 1] if problem.rows > 1 << 19 else spread(cols, 2)
    dgamma, dbeta = Sample(columns, 0), Sample(columns, 0)
    over_rows = walk(problem.rows) + 8 * U
    for column in columns:
        dy = machine.column(inputs.dy, column)
        normalised = [(x - m) * r for x, m, r in zip(machine.column(inputs.x, column), given_mean, given_rstd)]
        scale = math.fsum(abs(a) * (1 + abs(b)) for a, b in zip(dy, normalised))
        dgamma.add(math.fsum(a * b for a, b in zip(dy, normalised)), (over_rows + 2.1 * walk(cols)) * scale)
        dbeta.add(math.fsum(dy), over_rows * math.fsum(map(abs, dy)))
    return {"dx": dx, "dgamma": dgamma, "dbeta": dbeta} if problem.centred else {"dx": dx, "dgamma": dgamma}


def what_is_wrong(machine, samples, outputs):
    """"element y[3][17] is 2.5, expected 2.25", of the first that is wrong; None if none is."""
    for name, sample in samples.items():
        tensor = outputs.get(name)
        if tensor is None and name in ("mean", "rstd"):
            continue  # a peer that keeps no statistics
        if tensor is None:
            return f"no {name} was returned"
        if sample.cols:
            got = [x for row in machine.rows(tensor, sample.indices) for x in row]
        else:
            got = machine.values(tensor, sample.indices)
        for i, (value, expected, tolerance) in enumerate(zip(got, sample.expected, sample.tolerance)):
            if not abs(value - expected) <= tolerance:  # NaN never passes
                return f"element {name}{sample.place(i)} is {value:.9g}, expected {expected:.9g}"
        at = machine.first_nan(tensor)
        if at is not None:
            place = f"[{at // sample.cols}][{at % sample.cols}]" if sample.cols else f"[{at}]"
            return f"element {name}{place} is nan, expected a number"
    return None


# --- how it is timed --------------------------------------------------------------------------------------------------


class DeviceLost(Exception):
    """The device answers no more after a contender: .result says which."""

    def __init__(self, result):
        super().__init__(result["error_message"])
        self.result = result


def percentile(values, fraction):
    """By linear interpolation between order statistics, as summary.cpp."""
    ordered = sorted(values)
    position = fraction * (len(ordered) - 1)
    below = int(position)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (position - below) * (ordered[above] - ordered[below])


def summary(seconds):
    """The median, and from the 10th to the 90th percentile as a fraction of it."""
    median = percentile(seconds, 0.5)
    return median, (percentile(seconds, 0.9) - percentile(seconds, 0.1)) / median


def timed(label, problem, seconds, copy_seconds, late=0):
    """A result in the form of the C++ benchmarks, with the counters of measure.cpp."""
    median, spread_of_it = summary(seconds)
    copy_median, copy_spread = summary(copy_seconds)
    rate = problem.least_bytes / median
    copy_rate = 8 * problem.elements / copy_median
    result = {
        "name": f"{label}/{problem.size}",
        "run_name": f"{label}/{problem.size}",
        "run_type": "iteration",
        "iterations": len(seconds),
        "real_time": sum(seconds) / len(seconds) * 1e3,
        "time_unit": "ms",
        "GB/s": rate * 1e-9,
        "copy_GB/s": copy_rate * 1e-9,
        "copy_spread": copy_spread,
        "least_bytes": problem.least_bytes,
        "median_ms": median * 1e3,
        "of_copy": rate / copy_rate,
        "spread": spread_of_it,
    }
    if late:
        result["late"] = late  # times that may hold host time: the device was ready before the host
    return result


def untimed(label, problem, kind, why):
    """A result without a time, in Google Benchmark's form; kind is "wrong" or "refused"."""
    name = f"{label}/{problem.size}"
    return {
        "name": name,
        "run_name": name,
        "run_type": "iteration",
        "error_occurred": True,
        "error_message": f"{kind}: {why}",
        kind: why,
    }


def first_line(error):
    """Of what an exception says, without the folders in which this machine keeps its files."""
    lines = str(error).strip().splitlines()
    return re.sub(r"(?<![\w.:/])/(?:[^\s/:'\"]+/)+", "", lines[0].strip()) if lines else type(error).__name__


def measure(machine, problem, contenders, rounds=ROUNDS, point_seconds=math.inf, say=print):
    """The results of one point: each contender is judged first, and those that are right are timed in turn with a copy.

    Raises DeviceLost if one of them leaves the device dead.
    """
    inputs = machine.inputs(problem)
    samples = truth(problem, machine, inputs)
    results, running = {}, {}

    def refuse(contender, error):
        label = contender.label(problem)
        results[label] = untimed(label, problem, "refused", first_line(error))
        say(f"refused: {contender.name} on {problem}: {first_line(error)}")
        if not machine.alive():
            raise DeviceLost(results[label]) from error

    for contender in contenders:
        label = contender.label(problem)
        results[label] = None  # keeps the order
        machine.spoil(problem)
        try:
            call = contender.prepare(problem, inputs)
            outputs = call()
            machine.finish()
            why = what_is_wrong(machine, samples, outputs)
        except Exception as error:  # whatever a peer raises
            refuse(contender, error)
            continue
        del outputs
        if why is None:
            running[label] = (contender, call)
        else:
            say(f"wrong: {contender.name} on {problem}: {why}")
            results[label] = untimed(label, problem, "wrong", why)

    copy = machine.copy(problem, inputs)
    seconds = {label: [] for label in running}
    late = dict.fromkeys(running, 0)
    copy_seconds = []
    begin = machine.clock()
    for turn in range(WARM_UPS + rounds):
        warm_up = turn < WARM_UPS
        if turn >= WARM_UPS + FEWEST_ROUNDS and machine.clock() - begin > point_seconds:
            break
        time, _ = machine.seconds(copy)
        if not warm_up:
            copy_seconds.append(time)
        for label, (contender, call) in list(running.items()):
            try:
                time, host_was_late = machine.seconds(call)
            except Exception as error:
                del running[label]
                refuse(contender, error)
                continue
            if not warm_up:
                seconds[label].append(time)
                late[label] += host_was_late

    for label in running:
        results[label] = timed(label, problem, seconds[label], copy_seconds, late[label])
    if problem.operation == COPY:
        results["PyTorch: copy_"] = timed("PyTorch: copy_", problem, copy_seconds, copy_seconds)
    return list(results.values())


# --- how it is kept ---------------------------------------------------------------------------------------------------


class OtherRun(Exception):
    """The file holds results that these must not be mixed with."""


class Results:
    """The file of a run. It is whole at any time, and a run that was interrupted goes on from it."""

    SAME = ("card", "commit", "torch")

    def __init__(self, path, context):
        self.path = pathlib.Path(path)
        self.benchmarks = []
        self.context = {**context, "points": []}
        if not self.path.exists():
            return
        try:
            stored = json.loads(self.path.read_text(encoding="utf-8"))
            old = stored["context"]
            self.benchmarks, self.context["points"] = stored["benchmarks"], old["points"]
        except (ValueError, KeyError, TypeError) as error:
            raise OtherRun(f"{path} is no file of this program. Name another one, or remove it.") from error
        for key in self.SAME:
            if old.get(key) != context.get(key):
                raise OtherRun(f"{path} was measured with {key} {old.get(key)}, and this is {context.get(key)}. "
                               "Name another file, or remove it.")
        for key in ("date", "sm_clock_begin"):
            self.context[key] = old.get(key)
        self.context["peers"] = {**old.get("peers", {}), **context.get("peers", {})}

    def has(self, problem):
        return str(problem) in self.context["points"]

    def names(self):
        return {benchmark["name"] for benchmark in self.benchmarks}

    def add(self, problem, results, whole=True):
        """whole: the point is done. A part of one is what has lost the device: it is not tried again."""
        self.benchmarks += results
        if whole:
            self.context["points"].append(str(problem))
        self.write()

    def write(self):
        """One contender after the other, small problems first: of several with the same columns, tables show the last.
        """
        order = {}
        for benchmark in self.benchmarks:
            order.setdefault(benchmark["name"].split("/")[0], len(order))

        def place(benchmark):
            label, *parts = benchmark["name"].split("/")
            numbers = [int(part.split(":")[1]) for part in parts if ":" in part]
            return order[label], math.prod(numbers), numbers[-1]

        self.benchmarks.sort(key=place)
        whole = {"context": self.context, "benchmarks": self.benchmarks}
        new = self.path.with_name(self.path.name + ".new")
        new.write_text(json.dumps(whole, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
        os.replace(new, self.path)


def told(problem, results):
    """What a point's line of progress says."""
    parts = []
    for result in results:
        label = result["name"].split("/")[0]
        text = f"{result['of_copy']:.2f}" if "of_copy" in result else result["error_message"].split(":")[0]
        parts.append(f"{label.split(': ')[0]} {text}")
    return f"{problem}  {', '.join(parts)}"


def run(machine, problems, contenders, results, rounds=ROUNDS, point_seconds=math.inf, say=print):
    """Measures what `results` does not have yet. Returns the exit code: 0 measured, 1 something was wrong."""
    left = [problem for problem in problems if not results.has(problem)]
    if len(left) < len(problems):
        say(f"{len(problems) - len(left)} of {len(problems)} points are in {results.path} already.")
    begin = machine.clock()
    for done, problem in enumerate(left):
        tried = results.names()
        chosen = [c for c in contenders if c.takes(problem) and f"{c.label(problem)}/{problem.size}" not in tried]
        try:
            measured = measure(machine, problem, chosen, rounds, point_seconds, say)
        except DeviceLost as lost:
            results.add(problem, [lost.result], whole=False)
            say(f"The GPU answers no more. Start again with the same file: the run goes on from there, without "
                f"{lost.result['name']}.")
            return 1
        results.context["sm_clock_end"] = machine.sm_clock()
        results.add(problem, measured)
        still = (machine.clock() - begin) / (done + 1) * (len(left) - done - 1)
        say(f"[{len(problems) - len(left) + done + 1}/{len(problems)}] {told(problem, measured)}; "
            f"{still / 60:.0f} min left")
    return 1 if any("wrong" in benchmark for benchmark in results.benchmarks) else 0
