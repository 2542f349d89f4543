#!/usr/bin/env python3
"""peers.py without PyTorch and without a GPU: a machine of lists, whose times are given, and contenders that are right
or wrong as planned."""
import contextlib
import importlib.util
import io
import json
import math
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import types
import unittest
from unittest import mock

HERE = pathlib.Path(__file__).resolve().parent
PROGRAM = HERE.parent / "peers.py"
sys.path.insert(0, str(HERE.parent))

import peers  # noqa: E402
import peers_engine as engine  # noqa: E402
import peers_torch  # noqa: E402
from peers_engine import Contender, Problem  # noqa: E402

LAYER_NORM = Problem("layer_norm", 6, 40)
RMS_NORM = Problem("rms_norm", 6, 40)
LAYER_NORM_BACKWARD = Problem("layer_norm_backward", 6, 40)
RMS_NORM_BACKWARD = Problem("rms_norm_backward", 6, 40)


def norm(row, gamma, beta, centred):
    """y of a row, by the definition."""
    mean = sum(row) / len(row) if centred else 0
    variance = sum((x - mean) ** 2 for x in row) / len(row)
    return [(x - mean) / math.sqrt(variance + 1e-5) * g + b for x, g, b in zip(row, gamma, beta)]


class FakeMachine:
    """Tensors are lists. A call has its name and its seconds as attributes, and time passes when it is timed."""

    def __init__(self, rows=None):
        self.given_rows = rows
        self.log, self.now, self.dead = [], 0.0, False
        self.copy_times = lambda turn: 1.0
        self.copies = 0

    def inputs(self, problem):
        numbers = random.Random(1)
        given = types.SimpleNamespace()
        given.x = self.given_rows or [[numbers.uniform(-1, 3) for _ in range(problem.cols)]
                                      for _ in range(problem.rows)]
        given.dy = [[numbers.uniform(-1.25, 0.75) + x / 2 for x in row] for row in given.x]
        given.gamma = [numbers.uniform(0.5, 1.5) for _ in range(problem.cols)]
        given.beta = [numbers.uniform(-0.5, 0.5) for _ in range(problem.cols)]
        given.mean = [sum(row) / problem.cols if problem.centred else 0 for row in given.x]
        variances = [sum((x - m) ** 2 for x in row) / problem.cols for row, m in zip(given.x, given.mean)]
        given.rstd = [1 / math.sqrt(variance + 1e-5) for variance in variances]
        return given

    def spoil(self, problem):
        pass

    def rows(self, tensor, indices):
        return [tensor[i] for i in indices]

    def column(self, tensor, index):
        return [row[index] for row in tensor]

    def values(self, tensor, indices=None):
        flat = [x for row in tensor for x in row] if isinstance(tensor[0], list) else tensor
        return flat if indices is None else [flat[i] for i in indices]

    def first_nan(self, tensor):
        return next((i for i, x in enumerate(self.values(tensor)) if math.isnan(x)), None)

    def copy(self, problem, inputs):
        def call():
            pass
        call.title = "copy"
        return call

    def seconds(self, call):
        call()
        self.log.append(call.title)
        if call.title == "copy":
            seconds = self.copy_times(self.copies)
            self.copies += 1
        else:
            seconds = call.time
        self.now += seconds
        return seconds, getattr(call, "late", False)

    def finish(self):
        pass

    def alive(self):
        return not self.dead

    def sm_clock(self):
        return "1980 MHz"

    def clock(self):
        return self.now


def contender(name, outputs, time=1.0, late=False, takes=lambda problem: True):
    """outputs(problem, given) returns what the contender writes, or raises."""
    def prepare(problem, given):
        def call():
            return outputs(problem, given)
        call.title, call.time, call.late = name, time, late
        return call
    return Contender(name, prepare, takes)


def right_forward(problem, given):
    beta = given.beta if problem.centred else [0.0] * problem.cols
    return {"y": [norm(row, given.gamma, beta, problem.centred) for row in given.x]}


def measure(problem, contenders, machine=None, **options):
    said = []
    results = engine.measure(machine or FakeMachine(), problem, contenders, say=said.append, **options)
    return {result["name"].split("/")[0]: result for result in results}, said


