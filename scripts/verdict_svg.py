# SPDX-License-Identifier: Apache-2.0
"""Axes, points, bars and labels as small SVG files that follow the reader's light or dark mode."""
import math

STYLE = """
svg{font:12px system-ui,sans-serif;--bg:#fff;--ink:#1f2328;--soft:#59636e;--grid:#d8dee4;--a:#2a6fc9;--b:#c8500f;--c:#1a7f4b}
@media(prefers-color-scheme:dark){svg{--bg:#0d1117;--ink:#e6edf3;--soft:#9198a1;--grid:#2d333b;--a:#6cb0ff;--b:#ff9a57;--c:#4fc987}}
.bg{fill:var(--bg)}text{fill:var(--ink)}.soft{fill:var(--soft)}.grid{stroke:var(--grid)}.axis{stroke:var(--soft)}
.fa{fill:var(--a)}.fb{fill:var(--b)}.fc{fill:var(--c)}.fs{fill:var(--soft)}
.la,.lb,.lc,.ls{fill:none;stroke-width:1.5}.la{stroke:var(--a)}.lb{stroke:var(--b)}.lc{stroke:var(--c)}.ls{stroke:var(--soft)}
.dot{stroke-width:3;stroke-linecap:round}.thin{stroke-width:2;stroke-opacity:.55}.big{stroke-width:8}.dash{stroke-dasharray:5 4}
.area{fill-opacity:.22}
""".replace("\n", "")


def number(x):
    """A coordinate with one decimal at most."""
    return f"{x:.1f}".rstrip("0").rstrip(".")


def escape(text):
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def power_of_ten(x):
    exponent = round(math.log10(x))
    digits = str(abs(exponent)).translate(str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹"))
    return {0: "1", 1: "10"}.get(exponent, "10" + ("⁻" if exponent < 0 else "") + digits)


class Panel:
    """A plot area at (left, top) of the given size in pixels, with linear or logarithmic axes."""

    def __init__(self, figure, left, top, width, height, x, y, log_x=False, log_y=False):
        self.figure, self.box = figure, (left, top, width, height)
        self.x_range, self.y_range, self.log = x, y, (log_x, log_y)

    @staticmethod
    def _share(value, bounds, log):
        if log:
            low, high = math.log10(bounds[0]), math.log10(bounds[1])
            return (math.log10(max(value, bounds[0])) - low) / (high - low)
        return (value - bounds[0]) / (bounds[1] - bounds[0])

    def at(self, x, y):
        left, top, width, height = self.box
        return (left + width * self._share(x, self.x_range, self.log[0]),
                top + height * (1 - self._share(y, self.y_range, self.log[1])))

    def axes(self, x_label, y_label, x_ticks, y_ticks, title=""):
        """Ticks are values, or (value, text) pairs."""
        left, top, width, height = self.box
        for axis, ticks in ((0, x_ticks), (1, y_ticks)):
            for tick in ticks:
                value, text = tick if isinstance(tick, tuple) else (
                    tick, power_of_ten(tick) if self.log[axis] else f"{tick:g}")
                if axis == 0:
                    x = self.at(value, self.y_range[0])[0]
                    self.figure.line((x, top), (x, top + height), "grid")
                    self.figure.text(x, top + height + 16, text, "soft", "middle")
                else:
                    y = self.at(self.x_range[0], value)[1]
                    self.figure.line((left, y), (left + width, y), "grid")
                    self.figure.text(left - 6, y + 4, text, "soft", "end")
        self.figure.line((left, top + height), (left + width, top + height), "axis")
        self.figure.text(left + width / 2, top + height + 34, x_label, "", "middle")
        self.figure.text(left, top - 10, y_label, "soft")
        if title:
            self.figure.text(left, top - 28, title, "", weight=600)

    def points(self, xs, ys, css):
        """One dot each; equal pixels are drawn once."""
        spots = sorted({tuple(number(v) for v in self.at(x, y)) for x, y in zip(xs, ys)})
        self.figure.add(f'<path class="{css}" d="{"".join(f"M{x} {y}h0" for x, y in spots)}"/>')

    def curve(self, xs, ys, css):
        spots = (" ".join(number(v) for v in self.at(x, y)) for x, y in zip(xs, ys))
        self.figure.add(f'<path class="{css}" d="M{"L".join(spots)}"/>')

    def steps(self, edges, counts, letter):
        """A histogram: its outline, and its area in a lighter tone."""
        base = self.y_range[0]
        corners = [(edges[0], base)]
        for low, high, count in zip(edges, edges[1:], counts):
            corners += [(low, max(count, base)), (high, max(count, base))]
        corners.append((edges[-1], base))
        spots = "L".join(" ".join(number(v) for v in self.at(x, y)) for x, y in corners)
        self.figure.add(f'<path class="area f{letter}" d="M{spots}z"/><path class="l{letter}" d="M{spots}"/>')

    def level(self, y, text, css="ls dash"):
        left, _, width, _ = self.box
        height = self.at(self.x_range[0], y)[1]
        self.figure.line((left, height), (left + width, height), css)
        if text:
            self.figure.text(left + width, height - 5, text, "soft", "end")

    def note(self, x, y, text, css="", anchor="start", dx=0, dy=0):
        x, y = self.at(x, y)
        self.figure.text(x + dx, y + dy, text, css, anchor)


class Figure:
    def __init__(self, width, height, description):
        self.size, self.parts = (width, height), []
        self.add(f'<title>{escape(description)}</title><rect class="bg" width="{width}" height="{height}"/>')

    def add(self, part):
        self.parts.append(part)

    def line(self, start, end, css):
        x1, y1, x2, y2 = map(number, (*start, *end))
        self.add(f'<line class="{css}" x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}"/>')

    def text(self, x, y, text, css="", anchor="start", weight=400):
        self.add(f'<text x="{number(x)}" y="{number(y)}" class="{css}" text-anchor="{anchor}"'
                 f'{"" if weight == 400 else f" font-weight={chr(34)}{weight}{chr(34)}"}>{escape(text)}</text>')

    def legend(self, x, y, entries):
        """(css of the text, text) one below the other."""
        for k, (css, text) in enumerate(entries):
            self.text(x, y + 16 * k, text, css)

    def save(self, path):
        width, height = self.size
        path.write_text(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
                        f'height="{height}"><style>{STYLE}</style>{"".join(self.parts)}</svg>\n', encoding="utf-8")
