#!/usr/bin/env python3
"""Draws the figures of the course: python3 docs/figures/draw.py writes every SVG beside this file.

Each figure carries its own background and both colour schemes, so it can be read on a light page and on a dark one.
"""
import pathlib
from xml.sax.saxutils import escape

FOLDER = pathlib.Path(__file__).resolve().parent

STYLE = """
  text { font: 13px system-ui, "Segoe UI", "DejaVu Sans", sans-serif; fill: #1f2328; }
  .small { font-size: 11px; } .strong { font-weight: 600; } .code { font-family: ui-monospace, "DejaVu Sans Mono", monospace; }
  .muted { fill: #59636e; } .page { fill: #ffffff; stroke: #d1d9e0; }
  .plain { fill: #f6f8fa; stroke: #8c959f; } .blue { fill: #ddf4ff; stroke: #0969da; }
  .orange { fill: #fff1e5; stroke: #bc4c00; } .green { fill: #dafbe1; stroke: #1a7f37; }
  .planned { fill: none; stroke: #8c959f; stroke-dasharray: 4 3; }
  .line { stroke: #59636e; fill: none; } .head { fill: #59636e; } .barrier { stroke: #bc4c00; stroke-dasharray: 6 4; fill: none; }
  .ceiling { stroke: #1a7f37; stroke-width: 2; fill: none; }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3; } .muted { fill: #9198a1; } .page { fill: #0d1117; stroke: #3d444d; }
    .plain { fill: #151b23; stroke: #656c76; } .blue { fill: #0c2d6b; stroke: #58a6ff; }
    .orange { fill: #5a1e02; stroke: #f0883e; } .green { fill: #033a16; stroke: #3fb950; }
    .planned { stroke: #656c76; } .line { stroke: #9198a1; } .head { fill: #9198a1; } .barrier { stroke: #f0883e; }
    .ceiling { stroke: #3fb950; }
  }
"""


class Figure:
    def __init__(self, width, height, title):
        self.width, self.height, self.title = width, height, title
        self.parts = []

    def add(self, part):
        self.parts.append("  " + part)

    def box(self, x, y, width, height, kind, radius=3):
        self.add(f'<rect class="{kind}" x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="{radius}"/>')

    def text(self, x, y, words, kind="", anchor="start"):
        self.add(f'<text class="{kind}" x="{x:g}" y="{y:g}" text-anchor="{anchor}">{escape(words)}</text>')

    def line(self, x1, y1, x2, y2, kind="line"):
        self.add(f'<path class="{kind}" d="M{x1:g} {y1:g}L{x2:g} {y2:g}"/>')

    def arrow(self, x1, y1, x2, y2):
        self.add(f'<path class="line" marker-end="url(#head)" d="M{x1:g} {y1:g}L{x2:g} {y2:g}"/>')

    def write(self, name):
        head = ('<marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
                '<path class="head" d="M0 0L8 4L0 8z"/></marker>')
        (FOLDER / name).write_text(
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width} {self.height}" width="{self.width}" '
            f'height="{self.height}" role="img">\n  <title>{escape(self.title)}</title>\n  <style>{STYLE}  </style>\n'
            f'  <defs>{head}</defs>\n'
            f'  <rect class="page" x="0.5" y="0.5" width="{self.width - 1}" height="{self.height - 1}" rx="6"/>\n'
            + "\n".join(self.parts) + "\n</svg>\n", encoding="utf-8")


