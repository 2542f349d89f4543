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
    """The chapters as steps that climb towards the copy. Solid: there now. Dashed: planned."""
    steps = [("01", "three pass", "x asked for", "three times", True),
             ("02", "one pass", "a pass saved,", "some rows fail", False),
             ("03", "Welford", "one pass", "that is safe", False),
             ("04", "warp, block", "lanes merge", "by shuffles", False),
             ("05", "fused", "16-byte loads,", "shapes by H", False),
             ("06", "RMSNorm", "one state", "instead of three", False),
             ("07", "backward", "dx, dγ, dβ", "without atomics", False)]
    width, rise, left, base = 112, 30, 24, 350
    figure = Figure(left * 2 + width * len(steps), 380, "The ladder of the course, from three passes to the speed of memory")
    figure.line(left, 46, figure.width - left, 46, "ceiling")
    figure.text(left, 34, "00 roofline: the copy. It reads every row once and writes it once, so it is the ceiling for all that follows.", "strong")
    for i, (number, name, first, second, there) in enumerate(steps):
        x, height = left + i * width, 84 + rise * i
        figure.box(x + 3, base - height, width - 6, height, "blue" if there else "planned")
        figure.text(x + 12, base - height + 21, f"{number} {name}", "small strong")
        figure.text(x + 12, base - height + 41, first, "small muted")
        figure.text(x + 12, base - height + 56, second, "small muted")
    figure.text(left, 371, "Solid: there now. Dashed: planned. The height of a step is its place in the course, not a measurement.",
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


if __name__ == "__main__":
    for draw in (ladder, requests, strided, lanes_on_rows, block_tree):
        draw()
