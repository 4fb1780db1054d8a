#!/usr/bin/python3
"""The report of a preflight as JSON, as a moving picture in SVG: the pods of each rail, a square each, fill with their rates;
then the verdict, and the command for the node that is at fault. Where nothing may move, the end is shown at once.

usage: nccl-init preflight --json | moving.py >PICTURE.svg
"""
# SPDX-License-Identifier: Apache-2.0
import json
import re
import sys
import textwrap
from xml.sax.saxutils import escape

WIDTH, MARGIN, GAP = 760, 20, 24
ACROSS, SQUARE = 8, 18  # pods in a row; pixels from square to square
LETTERS = 92
SECONDS = 4.0  # until the last pod has its colour
BLUE = [(95, "#0969da"), (90, "#54aeff"), (0, "#b6e3ff")]  # from that share of the median on
BAD, UNKNOWN = "#cf222e", "#eaeef2"

STYLE = f"""<style>
.pod {{ animation: come 0.4s ease-out both; }}
.end {{ animation: come 0.6s ease-out {SECONDS + 0.3}s both; }}
@keyframes come {{ from {{ opacity: 0; }} to {{ opacity: 1; }} }}
@media (prefers-reduced-motion: reduce) {{ .pod, .end {{ animation: none; }} }}
</style>"""


def colour(rail, median):
    if rail["verdict"] != "good":
        return BAD if rail["verdict"] != "untried" else UNKNOWN
    if not rail["send_mbps"] or not rail["receive_mbps"]:
        return UNKNOWN
    share = 100 * min(rail["send_mbps"], rail["receive_mbps"]) / median
    return next(tint for least, tint in BLUE if share >= least)


def text(x, y, words, more=""):
    return f'<text x="{x}" y="{y}" fill="#1f2328"{more}>{escape(words)}</text>'


def rails_of(report, top):
    """The squares of each rail, and how far down they reach."""
    ranks = report["ranks"]
    rates = sorted(min(r["send_mbps"], r["receive_mbps"]) for r in report["rails"] if r["send_mbps"] and r["receive_mbps"])
    median = rates[len(rates) // 2]
    numbers = sorted({r["rail"] for r in report["rails"]})
    out = []
    for column, number in enumerate(numbers):
        x0 = MARGIN + column * (ACROSS * SQUARE + GAP)
        mine = [r for r in report["rails"] if r["rail"] == number]
        out.append(text(x0, top - 8, f"rail {number} ({mine[0]['hca']})"))
        for rail in mine:
            x, y = x0 + rail["rank"] % ACROSS * SQUARE, top + rail["rank"] // ACROSS * SQUARE
            tint = colour(rail, median)
            delay = SECONDS * (rail["rank"] * 7 % ranks + number * ranks / 8) / (ranks + len(numbers) * ranks / 8)
            out.append(f'<rect x="{x}" y="{y}" width="{SQUARE - 2}" height="{SQUARE - 2}" rx="2" fill="{UNKNOWN}"/>')
            out.append(f'<g class="pod" style="animation-delay:{delay:.2f}s"><rect x="{x}" y="{y}" width="{SQUARE - 2}" '
                       f'height="{SQUARE - 2}" rx="2" fill="{tint}"><title>{escape(rail["host"])}, rail {number}: '
                       f'{rail["verdict"]}</title></rect>')
            if tint == BAD:  # another shape, too, for eyes that do not tell red
                end = SQUARE - 6
                out.append(f'<path d="M{x + 4} {y + 4}L{x + end} {y + end}M{x + end} {y + 4}L{x + 4} {y + end}" '
                           'stroke="#ffffff" stroke-width="2.4"/>')
            out.append("</g>")
    return out, top + (ranks + ACROSS - 1) // ACROSS * SQUARE


def legend(y):
    out, x = [], MARGIN
    for tint, words in ((BLUE[0][1], "95 % of the median or more"), (BLUE[1][1], "90 %"), (BLUE[2][1], "less"), (BAD, "bad"),
                        (UNKNOWN, "not yet tried")):
        out.append(f'<rect x="{x}" y="{y - 11}" width="12" height="12" rx="2" fill="{tint}"/>')
        out.append(text(x + 18, y, words))
        x += 40 + 7 * len(words)
    return out


def picture(report):
    squares, y = rails_of(report, 78)
    lines = textwrap.wrap(re.sub(r"^\w+: ", "", report["line"]), LETTERS)
    drop = [r for r in report["rails"] if r["rank"] in (report["drop"] or [])]
    nodes = sorted({r["node"] for r in drop if r["node"]})
    tint = BAD if report["verdict"] == "bad" else "#1a7f37"
    out = [text(MARGIN, 30, "$ nccl-init preflight", ' font-weight="bold"')]
    out += squares + legend(y + 24)
    y += 54
    out.append(f'<g class="end"><text x="{MARGIN}" y="{y}" fill="{tint}" font-weight="bold" font-size="15">'
               f'{report["verdict"].upper()}</text>')
    for number, line in enumerate(lines):
        out.append(text(MARGIN + 50, y + number * 18, line))
    y += max(len(lines) - 1, 0) * 18
    for node in nodes:
        y += 24
        out.append(text(MARGIN + 50, y, f"kubectl cordon {node}", ' font-family="ui-monospace, Menlo, Consolas, monospace"'))
    out.append("</g>")
    height = y + MARGIN
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" '
        'font-family="system-ui, Segoe UI, Helvetica, Arial, sans-serif" font-size="13">',
        f"<title>{escape('nccl-init preflight: ' + report['line'])}</title>", STYLE,
        '<rect width="100%" height="100%" rx="6" fill="#f6f8fa" stroke="#d0d7de"/>', *out, "</svg>", ""])


if __name__ == "__main__":
    sys.stdout.write(picture(json.load(sys.stdin)))