def ladder():
    """The chapters as steps that climb towards the copy."""
    steps = [("01", "three pass", "x asked for", "three times"),
             ("02", "one pass", "a pass saved,", "some rows fail"),
             ("03", "Welford", "one pass", "that is safe"),
             ("04", "warp, block", "lanes merge", "by shuffles"),
             ("05", "fused", "16-byte loads,", "shapes by H"),
             ("06", "RMSNorm", "one state", "instead of three"),
             ("07", "backward", "dx, dγ, dβ", "without atomics")]
    width, rise, left, base = 112, 30, 24, 350
    figure = Figure(left * 2 + width * len(steps), 380, "The ladder of the course, from three passes to the speed of memory")
    figure.line(left, 46, figure.width - left, 46, "ceiling")
    figure.text(left, 34, "00 roofline: the copy. It reads every row once and writes it once, so it is the ceiling for all that follows.", "strong")
    for i, (number, name, first, second) in enumerate(steps):
        x, height = left + i * width, 84 + rise * i
        figure.box(x + 3, base - height, width - 6, height, "blue")
        figure.text(x + 12, base - height + 21, f"{number} {name}", "small strong")
        figure.text(x + 12, base - height + 41, first, "small muted")
        figure.text(x + 12, base - height + 56, second, "small muted")
    figure.text(left, 371, "The height of a step is its place in the course, not a measurement.",
                "small muted")
    figure.write("ladder.svg")


def sector_row(figure, x, y, count, width):
    for sector in range(count):
        figure.box(x + sector * width, y, width, 22, "plain", 0)


def requests():
    """One request of a warp: 32 lanes that read 4 bytes each, and 32 lanes that read 16 bytes each."""
    left, sector = 24, 48  # 48 px for a sector of 32 bytes
    figure = Figure(left * 2 + 16 * sector, 300, "One load request of a warp: 4 bytes a lane against 16 bytes a lane")
    for top, name, bytes_per_lane in ((20, "float: 32 lanes × 4 bytes = 128 bytes, 4 sectors", 4),
                                      (158, "float4: 32 lanes × 16 bytes = 512 bytes, 16 sectors", 16)):
        figure.text(left, top + 12, name, "strong")
        lane_width = sector * bytes_per_lane / 32
        for lane in range(32):
            figure.box(left + lane * lane_width, top + 26, lane_width, 24, "blue", 0)
            if bytes_per_lane == 16:
                figure.text(left + (lane + 0.5) * lane_width, top + 42, str(lane), "small", "middle")
        if bytes_per_lane == 4:
            figure.text(left + 32 * lane_width + 8, top + 43, "lanes 0 … 31, one element each", "small muted")
        figure.line(left, top + 54, left, top + 68)
        figure.line(left + 32 * lane_width, top + 54, left + 32 * lane_width, top + 68)
        sector_row(figure, left, top + 68, 16, sector)
        figure.box(left, top + 68, 32 * lane_width, 22, "green", 0)
        for edge in range(1, int(32 * lane_width / sector)):
            figure.line(left + edge * sector, top + 68, left + edge * sector, top + 90)
    figure.text(left, 128, "memory: each field is a sector of 32 bytes; green is what this one request fetches", "small muted")
    figure.text(left, 276, "The same 512 bytes cost four requests on top and one below. The bytes and the sectors are the same.",
                "small muted")
    figure.write("requests.svg")


def strided():
    """Exercise 00.1: four neighbouring floats per thread, one at a time."""
    left, sector = 24, 48
    figure = Figure(left * 2 + 16 * sector, 262, "Four neighbouring floats per thread, read one at a time")
    for k in range(4):
        y = 60 + 44 * k
        figure.text(left, y - 5, f"request {k + 1} of 4: element {k} of every thread's four", "small muted")
        sector_row(figure, left, y, 16, sector)
        for lane in range(32):
            figure.box(left + lane * sector / 2 + k * sector / 8, y, sector / 8, 22, "orange", 0)
    figure.text(left, 26, "32 lanes × 4 bytes = 128 bytes a request, spread over all 16 sectors", "strong")
    figure.text(left, 242, "Every request touches all 512 bytes and uses a quarter of each sector; four of them do what one could.",
                "small muted")
    figure.write("strided.svg")


