#!/usr/bin/python3
"""Text of a terminal, with ECMA-48 colours, as a picture in SVG.

usage: COMMAND --color=always | terminal.py '$ COMMAND' >PICTURE.svg
"""
# SPDX-License-Identifier: Apache-2.0
import re
import sys
from xml.sax.saxutils import escape

WIDTH, HEIGHT, MARGIN = 8, 18, 16  # of a character and of a line, around the text; in pixels
COLOURS = {"31": "#cf222e", "32": "#1a7f37", "33": "#9a6700", "2": "#6e7781"}
COLOUR = re.compile(r"\033\[(\d*)m")


def spans(line):
    """The parts of a line, each with its colour."""
    parts = COLOUR.split(line)
    colours = [None] + [COLOURS.get(code) for code in parts[1::2]]
    for colour, text in zip(colours, parts[0::2]):
        if text and colour:
            yield f'<tspan fill="{colour}">{escape(text)}</tspan>'
        elif text:
            yield escape(text)


def picture(command, text):
    lines = [command, *text.rstrip("\n").split("\n")]
    width = max(len(COLOUR.sub("", line)) for line in lines) * WIDTH + 2 * MARGIN
    height = len(lines) * HEIGHT + 2 * MARGIN
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
        ' font-family="ui-monospace, Menlo, Consolas, DejaVu Sans Mono, monospace" font-size="13">',
        f"<title>{escape(command)}</title>",
        '<rect width="100%" height="100%" rx="6" fill="#f6f8fa" stroke="#d0d7de"/>',
    ]
    for number, line in enumerate(lines):
        weight = ' font-weight="bold"' if number == 0 else ""
        y = MARGIN + number * HEIGHT + 13
        out.append(f'<text x="{MARGIN}" y="{y}" fill="#1f2328"{weight} xml:space="preserve">{"".join(spans(line))}</text>')
    return "\n".join([*out, "</svg>", ""])


if __name__ == "__main__":
    sys.stdout.write(picture(sys.argv[1], sys.stdin.read()))