class Truth(unittest.TestCase):
    def test_a_row_of_zeros_and_twos(self):
        # Mean 1 and variance 1, so x̂ is ∓1/√(1 + 1e-5); for RMSNorm the mean square is 2.
        rows = [[0.0, 2.0] * 4] * 2
        for operation, low, high in (("layer_norm", -1 / math.sqrt(1 + 1e-5), 1 / math.sqrt(1 + 1e-5)),
                                     ("rms_norm", 0, 2 / math.sqrt(2 + 1e-5))):
            problem, machine = Problem(operation, 2, 8), FakeMachine(rows)
            given = machine.inputs(problem)
            y = engine.truth(problem, machine, given)["y"]
            beta = given.beta if problem.centred else [0] * 8
            for i, expected in enumerate(y.expected):
                column = i % 8
                normalised = high if column % 2 else low
                self.assertAlmostEqual(expected, given.gamma[column] * normalised + beta[column], places=12)

    def test_the_backward_is_the_derivative_of_the_forward(self):
        # Central differences of the loss Σ dy·y, whose own error is about 1e-9.
        step = 1e-5
        for operation in ("layer_norm_backward", "rms_norm_backward"):
            problem, machine = Problem(operation, 3, 7), FakeMachine()
            given = machine.inputs(problem)

            def loss(x, gamma, beta):
                beta = beta if problem.centred else [0] * 7
                y = [norm(row, gamma, beta, problem.centred) for row in x]
                return math.fsum(d * v for dys, ys in zip(given.dy, y) for d, v in zip(dys, ys))

            def by(change):
                two = []
                for sign in (1, -1):
                    x, gamma, beta = [list(row) for row in given.x], list(given.gamma), list(given.beta)
                    change(x, gamma, beta, sign * step)
                    two.append(loss(x, gamma, beta))
                return (two[0] - two[1]) / (2 * step)

            samples = engine.truth(problem, machine, given)
            self.assertEqual(set(samples), {"dx", "dgamma", "dbeta"} if problem.centred else {"dx", "dgamma"})
            self.assertEqual(samples["dx"].indices, [0, 1, 2])
            for i, expected in enumerate(samples["dx"].expected):
                def change_x(x, gamma, beta, by_step, row=i // 7, column=i % 7):
                    x[row][column] += by_step
                self.assertAlmostEqual(expected, by(change_x), places=7)
            for name, which in (("dgamma", 1), ("dbeta", 2)):
                if name not in samples:
                    continue
                self.assertEqual(samples[name].indices, [0, 6])
                for column, expected in zip(samples[name].indices, samples[name].expected):
                    def change_vector(*arguments, which=which, column=column):
                        arguments[which][column] += arguments[3]
                    self.assertAlmostEqual(expected, by(change_vector), places=7)

    def test_statistics_that_are_not_those_of_x_are_an_error(self):
        machine = FakeMachine()
        given = machine.inputs(LAYER_NORM_BACKWARD)
        given.rstd[0] *= 1.00001
        with self.assertRaises(ArithmeticError):
            engine.truth(LAYER_NORM_BACKWARD, machine, given)

    def test_what_is_within_its_tolerance_passes_and_what_is_beyond_does_not(self):
        for problem in (LAYER_NORM, RMS_NORM_BACKWARD):
            machine = FakeMachine()
            samples = engine.truth(problem, machine, machine.inputs(problem))
            for name, sample in samples.items():
                for share, passes in ((0.99, True), (1.01, False), (-1.01, False)):
                    values = [e + share * t for e, t in zip(sample.expected, sample.tolerance)]
                    tensor = dict(zip(sample.indices, values))
                    if sample.cols:
                        cols = sample.cols
                        tensor = {row: values[i * cols:(i + 1) * cols] for i, row in enumerate(sample.indices)}
                        tensor = [tensor[row] for row in range(problem.rows)]
                    else:
                        tensor = [tensor.get(i, 0.0) for i in range(max(sample.indices) + 1)]
                    wrong = engine.what_is_wrong(machine, {name: sample}, {name: tensor})
                    self.assertEqual(wrong is None, passes, f"{problem} {name} {share}: {wrong}")

    def test_tolerances_are_small_beside_the_values(self):
        for problem in (LAYER_NORM, RMS_NORM, LAYER_NORM_BACKWARD, RMS_NORM_BACKWARD):
            machine = FakeMachine()
            for name, sample in engine.truth(problem, machine, machine.inputs(problem)).items():
                self.assertLess(max(sample.tolerance), 1e-3 * max(map(abs, sample.expected)), f"{problem} {name}")

    def test_at_most_so_many_elements_are_looked_at(self):
        machine = FakeMachine()
        problem = Problem("rms_norm", 3, 1 << 15)
        y = engine.truth(problem, machine, machine.inputs(problem))["y"]
        self.assertEqual(y.indices, [0, 2])  # the first and the last
        self.assertEqual(len(y.expected), 1 << 16)


class Wrong(unittest.TestCase):
    def wrong(self, problem, outputs):
        results, said = measure(problem, [contender("Bad", outputs), contender("Good", self.right(problem))])
        operation = problem.operation.replace("_backward", " backward")
        bad, good = results[f"Bad: {operation}"], results[f"Good: {operation}"]
        self.assertNotIn("median_ms", bad)
        self.assertTrue(bad["error_occurred"])
        self.assertIn("median_ms", good, said)
        self.assertEqual(said, [f"wrong: Bad on {problem}: {bad['wrong']}"])
        return bad["wrong"]

    def right(self, problem):
        if not problem.backward:
            return right_forward

        def backward(problem, given):
            centred = problem.centred
            normalised = [[(x - m) * r for x in row] for row, m, r in zip(given.x, given.mean, given.rstd)]
            dx = []
            for dy, n, r in zip(given.dy, normalised, given.rstd):
                g = [a * b for a, b in zip(dy, given.gamma)]
                means = (sum(g) / len(g) if centred else 0), sum(a * b for a, b in zip(g, n)) / len(g)
                dx.append([r * (a - means[0] - b * means[1]) for a, b in zip(g, n)])
            columns = range(problem.cols)
            outputs = {"dx": dx, "dgamma": [sum(d[c] * n[c] for d, n in zip(given.dy, normalised)) for c in columns]}
            if centred:
                outputs["dbeta"] = [sum(d[c] for d in given.dy) for c in columns]
            return outputs
        return backward

    def test_a_variance_of_n_minus_1(self):
        def outputs(problem, given):
            gamma = [math.sqrt(39 / 40) * g for g in given.gamma]
            return {"y": [norm(row, gamma, given.beta, True) for row in given.x]}
        self.assertRegex(self.wrong(LAYER_NORM, outputs), r"^element y\[0\]\[\d+\] is -?\d\.\d+, expected -?\d\.\d+$")

    def test_the_last_element_of_the_last_row(self):
        def outputs(problem, given):
            y = right_forward(problem, given)["y"]
            y[5][39] += 0.01
            return {"y": y}
        self.assertRegex(self.wrong(RMS_NORM, outputs), r"^element y\[5\]\[39\] is ")

    def test_an_element_that_is_not_written_wherever_it_is(self):
        many = Problem("rms_norm", 200, 3)  # of which 64 rows are looked at
        self.assertNotIn(100, engine.spread(200, 64))

        def outputs(problem, given):
            y = right_forward(problem, given)["y"]
            y[100][1] = math.nan
            return {"y": y}
        self.assertEqual(self.wrong(many, outputs), "element y[100][1] is nan, expected a number")

    def test_statistics_that_are_returned_are_looked_at_too(self):
        def outputs(problem, given):
            return {**right_forward(problem, given), "rstd": [1.001 * r for r in given.rstd]}
        self.assertRegex(self.wrong(LAYER_NORM, outputs), r"^element rstd\[0\] is ")

    def test_a_backward_without_its_second_mean(self):
        def outputs(problem, given):
            right = self.right(problem)(problem, given)
            right["dx"] = [[r * a * b for a, b in zip(dy, given.gamma)] for dy, r in zip(given.dy, given.rstd)]
            return right
        for problem in (LAYER_NORM_BACKWARD, RMS_NORM_BACKWARD):
            self.assertRegex(self.wrong(problem, outputs), r"^element dx\[0\]\[0\] is ")

    def test_sums_without_the_last_row(self):
        for name in ("dgamma", "dbeta"):
            def outputs(problem, given, name=name):
                fewer = types.SimpleNamespace(**{**vars(given), "dy": given.dy[:-1] + [[0.0] * 40]})
                return {**self.right(problem)(problem, given), name: self.right(problem)(problem, fewer)[name]}
            self.assertRegex(self.wrong(LAYER_NORM_BACKWARD, outputs), rf"^element {name}\[0\] is ")

    def test_a_copy_must_have_the_very_bits(self):
        problem = Problem("copy", 1, 50)
        right = contender("Good", lambda problem, given: {"y": given.x})
        off = contender("Bad", lambda problem, given: {"y": [[math.nextafter(x, 9) for x in given.x[0]]]})
        results, _ = measure(problem, [right, off])
        self.assertIn("median_ms", results["Good: copy"])
        self.assertRegex(results["Bad: copy"]["wrong"], r"^element y\[0\] is ")
        self.assertEqual(results["PyTorch: copy_"]["of_copy"], 1)

    def test_nothing_returned(self):
        self.assertEqual(self.wrong(LAYER_NORM, lambda problem, given: {}), "no y was returned")

        def outputs(problem, given):
            return {key: value for key, value in self.right(problem)(problem, given).items() if key != "dbeta"}
        self.assertEqual(self.wrong(LAYER_NORM_BACKWARD, outputs), "no dbeta was returned")


class Refused(unittest.TestCase):
    def test_one_that_raises_is_refused_with_the_first_line(self):
        def outputs(problem, given):
            raise ValueError("takes no fp32\nat line 5")
        results, said = measure(RMS_NORM, [contender("Bad", outputs), contender("Good", right_forward)])
        self.assertEqual(results["Bad: rms_norm"]["refused"], "takes no fp32")
        self.assertNotIn("median_ms", results["Bad: rms_norm"])
        self.assertIn("median_ms", results["Good: rms_norm"])
        self.assertEqual(said, ["refused: Bad on rms_norm 6×40: takes no fp32"])

    def test_one_that_raises_later(self):
        calls = []

        def outputs(problem, given):
            calls.append(1)
            if len(calls) == 10:
                raise RuntimeError("out of memory")
            return right_forward(problem, given)
        results, _ = measure(RMS_NORM, [contender("Bad", outputs), contender("Good", right_forward)])
        self.assertEqual(results["Bad: rms_norm"]["refused"], "out of memory")
        self.assertEqual(results["Good: rms_norm"]["iterations"], 20)

    def test_an_exception_without_words_and_one_with_folders(self):
        self.assertEqual(engine.first_line(KeyError()), "KeyError")
        self.assertEqual(engine.first_line(OSError("no /home/me/lib/a.so: see https://pytorch.org/docs/x, 3/4 of it")),
                         "no a.so: see https://pytorch.org/docs/x, 3/4 of it")


class Times(unittest.TestCase):
    def test_in_turn_with_the_copy_after_three_warm_ups(self):
        machine = FakeMachine()
        measure(RMS_NORM, [contender("a", right_forward), contender("b", right_forward)], machine, rounds=20)
        self.assertEqual(machine.log, ["copy", "a", "b"] * 23)

    def test_medians_spreads_and_fractions(self):
        machine = FakeMachine()
        # After three warm-ups 1, 2, … 20 seconds: the median is 10.5, the percentiles 10 and 90 are 2.9 and 18.1.
        machine.copy_times = lambda turn: 1000.0 if turn < 3 else turn - 2.0
        results, _ = measure(RMS_NORM, [contender("a", right_forward, time=21.0)], machine)
        a = results["a: rms_norm"]
        self.assertEqual(a["name"], "a: rms_norm/rows:6/cols:40/cold_L2")
        self.assertEqual(a["iterations"], 20)
        self.assertEqual(a["median_ms"], 21000)
        self.assertEqual(a["spread"], 0)
        self.assertEqual(a["least_bytes"], 4 * (2 * 240 + 6 + 40))
        self.assertAlmostEqual(a["GB/s"], 4 * 526 / 21 * 1e-9, places=18)
        self.assertAlmostEqual(a["copy_GB/s"], 8 * 240 / 10.5 * 1e-9, places=18)
        self.assertAlmostEqual(a["copy_spread"], (18.1 - 2.9) / 10.5)
        self.assertAlmostEqual(a["of_copy"], (526 * 4 / 21) / (8 * 240 / 10.5))
        self.assertNotIn("late", a)

    def test_host_time_within_is_counted(self):
        results, _ = measure(RMS_NORM, [contender("a", right_forward, late=True)])
        self.assertEqual(results["a: rms_norm"]["late"], 20)

    def test_the_points_time_is_kept_but_for_five_rounds(self):
        slow, _ = measure(RMS_NORM, [contender("a", right_forward, time=99.0)], point_seconds=10)
        self.assertEqual(slow["a: rms_norm"]["iterations"], 5)
        # A round takes 2 s, so after 3 + 8 rounds 22 s have passed.
        some, _ = measure(RMS_NORM, [contender("a", right_forward, time=1.0)], point_seconds=21)
        self.assertEqual(some["a: rms_norm"]["iterations"], 8)

    def test_least_bytes_are_those_of_byte_model_h(self):
        # 5 rows of 3 columns: matrices of 15, statistics of 5, vectors of 3.
        for operation, floats in (("layer_norm", 2 * 15 + 2 * 5 + 2 * 3),
                                  ("rms_norm", 2 * 15 + 5 + 3),
                                  ("layer_norm_backward", 3 * 15 + 2 * 5 + 3 * 3),
                                  ("rms_norm_backward", 3 * 15 + 5 + 2 * 3)):
            self.assertEqual(Problem(operation, 5, 3).least_bytes, 4 * floats, operation)
        self.assertEqual(Problem("copy", 1, 15).least_bytes, 2 * 15 * 4)


class Points(unittest.TestCase):
    def test_by_default(self):
        points = engine.points()
        self.assertEqual(len(points), len(set(points)))
        self.assertEqual(len(points), 1 + 4 * (14 + 2 * 4))
        self.assertEqual(points[0], Problem("copy", 1, 1 << 28))
        for problem in points:
            self.assertTrue(problem.rows in (1, 8, 32, 128) or (1 << 28) - problem.cols < problem.elements <= 1 << 28)
        self.assertIn(Problem("rms_norm_backward", 32, 8192), points)

    def test_chosen(self):
        self.assertEqual([str(p) for p in engine.points(["rms_norm"], [300, 4096], 1 << 20)],
                         ["rms_norm 1×4096", "rms_norm 8×4096", "rms_norm 32×4096", "rms_norm 128×4096",
                          "rms_norm 3495×300", "rms_norm 256×4096"])
        # A small GPU: no batch that it cannot hold, and none twice.
        self.assertEqual([str(p) for p in engine.points(["rms_norm"], [4096, 1 << 18], 1 << 17)],
                         ["rms_norm 1×4096", "rms_norm 8×4096", "rms_norm 32×4096"])


class Kept(unittest.TestCase):
    CONTEXT = {"card": "Card 7", "commit": "abc", "torch": "2.0", "date": "today", "sm_clock_begin": "1",
               "peers": {"A": "1"}}

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.file = pathlib.Path(folder.name) / "peers.json"
        self.said = []

    def run_on(self, problems, contenders, machine=None, **context):
        results = engine.Results(self.file, {**self.CONTEXT, **context})
        return engine.run(machine or FakeMachine(), problems, contenders, results, say=self.said.append)

    def stored(self):
        return json.loads(self.file.read_text(encoding="utf-8"))

    def names(self):
        return [benchmark["name"] for benchmark in self.stored()["benchmarks"]]

    def test_the_form_that_the_tables_read(self):
        self.assertEqual(self.run_on([LAYER_NORM], [contender("A", right_forward)]), 0)
        self.assertEqual(self.names(), ["A: layer_norm/rows:6/cols:40/cold_L2"])
        self.assertEqual(self.stored()["context"]["card"], "Card 7")
        self.assertEqual(self.stored()["context"]["sm_clock_end"], "1980 MHz")
        self.assertEqual(os.listdir(self.file.parent), ["peers.json"])
        # (2·240 + 2·6 + 2·40) of 2·240 floats in the same time
        self.assertEqual(self.said, ["[1/1] layer_norm 6×40  A 1.19; 0 min left"])

    def test_a_contender_that_does_not_take_the_problem_is_left_out(self):
        self.run_on([LAYER_NORM, RMS_NORM], [contender("A", right_forward, takes=lambda problem: problem == RMS_NORM)])
        self.assertEqual(self.names(), ["A: rms_norm/rows:6/cols:40/cold_L2"])

    def test_a_wrong_one_makes_the_exit_code_and_all_is_written(self):
        bad = contender("B", lambda problem, given: {"y": given.x})
        self.assertEqual(self.run_on([LAYER_NORM, RMS_NORM], [bad, contender("A", right_forward)]), 1)
        self.assertEqual(len(self.stored()["benchmarks"]), 4)
        self.assertEqual(sum("wrong" in b for b in self.stored()["benchmarks"]), 2)
        # One that refuses is no fault.
        self.file.unlink()

        def refuses(problem, given):
            raise TypeError("no")
        self.assertEqual(self.run_on([RMS_NORM], [contender("B", refuses)]), 0)

    def test_the_time_that_is_left(self):
        # 23 rounds of 60 + 60 s are 46 min for each point.
        machine = FakeMachine()
        machine.copy_times = lambda turn: 60.0
        problems = [Problem("rms_norm", rows, 8) for rows in (3, 4, 5)]
        self.run_on(problems, [contender("A", right_forward, time=60.0)], machine)
        self.assertEqual([line.split("; ")[1] for line in self.said], ["92 min left", "46 min left", "0 min left"])

    def test_an_interrupted_run_goes_on(self):
        calls = []

        def outputs(problem, given):
            calls.append(str(problem))
            if problem == RMS_NORM and calls.count(str(RMS_NORM)) == 1:
                raise KeyboardInterrupt
            return right_forward(problem, given)
        with self.assertRaises(KeyboardInterrupt):
            self.run_on([LAYER_NORM, RMS_NORM], [contender("A", outputs)])
        before = self.stored()["benchmarks"]
        self.assertEqual(len(before), 1)
        calls.clear()
        calls.append(str(RMS_NORM))
        code = self.run_on([LAYER_NORM, RMS_NORM], [contender("A", outputs)], date="tomorrow", peers={"B": "2"})
        self.assertEqual(code, 0)
        self.assertNotIn(str(LAYER_NORM), calls)
        self.assertEqual(self.stored()["benchmarks"][0], before[0])
        self.assertEqual(len(self.stored()["benchmarks"]), 2)
        self.assertEqual(self.stored()["context"]["date"], "today")
        self.assertEqual(self.stored()["context"]["peers"], {"A": "1", "B": "2"})
        self.assertTrue(any(line.startswith("1 of 2 points are in ") for line in self.said), self.said)

    def test_another_card_commit_or_torch_is_refused(self):
        self.run_on([RMS_NORM], [contender("A", right_forward)])
        before = self.file.read_text(encoding="utf-8")
        for key, value in (("card", "Card 8"), ("commit", "abd"), ("torch", "2.1")):
            with self.assertRaisesRegex(engine.OtherRun, f"measured with {key} .*, and this is {value}"):
                self.run_on([RMS_NORM], [], **{key: value})
        self.assertEqual(self.file.read_text(encoding="utf-8"), before)

    def test_a_file_of_something_else_is_refused(self):
        for text in ("no JSON", "[]", "{}", '{"context": {}, "benchmarks": []}'):
            self.file.write_text(text, encoding="utf-8")
            with self.assertRaisesRegex(engine.OtherRun, "no file of this program"):
                self.run_on([RMS_NORM], [])
            self.assertEqual(self.file.read_text(encoding="utf-8"), text)

    def test_one_that_kills_the_device_is_not_tried_again(self):
        machine = FakeMachine()

        def kills(problem, given):
            machine.dead = True
            raise RuntimeError("an illegal memory access was encountered")
        both = [contender("A", right_forward), contender("B", kills), contender("C", right_forward)]
        self.assertEqual(self.run_on([LAYER_NORM, RMS_NORM], both, machine), 1)
        self.assertEqual(self.names(), ["B: layer_norm/rows:6/cols:40/cold_L2"])
        self.assertIn("Start again", self.said[-1])

        machine = FakeMachine()
        self.run_on([LAYER_NORM], both, machine)
        self.assertFalse(machine.dead)
        self.assertEqual(sorted(self.names()), [f"{name}: layer_norm/rows:6/cols:40/cold_L2" for name in "ABC"])

    def test_one_contender_after_the_other_small_problems_first(self):
        problems = [Problem("rms_norm", rows, cols) for rows, cols in ((9, 8), (3, 8), (3, 24), (9, 4))]
        self.run_on(problems, [contender("B", right_forward), contender("A", right_forward)])
        sizes = ["rows:3/cols:8", "rows:9/cols:4", "rows:9/cols:8", "rows:3/cols:24"]
        self.assertEqual(self.names(), [f"{name}: rms_norm/{size}/cold_L2" for name in "BA" for size in sizes])


class FakeLibrary:
    kernels = [("copy::scalar", "copy"), ("copy::vectorized", "copy"), ("three_pass::layer_norm", "layer_norm"),
               ("fused_layer_norm::layer_norm", "layer_norm"), ("rms_norm::rms_norm", "rms_norm"),
               ("rms_norm::layer_norm", "layer_norm"), ("backward::layer_norm", "layer_norm_backward")]


class Course(unittest.TestCase):
    def names(self, kernels):
        return [c.name for c in peers_torch.course(FakeLibrary, None, kernels)]

    def test_the_last_kernel_of_each_operation_and_all_copies(self):
        self.assertEqual(self.names("last"), ["copy::scalar", "copy::vectorized", "fused_layer_norm::layer_norm",
                                              "rms_norm::rms_norm", "backward::layer_norm"])
        self.assertEqual(self.names("all"), [name for name, _ in FakeLibrary.kernels])
        self.assertEqual(self.names("rms_norm::layer_norm"), ["rms_norm::layer_norm"])
        with self.assertRaisesRegex(ValueError, "no kernel a::b"):
            self.names("rms_norm::layer_norm,a::b")

    def test_a_kernel_keeps_its_name_and_takes_its_operation(self):
        kernel = peers_torch.course(FakeLibrary, None, "rms_norm::rms_norm")[0]
        self.assertEqual(kernel.label(RMS_NORM), "rms_norm::rms_norm")
        self.assertTrue(kernel.takes(RMS_NORM))
        self.assertFalse(kernel.takes(LAYER_NORM) or kernel.takes(RMS_NORM_BACKWARD))


class Peers(unittest.TestCase):
    def find(self, found, keys=None, **options):
        """Whom peers() finds where only these modules are."""
        torch = types.SimpleNamespace()
        with mock.patch.object(importlib.util, "find_spec", lambda name: name in found or None):
            return peers_torch.peers(torch, keys, **options)

    def test_absent_ones_are_named_and_pytorch_alone_is_enough(self):
        contenders, versions, absent = self.find({"torch"})
        self.assertEqual([c.name for c in contenders], ["PyTorch eager"])
        self.assertEqual(list(versions), ["PyTorch eager"])
        self.assertEqual(absent, ["torch.compile (no module triton)", "Liger (no module liger_kernel)",
                                  "FlashInfer (no module flashinfer)",
                                  "Transformer Engine (no module transformer_engine_torch)", "Quack (no module quack)"])
        self.assertFalse(contenders[0].takes(Problem("copy", 1, 8)))
        for problem in (LAYER_NORM, RMS_NORM, LAYER_NORM_BACKWARD, RMS_NORM_BACKWARD):
            self.assertTrue(contenders[0].takes(problem))

    def test_one_that_does_not_load_is_absent_with_its_reason(self):
        missing = ImportError("libcudart.so.12 is not here\nmore")
        with mock.patch.object(importlib, "import_module", side_effect=missing):
            contenders, _, absent = self.find({"liger_kernel"}, ["liger"])
        self.assertEqual(contenders, [])
        self.assertEqual(absent, ["Liger (module liger_kernel does not load: libcudart.so.12 is not here)"])

    def test_only_those_that_are_asked_for(self):
        contenders, _, absent = self.find({"torch"}, ["pytorch", "quack"])
        self.assertEqual([c.name for c in contenders], ["PyTorch eager"])
        self.assertEqual(absent, ["Quack (no module quack)"])

    def test_what_is_compiled(self):
        large, rare, small = (Problem("rms_norm", rows, cols)
                              for rows, cols in ((65536, 4096), (524288, 512), (8, 4096)))
        (compiled,), _, _ = self.find({"triton"}, ["torch.compile"])
        self.assertEqual([compiled.takes(p) for p in (large, rare, small)], [True, False, False])
        (compiled,), _, _ = self.find({"triton"}, ["torch.compile"], all_compiled=True)
        self.assertEqual([compiled.takes(p) for p in (large, rare, small)], [True, True, True])


class Program(unittest.TestCase):
    """The program itself, with a PyTorch of this test's."""

    def program(self, torch, *arguments):
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / "torch.py").write_text(torch, encoding="utf-8")
            out = pathlib.Path(folder) / "out.json"
            finished = subprocess.run([sys.executable, "-B", str(PROGRAM), "--out", str(out), *arguments], text=True,
                                      capture_output=True, check=False, env={**os.environ, "PYTHONPATH": folder})
            self.assertFalse(out.exists())
        return finished.returncode, finished.stdout, finished.stderr

    def test_what_is_missing_is_said_in_one_sentence(self):
        code, text, said = self.program("raise ImportError('none')")
        self.assertEqual((code, said), (77, ""))
        self.assertEqual(text, "There is no PyTorch here, so nothing was measured. Install it: pip install torch.\n")
        gpu = "import types\ncuda = types.SimpleNamespace(is_available=lambda: {})\n"
        code, text, said = self.program(gpu.format(False))
        self.assertEqual((code, said), (77, ""))
        self.assertEqual(text, "PyTorch finds no GPU here, so nothing was measured. Run this on a machine with one.\n")
        code, text, _ = self.program(gpu.format(True), "--library", "nowhere/libx.so")
        self.assertEqual(code, 77)
        self.assertRegex(text, r"^There is no libx\.so .* nothing was measured\. Build it: .* course_kernels\.\n$")
        code, text, _ = self.program(gpu.format(True), "--library", str(PROGRAM))
        self.assertEqual(code, 77)
        self.assertRegex(text, r"^peers\.py does not load: .* Build it again: .*\n$")

    def test_wrong_use(self):
        for arguments, words in ((["--operations", "softmax"], "there is no softmax"),
                                 (["--cols", "many"], "no list of numbers"),
                                 (["--cols", "0"], "at least 1 column"),
                                 (["--peers", "apex"], "there is no apex")):
            code, _, said = self.program("raise ImportError('none')", *arguments)
            self.assertEqual(code, 2)
            self.assertIn(words, said)
        with self.assertRaises(SystemExit) as end, contextlib.redirect_stderr(io.StringIO()):
            peers.main([])
        self.assertEqual(end.exception.code, 2)

    def test_the_file_of_another_run_and_a_kernel_that_is_not_there(self):
        machine = FakeMachine()
        machine.elements = 1 << 20
        machine.torch = types.SimpleNamespace(version=types.SimpleNamespace(cuda="13.0"))
        machine.context = lambda: {"card": "Card 7", "torch": "2.0"}
        library = types.SimpleNamespace(toolkit="CUDA 13.0", kernels=FakeLibrary.kernels)
        with tempfile.TemporaryDirectory() as folder:
            out = pathlib.Path(folder) / "out.json"
            out.write_text('{"context": {"card": "Card 6", "points": []}, "benchmarks": []}', encoding="utf-8")
            for arguments, words in (([], "measured with card Card 6"), (["--kernels", "a::b"], "no kernel a::b")):
                said = io.StringIO()
                with mock.patch.multiple(peers, torch_and_gpu=lambda: None, course_library=lambda path: library), \
                        mock.patch.multiple(peers_torch, Machine=lambda torch: machine,
                                            peers=lambda *arguments: ([], {}, ["X (no Y)"])), \
                        contextlib.redirect_stdout(said):
                    self.assertEqual(peers.main(["--out", str(out), *arguments]), 2)
                self.assertIn(words, said.getvalue())
                self.assertTrue(said.getvalue().startswith("absent: X (no Y)\n"))


if __name__ == "__main__":
    unittest.main()