def lanes_on_rows():
    """Which elements one load request of a warp reads: a thread per row, and a block per row."""
    figure = Figure(816, 262, "What one request of a warp reads: a thread per row against a block per row")
    cell, rows, cols = 18, 8, 18
    for left, name, block in ((24, "one thread per row", False), (432, "one block per row", True)):
        figure.text(left, 28, name, "strong")
        for row in range(rows):
            for col in range(cols):
                hit = (row == 0 and col < 16) if block else col == 0
                figure.box(left + 28 + col * cell, 44 + row * cell, cell, cell, "blue" if hit else "plain", 0)
                if hit:
                    figure.text(left + 28 + (col + 0.5) * cell, 57 + row * cell, str(col if block else row), "small", "middle")
            figure.text(left, 57 + row * cell, f"r{row}", "small muted")
    figure.text(24, 212, "Lane r reads column c of row r: 32 lanes, 32 rows,", "small")
    figure.text(24, 228, "32 sectors of which each gives one float.", "small")
    figure.text(432, 212, "Lane l reads column c + l of one row: 32 lanes, 128 neighbouring", "small")
    figure.text(432, 228, "bytes, 4 sectors of which every byte is used.", "small")
    figure.text(24, 250, "Blue: one request, with the number of the lane. Drawn with 8 and 16 lanes of 32.", "small muted")
    figure.write("lanes_on_rows.svg")


def block_tree():
    """The tree of block_sum for eight threads."""
    values = [3, 1, 4, 1, 5, 9, 2, 6]
    figure = Figure(816, 386, "A tree of additions in shared memory, for a block of eight threads")
    left, cell, gap = 190, 64, 84
    steps = [("partial[t] = value", 8), ("half = 4", 4), ("half = 2", 2), ("half = 1", 1)]
    row = list(values)
    for level, (name, active) in enumerate(steps):
        y = 40 + level * gap
        if level:
            for t in range(active):
                old_y = y - gap + 30
                figure.arrow(left + (t + active + 0.5) * cell, old_y, left + (t + 0.62) * cell, y)
                figure.arrow(left + (t + 0.5) * cell, old_y, left + (t + 0.5) * cell, y)
                row[t] += row[t + active]
            figure.line(24, y - 27, 792, y - 27, "barrier")
            figure.text(792, y - 32, "__syncthreads()", "small code", "end")
        figure.text(24, y + 20, name, "code small")
        for t in range(8):
            done = t < active
            figure.box(left + t * cell + 4, y, cell - 8, 30, ("green" if level == 3 else "blue") if done else "plain")
            figure.text(left + (t + 0.5) * cell, y + 20, str(row[t]), "strong" if done else "muted", "middle")
    for t in range(8):
        figure.text(left + (t + 0.5) * cell, 32, f"t = {t}", "small muted", "middle")
    y = 40 + 4 * gap
    figure.line(24, y - 27, 792, y - 27, "barrier")
    figure.text(792, y - 32, "__syncthreads()", "small code", "end")
    figure.text(24, y - 3, "After the last barrier every thread may read partial[0]: the sum of all eight, after three steps.", "small muted")
    figure.write("block_tree.svg")


