#!/usr/bin/env python3
"""What PyTorch makes of the backward: the times of its eager LayerNorm and RMSNorm, to be set beside the course's.

    python3 pytorch_backward.py --out FILE [--dry-run]

Measured as measure.cpp measures: device events around one call; 3 warm-ups, then 20 calls, with a copy of as many
elements in turn; a buffer of four times the L2 cache is read before each; data are random; results are verified
afterwards. FILE has the form of the benchmarks' own results, so that the tables take it. Sizes and least bytes are those
of measure.cpp and byte_model.h.

--dry-run writes made-up times without PyTorch and without a GPU, to test what reads the file.

Exit code: 0 measured; 1 a result was wrong; 2 wrong use; 77 there is no PyTorch, or no GPU for it.
"""
import argparse
import datetime
import json
import os
import pathlib
import subprocess
import sys

COLS = [256, 1024, 2048, 4096, 8192, 16384, 65536]
MOST_ELEMENTS = 1 << 28
WARM_UPS = 3
CALLS = 20
EPS = 1e-5
LAYER_NORM, RMS_NORM = "layer_norm", "rms_norm"


def least_bytes(norm, rows, cols):
    """x, dy and dx; rstd and LayerNorm's mean; gamma, dgamma and LayerNorm's dbeta."""
    layer_norm = norm == LAYER_NORM
    return 4 * (3 * rows * cols + (2 if layer_norm else 1) * rows + (3 if layer_norm else 2) * cols)


def percentile(values, fraction):
    """By linear interpolation between order statistics."""
    ordered = sorted(values)
    position = fraction * (len(ordered) - 1)
    below = int(position)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (position - below) * (ordered[above] - ordered[below])


def summary(seconds):
    median = percentile(seconds, 0.5)
    return median, (percentile(seconds, 0.9) - percentile(seconds, 0.1)) / median


def result(norm, rows, cols, seconds, copy_seconds):
    """One benchmark, in Google Benchmark's form, with the counters of measure.cpp."""
    median, spread = summary(seconds)
    copy_median, copy_spread = summary(copy_seconds)
    least = least_bytes(norm, rows, cols)
    rate = least / median
    copy_rate = 8 * rows * cols / copy_median
    name = f"PyTorch eager: {norm} backward/rows:{rows}/cols:{cols}/cold_L2/iterations:{len(seconds)}/manual_time"
    return {
        "name": name,
        "run_name": name,
        "run_type": "iteration",
        "iterations": len(seconds),
        "real_time": sum(seconds) / len(seconds) * 1e3,
        "time_unit": "ms",
        "GB/s": rate * 1e-9,
        "copy_GB/s": copy_rate * 1e-9,
        "copy_spread": copy_spread,
        "least_bytes": least,
        "median_ms": median * 1e3,
        "of_copy": rate / copy_rate,
        "spread": spread,
    }


def first_line_of(command):
    try:
        lines = subprocess.run(command, capture_output=True, text=True, check=False).stdout.splitlines()
    except OSError:
        lines = []
    return lines[0].strip() if lines else "unknown"


def context(card, driver, toolkit):
    here = pathlib.Path(__file__).resolve().parent
    commit = os.environ.get("LNH_COMMIT") or first_line_of(["git", "-C", str(here), "describe", "--always", "--dirty"])
    return {
        "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "backend": "cuda",
        "card": card,
        "commit": commit,
        "driver": driver,
        "toolkit": toolkit,
    }


def made_up():
    """A copy at 4 TB/s; LayerNorm's backward at 3/4 of its rate, and RMSNorm's at 1/2."""
    benchmarks = []
    for norm, of_copy in ((LAYER_NORM, 0.75), (RMS_NORM, 0.5)):
        for cols in COLS:
            rows = MOST_ELEMENTS // cols
            copy_seconds = [8 * rows * cols / 4e12] * CALLS
            seconds = [least_bytes(norm, rows, cols) / (of_copy * 4e12)] * CALLS
            benchmarks.append(result(norm, rows, cols, seconds, copy_seconds))
    return {"context": context("card of made-up times", "0.0", "CUDA 0.0"), "benchmarks": benchmarks}


