"""An animated SVG of what a program prints on a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Final, NamedTuple

from terminal import Run

LINE_PX: Final = 19
CHARACTER_PX: Final = 8.43
MARGIN_PX: Final = 18

STYLE: Final = """
text { font: 14px ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace; }
text { fill: #d6dfdc; white-space: pre; }
.dim { fill: #8b9995; } .bold { font-weight: 700; } .cyan { fill: #6cc7bd; }
.green { fill: #5fcf95; } .red { fill: #ff927d; } .yellow { fill: #e7b455; }
.frame { visibility: hidden; }
@media (prefers-reduced-motion: reduce) {
  .frame { animation: none !important; } .last { visibility: visible; }
}
"""


class Frame(NamedTuple):
    """What the terminal shows for *seconds* of the animation."""

    seconds: float
    lines: Sequence[Sequence[Run]]


def animation(frames: Sequence[Frame], *, columns: int, title: str) -> str:
    """Return *frames*, one after the other, repeated."""
    total = sum(frame.seconds for frame in frames)
    rows = max(len(frame.lines) for frame in frames)
    width = round(columns * CHARACTER_PX + 2 * MARGIN_PX)
    height = rows * LINE_PX + 2 * MARGIN_PX
    rules, groups, began = [], [], 0.0
    for number, frame in enumerate(frames):
        first, last = 100 * began / total, 100 * (began + frame.seconds) / total
        rules.append(
            f"@keyframes f{number} {{ 0%, {first:.3f}% {{ visibility: {_at(first)}; }} "
            f"{first:.3f}%, {last:.3f}% {{ visibility: visible; }} "
            f"{min(last + 0.001, 100):.3f}%, 100% {{ visibility: {_at(100 - last)}; }} }}"
        )
        kind = "frame last" if number == len(frames) - 1 else "frame"
        play = f"animation: f{number} {total:.1f}s step-end infinite"
        groups.append(f'<g class="{kind}" style="{play}">{"".join(_texts(frame))}</g>')
        began += frame.seconds
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        f'width="{width}" role="img" aria-label="{escape(title)}"><title>{escape(title)}</title>'
        f"<style>{STYLE}{' '.join(rules)}</style>"
        f'<rect width="{width}" height="{height}" rx="12" fill="#151b19"/>{"".join(groups)}</svg>\n'
    )


def _at(distance: float) -> str:
    """Return whether a frame at the very edge of the animation is visible there."""
    return "visible" if distance == 0 else "hidden"


def _texts(frame: Frame) -> Sequence[str]:
    texts = []
    for row, line in enumerate(frame.lines):
        spans = "".join(_span(run) for run in line)
        if spans.strip():
            y = MARGIN_PX + (row + 0.75) * LINE_PX
            texts.append(f'<text x="{MARGIN_PX}" y="{y:g}" xml:space="preserve">{spans}</text>')
    return texts


def _span(run: Run) -> str:
    text = escape(run.text)
    return f'<tspan class="{run.style}">{text}</tspan>' if run.style else text