def cancellation():
    """The floats near 1 000 011, and where the two means of the worked example of chapter 02 land on them."""
    figure = Figure(816, 310, "The floats near 1 000 011: the mean of the squares on one of them, the square of the mean on three")
    left, step, top = 64, 86, 126  # 86 px between neighbouring floats, 0.0625 apart
    first = 1000010.6875

    def at(value):
        return left + (value - first) / 0.0625 * step

    figure.text(24, 30, "E[x²], the mean of the squares: the same float in every order", "strong")
    figure.box(at(1000011) - 62, 46, 124, 26, "green")
    figure.text(at(1000011), 64, "1 000 011", "small strong", "middle")
    figure.arrow(at(1000011), 72, at(1000011), top - 12)
    figure.line(24, top, 792, top)
    for i in range(9):
        value = first + i * 0.0625
        figure.line(at(value), top - 8, at(value), top + 8)
        figure.text(at(value), top + 24, f"{value:.4f}".rstrip("0").rstrip("."), "small muted", "middle")
    for value, order, difference in ((1000010.75, "first to last", "0.25"), (1000011, "the other four", "0"),
                                     (1000011.125, "tree of block_sums", "−0.125")):
        figure.arrow(at(value), top + 64, at(value), top + 32)
        figure.box(at(value) - 62, top + 64, 124, 42, "orange")
        figure.text(at(value), top + 81, order, "small", "middle")
        figure.text(at(value), top + 98, f"difference {difference}", "small strong", "middle")
    figure.text(24, top + 130, "mean², the square of the mean: on which float depends on the order in which Σx is added up", "strong")
    figure.text(24, 290, "A tick is a float; neighbours are 0.0625 apart. The variance is 0.00000825: on this scale, a hundredth of a pixel.",
                "small muted")
    figure.write("cancellation.svg")


def block_shapes():
    """Eight warps on rows of 256 floats: all on one row, and one on each of eight."""
    figure = Figure(816, 300, "A block of 256 threads on rows of 256 floats: all warps on one row, or one warp on each row")
    cell, height = 112, 22
    for left, name, rows in ((24, "256 × 1: T = 256 threads a row, R = 1 row a block", 1),
                             (432, "32 × 8: T = 32 threads a row, R = 8 rows a block", 8)):
        figure.text(left, 28, name, "strong")
        for row in range(rows):
            figure.text(left, 59 + row * height, f"r{row}", "small muted")
            for part in range(2):
                warp = part if rows == 1 else row
                figure.box(left + 30 + part * cell, 44 + row * height, cell, height, "blue", 0)
                figure.text(left + 30 + (part + 0.5) * cell, 59 + row * height, f"warp {warp}", "small", "middle")
    for warp in range(2, 8):
        figure.box(54, 44 + warp * height, cell, height, "planned", 0)
        figure.text(54 + cell / 2, 59 + warp * height, f"warp {warp}", "small muted", "middle")
        figure.text(54 + cell + 8, 59 + warp * height, "has no element", "small muted")
    figure.text(24, 244, "64 of 256 threads have a four, one each. The others wait", "small")
    figure.text(24, 260, "at the barrier.", "small")
    figure.text(432, 244, "Every thread has two fours. No barrier: a warp has a row", "small")
    figure.text(432, 260, "for itself.", "small")
    figure.text(24, 286, "Blue: what one request of a warp reads, 128 floats in 512 bytes.", "small muted")
    figure.write("block_shapes.svg")