class Peer:
    """PyTorch on the first card."""

    def __init__(self, torch):
        self.torch = torch
        torch.manual_seed(1)
        card = torch.cuda.get_device_properties(0)
        free, _ = torch.cuda.mem_get_info(0)
        self.elements = MOST_ELEMENTS  # five matrices of them: x, dy, dx, the copy's target, and y for autograd
        while self.elements > 1 << 20 and 5 * 4 * self.elements > free // 2:
            self.elements //= 2
        l2_bytes = getattr(card, "L2_cache_size", 64 << 20)
        self.flush_buffer = torch.zeros(l2_bytes, device="cuda")  # l2_bytes floats are 4 · l2_bytes bytes
        self.start, self.stop = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        # Mean 1, and a dy with a mean that leans towards x, as in workload.cpp.
        self.x = torch.rand(self.elements, device="cuda") * 4 - 1
        self.dy = torch.rand(self.elements, device="cuda") * 2 - 1.25 + self.x / 2
        self.target = torch.empty_like(self.x)

    def context(self):
        torch = self.torch
        driver = first_line_of(["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader", "-i", "0"])
        return context(torch.cuda.get_device_name(0), driver, f"PyTorch {torch.__version__} with CUDA {torch.version.cuda}")

    def seconds(self, call):
        # The device reads for longer than the host needs to queue what follows, so no host time is between the events.
        # Reading leaves no dirty lines, whose write-back would be timed with the call.
        for _ in range(4):
            self.flush_buffer.sum()
        self.start.record()
        call()
        self.stop.record()
        self.stop.synchronize()
        return self.start.elapsed_time(self.stop) * 1e-3

    def measure(self, norm, rows, cols):
        torch = self.torch
        x, dy = self.x.view(rows, cols), self.dy.view(rows, cols)
        gamma = (torch.rand(cols, device="cuda") + 0.5).requires_grad_()
        beta = torch.zeros(cols, device="cuda")
        if norm == LAYER_NORM:
            _, mean, rstd = torch.ops.aten.native_layer_norm(x, [cols], gamma.detach(), beta, EPS)

            def backward():
                return torch.ops.aten.native_layer_norm_backward(
                    dy, x, [cols], mean, rstd, gamma.detach(), beta, [True, True, True])
        else:
            x = x.detach().requires_grad_()
            y = torch.nn.functional.rms_norm(x, (cols,), gamma, EPS)

            def backward():
                return torch.autograd.grad(y, (x, gamma), dy, retain_graph=True)

        def copy():
            self.target.copy_(self.x)

        for _ in range(WARM_UPS):
            copy()
            backward()
        torch.cuda.synchronize()
        # The copy is measured between the calls, so that both see the same clocks and temperature.
        seconds, copy_seconds = [], []
        for _ in range(CALLS):
            copy_seconds.append(self.seconds(copy))
            seconds.append(self.seconds(backward))
        self.verify(norm, x.detach(), dy, gamma.detach(), backward())
        return result(norm, rows, cols, seconds, copy_seconds)

    def verify(self, norm, x, dy, gamma, gradients):
        """dx of at most 64 rows, and the sums of 32 columns over all rows, by the formulas in double precision."""
        torch = self.torch
        rows, cols = x.shape

        def statistics(values):
            mean = values.mean(1, keepdim=True) if norm == LAYER_NORM else 0
            return mean, ((values - mean).square().mean(1, keepdim=True) + EPS).rsqrt()

        def relative(got, expected):
            return ((got.double() - expected).abs().max() / expected.abs().max()).item()

        some = torch.linspace(0, rows - 1, min(rows, 64), device="cuda").long()
        values, g = x[some].double(), dy[some].double() * gamma.double()
        mean, rstd = statistics(values)
        normalised = (values - mean) * rstd
        dx = g - normalised * (g * normalised).mean(1, keepdim=True)
        if norm == LAYER_NORM:
            dx -= g.mean(1, keepdim=True)
        errors = {"dx": relative(gradients[0][some], rstd * dx)}

        columns = torch.linspace(0, cols - 1, 32, device="cuda").long()
        dgamma = torch.zeros(32, dtype=torch.float64, device="cuda")
        dbeta = torch.zeros_like(dgamma)
        piece = max(1, (1 << 24) // cols)
        for first in range(0, rows, piece):
            values = x[first:first + piece].double()
            mean, rstd = statistics(values)
            some_dy = dy[first:first + piece, columns].double()
            dgamma += (some_dy * ((values - mean) * rstd)[:, columns]).sum(0)
            dbeta += some_dy.sum(0)
        errors["dgamma"] = relative(gradients[1][columns], dgamma)
        if norm == LAYER_NORM:
            errors["dbeta"] = relative(gradients[2][columns], dbeta)
        for name, error in errors.items():
            if not error <= 1e-3:  # NaN never passes; how exact PyTorch is, is not the question here
                raise ArithmeticError(f"PyTorch's {name} of {norm} on {rows} rows of {cols} columns is off by {error:.1e}.")


def measured():
    """The results, or nothing where there is no PyTorch or no GPU."""
    try:
        import torch
    except ImportError:
        print("There is no PyTorch here, so the peer was not measured.")
        return None
    if not torch.cuda.is_available():
        print("PyTorch finds no GPU here, so the peer was not measured.")
        return None
    peer = Peer(torch)
    norms = [norm for norm in (LAYER_NORM, RMS_NORM) if hasattr(torch.nn.functional, norm)]
    benchmarks = []
    print(f"{'peer / size':<76}{'median ms':>12}{'spread %':>12}{'GB/s':>12}{'of copy':>12}")
    for norm in norms:
        for cols in COLS:
            line = peer.measure(norm, peer.elements // cols, cols)
            benchmarks.append(line)
            print(f"{line['name'].split('/iterations')[0]:<76}{line['median_ms']:>12.4f}{100 * line['spread']:>12.1f}"
                  f"{line['GB/s']:>12.0f}{line['of_copy']:>12.2f}", flush=True)
    return {"context": peer.context(), "benchmarks": benchmarks}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", required=True, metavar="FILE", help="the JSON file to write")
    parser.add_argument("--dry-run", action="store_true", help="made-up times, without PyTorch and without a GPU")
    options = parser.parse_args()
    try:
        results = made_up() if options.dry_run else measured()
    except ArithmeticError as error:
        print(error)
        return 1
    if results is None:
        return 77
    pathlib.Path(options.out).write_text(json.dumps(results, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