def of_four():
    """Four values become one Welford state: two pairs, and the two pairs."""
    figure = Figure(816, 258, "Four values become one state by three merges of equal counts")
    cell = 190
    for i, value in enumerate((3, 5, 8, 4)):
        x = 32 + i * cell
        figure.box(x, 32, cell - 24, 30, "plain")
        figure.text(x + (cell - 24) / 2, 52, f"x.{'xyzw'[i]} = {value}", "", "middle")
        figure.arrow(x + (cell - 24) / 2, 62, 32 + (i // 2 * 2 + 1) * cell - 12 + (i % 2 * 2 - 1) * 30, 100)
    for i, words in enumerate(("first = 2:  n = 2, mean = 4, m2 = ½ · 2² = 2", "second = −4:  n = 2, mean = 6, m2 = ½ · 4² = 8")):
        x = 32 + i * 2 * cell
        figure.box(x + 12, 100, 2 * cell - 48, 30, "blue")
        figure.text(x + cell - 12, 120, words, "", "middle")
        figure.arrow(x + cell - 12, 130, 32 + 2 * cell - 12 + (i * 2 - 1) * 60, 168)
    figure.box(32 + cell - 40, 168, 2 * cell + 56, 30, "green")
    figure.text(32 + 2 * cell - 12, 188, "delta = 2:  n = 4, mean = 5, m2 = 2 + 8 + 2² = 14", "strong", "middle")
    figure.text(24, 236, "Check: the mean of 3, 5, 8, 4 is 5, and 2² + 0² + 3² + 1² = 14.", "small muted")
    figure.write("of_four.svg")


def welford_update():
    """One update on a line of numbers: the old mean, the new value, and the new mean between them."""
    figure = Figure(816, 250, "A Welford update: the new mean lies between the old mean and the new value")
    values, x = [1, 2, 3], 6
    old, n = sum(values) / len(values), len(values) + 1
    new = old + (x - old) / n
    left, unit, axis = 60, 110, 150
    at = lambda value: left + value * unit
    figure.text(24, 28, f"the values so far 1, 2, 3, then x = {x}: n = {n}, delta = x − mean = {x - old:g}", "strong")
    figure.line(left - 30, axis, at(6) + 40, axis)
    for value in range(7):
        figure.line(at(value), axis - 4, at(value), axis + 4)
        figure.text(at(value), axis + 22, str(value), "small muted", "middle")
    for value in values:
        figure.box(at(value) - 6, axis - 6, 12, 12, "plain", 6)
    figure.box(at(x) - 6, axis - 6, 12, 12, "orange", 6)
    figure.text(at(x), axis + 40, "x", "code strong", "middle")
    for place, name, kind in ((old, "old mean", "blue"), (new, "new mean", "green")):
        figure.box(at(place) - 3, axis - 14, 6, 22, kind, 1)
        figure.text(at(place), axis + 40, name, "small strong", "middle")
    for y, start, words in ((62, old, "delta = x − (old mean) = 4"), (92, new, "x − (new mean) = 3")):
        figure.arrow(at(start), y + 10, at(x) - 2, y + 10)
        figure.text((at(start) + at(x)) / 2, y + 3, words, "small", "middle")
    figure.arrow(at(old), 122, at(new) - 1, 122)
    figure.text((at(old) + at(new)) / 2, 115, "delta ÷ n = 1", "small", "middle")
    figure.text(24, 236, "m2 grows by delta · (x − new mean) = 4 · 3 = 12: from 2 to 14 = 2² + 1² + 0² + 3², the squares about the new mean.",
                "small muted")
    figure.write("welford_update.svg")


def welford_tree():
    """The tree of block_merge for four threads and a row of eight values."""
    row, threads = [3, 1, 4, 1, 5, 9, 2, 6], 4

    def state(values):
        mean = sum(values) / len(values)
        return len(values), mean, sum((x - mean) ** 2 for x in values)

    figure = Figure(816, 370, "A tree of merges in shared memory: four threads, a row of eight values")
    left, cell, gap = 168, 156, 96
    parts = [row[t::threads] for t in range(threads)]
    for t in range(threads):
        figure.text(left + (t + 0.5) * cell, 32, f"t = {t}: " + ", ".join(map(str, parts[t])), "small muted", "middle")
    for level, (name, active) in enumerate((("partial[t] = state", 4), ("half = 2", 2), ("half = 1", 1))):
        y = 44 + level * gap
        if level:
            for t in range(active):
                old_y = y - gap + 50
                figure.arrow(left + (t + active + 0.5) * cell, old_y, left + (t + 0.6) * cell, y)
                figure.arrow(left + (t + 0.5) * cell, old_y, left + (t + 0.5) * cell, y)
                parts[t] = parts[t] + parts[t + active]
            figure.line(24, y - 23, 792, y - 23, "barrier")
            figure.text(792, y - 28, "__syncthreads()", "small code", "end")
        figure.text(24, y + 30, name, "code small")
        for t in range(threads):
            done = t < active
            n, mean, m2 = state(parts[t])
            figure.box(left + t * cell + 12, y, cell - 24, 50, ("green" if level == 2 else "blue") if done else "plain")
            kind = "small" if done else "small muted"
            figure.text(left + (t + 0.5) * cell, y + 20, f"n {n}, mean {mean:g}", kind, "middle")
            figure.text(left + (t + 0.5) * cell, y + 38, f"m2 {m2:g}", kind, "middle")
    y = 44 + 3 * gap
    figure.line(24, y - 23, 792, y - 23, "barrier")
    figure.text(792, y - 28, "__syncthreads()", "small code", "end")
    n, mean, m2 = state(row)
    figure.text(24, y + 2, f"After the last barrier every thread may read partial[0]: mean {mean:g} and variance {m2:g} ÷ {n} = "
                f"{m2 / n:g} of the whole row,", "small muted")
    figure.text(24, y + 18, "though no thread has seen more than two of its values.", "small muted")
    figure.write("welford_tree.svg")


def warp_reduce():
    """The shuffles of warp_reduce, for eight lanes: what lane 0's result is made of."""
    lanes, left, cell, gap = 8, 190, 74, 78
    figure = Figure(816, 366, "warp_reduce for eight lanes: in each step a lane merges what a lane at some distance holds")
    held = [(lane, lane) for lane in range(lanes)]
    needed = [set(range(0, lanes, 1 << step)) for step in range(4)]
    for lane in range(lanes):
        figure.text(left + (lane + 0.5) * cell, 32, f"lane {lane}", "small muted", "middle")
    for step in range(4):
        y = 42 + step * gap
        if step:
            offset = 1 << (step - 1)
            old = list(held)
            for lane in range(lanes):
                source = lane + offset
                if source < lanes:
                    held[lane] = (old[lane][0], old[source][1])
                if lane in needed[step]:
                    figure.arrow(left + (source + 0.5) * cell, y - gap + 30, left + (lane + 0.68) * cell, y)
                    figure.arrow(left + (lane + 0.5) * cell, y - gap + 30, left + (lane + 0.5) * cell, y)
        figure.text(24, y + 13, "offset = %d" % (1 << (step - 1)) if step else "state", "code small")
        figure.text(24, y + 28, "" if step else "of one lane each", "small muted")
        for lane in range(lanes):
            active = lane in needed[step]
            first, last = held[lane]
            kind = ("green" if step == 3 else "blue") if active else "plain"
            figure.box(left + lane * cell + 5, y, cell - 10, 30, kind)
            if active:
                figure.text(left + (lane + 0.5) * cell, y + 20, str(first) if first == last else f"{first}…{last}", "strong", "middle")
            else:
                figure.text(left + (lane + 0.5) * cell, y + 20, "·", "muted", "middle")
    figure.text(24, 326, "The numbers are the lanes whose values a state holds. Neighbours first, so they stay in the order of the lanes.", "small muted")
    figure.text(24, 344, "All lanes shuffle and merge in every step; grey are the states that nobody needs. There is no barrier and no memory.", "small muted")
    figure.write("warp_reduce.svg")


def block_reduce():
    """block_reduce for four warps: each reduces its lanes, warp 0 reduces the warps' states."""
    warps, left, cell = 4, 190, 150
    figure = Figure(816, 446, "block_reduce for four warps: each reduces its lanes, warp 0 reduces their states, all read the result")
    slots = left + warps * cell / 2 - 96
    for warp in range(warps):
        x = left + warp * cell
        middle = x + cell / 2
        figure.text(middle, 30, f"warp {warp}", "small muted", "middle")
        for lane in range(8):
            figure.box(x + 11 + lane * 16, 42, 16, 22, "blue", 0)
        figure.arrow(middle, 64, middle, 92)
        figure.box(middle - 32, 92, 64, 28, "green")
        figure.text(middle, 111, "lane 0", "small", "middle")
        figure.arrow(middle, 120, slots + (warp + 0.5) * 48, 154)
        figure.box(slots + warp * 48, 154, 48, 28, "orange", 0)
        figure.text(slots + (warp + 0.5) * 48, 173, f"[{warp}]", "small code", "middle")
        figure.arrow(middle, 346, middle, 366)
        figure.box(x + 11, 366, 128, 28, "green")
        figure.text(middle, 385, "state of the block", "small", "middle")
    first = left + cell / 2
    figure.line(slots + 96, 182, slots + 96, 210)
    figure.line(first, 210, slots + 96, 210)
    figure.arrow(first, 210, first, 232)
    for lane in range(8):
        figure.box(left + 11 + lane * 16, 232, 16, 22, "blue" if lane < warps else "plain", 0)
    figure.arrow(first, 254, first, 276)
    figure.box(first - 32, 276, 64, 28, "green")
    figure.text(first, 295, "lane 0", "small", "middle")
    figure.arrow(first + 32, 290, slots, 290)
    figure.box(slots, 276, 48, 28, "orange", 0)
    figure.text(slots + 24, 295, "[0]", "small code", "middle")
    figure.line(slots + 24, 304, slots + 24, 346)
    figure.line(first, 346, left + (warps - 0.5) * cell, 346)
    figure.text(24, 57, "states of the lanes", "small")
    figure.text(24, 111, "warp_reduce", "small code")
    figure.text(24, 173, "partial, shared", "small")
    figure.text(24, 247, "warp 0 reads them", "small")
    figure.text(24, 295, "warp_reduce", "small code")
    figure.text(24, 385, "every thread reads [0]", "small")
    for y in (196, 324):
        figure.line(24, y, 792, y, "barrier")
        figure.text(792, y - 5, "__syncthreads()", "small code", "end")
    figure.text(24, 428, "Grey lanes have no warp to read for; they take part with State{}, which adds nothing. Drawn with 8 lanes of 32.", "small muted")
    figure.write("block_reduce.svg")


def slabs():
    """Two stages: the sums of each slab of rows, then the sums of the slabs."""
    figure = Figure(816, 330, "dgamma and dbeta in two stages: sums of slabs, then the sums of those")
    cell, rows, cols, slab_kinds = 24, 9, 8, ("blue", "orange", "green")
    left, top = 64, 58
    figure.text(24, 28, "x and dy", "strong")
    figure.text(24, 46, "rows of the same colour are a slab", "small muted")
    for row in range(rows):
        figure.text(28, top + row * cell + 16, f"r{row}", "small muted")
        for col in range(cols):
            figure.box(left + col * cell, top + row * cell, cell, cell, slab_kinds[row % 3], 0)
    middle, height = 372, top + 3 * cell
    figure.text(middle, 28, "workspace", "strong")
    figure.text(middle, 46, "first stage: a row of sums for each slab", "small muted")
    for slab in range(3):
        y = height + slab * cell
        for col in range(cols):
            figure.box(middle + col * cell, y, cell, cell, slab_kinds[slab], 0)
        figure.arrow(left + cols * cell + 8, top + (slab + 3.5) * cell, middle - 8, y + 12)
    right = 640
    figure.text(right, 28, "dgamma", "strong")
    figure.text(right, 46, "second stage", "small muted")
    for col in range(cols):
        figure.box(right + col * 18, height + cell, 18, cell, "plain", 0)
    figure.arrow(middle + cols * cell + 8, height + 1.5 * cell, right - 8, height + 1.5 * cell)
    figure.text(24, 300, "Slab s has the rows s, s + S, s + 2 \u00b7 S and so on. No block waits for another: the second stage is a kernel of its own.", "small")
    figure.text(24, 318, "Drawn with S = 3 slabs, for dgamma; dbeta has a second half of the workspace.", "small muted")
    figure.write("slabs.svg")


if __name__ == "__main__":
    for draw in (ladder, requests, strided, lanes_on_rows, block_tree, cancellation, block_shapes, of_four, welford_update, welford_tree, warp_reduce, block_reduce, slabs):
        draw()
