"""Helpers of the pictures in docs/: text, boxes and arrows in SVG that suits light and dark pages, and writing or comparing a file.

Used by docs/architecture.py and docs/pictures.py.
"""

from __future__ import annotations

from pathlib import Path
from xml.sax.saxutils import escape

FOLDER = Path(__file__).resolve().parent

STYLE = """
  text { font-family: sans-serif; font-size: 13px; fill: #1f2328; text-anchor: middle; }
  .name { font-weight: 600; }
  .left { text-anchor: start; }
  .right { text-anchor: end; }
  .about { font-size: 11px; fill: #57606a; }
  rect { fill: #f6f8fa; stroke: #8c959f; }
  .api { fill: #ddf4ff; }
  .other { fill: #fff1d6; }
  .bar { fill: #3d8bd4; stroke: none; }
  .thin { fill: #e29c45; stroke: none; }
  path { stroke: #57606a; fill: none; }
  .grid { stroke: #d0d7de; }
  marker path { fill: #57606a; stroke: none; }
  .ground { fill: #ffffff; stroke: none; }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3; }
    .about { fill: #9198a1; }
    rect { fill: #161b22; stroke: #6e7681; }
    .api { fill: #0c2d6b; }
    .other { fill: #4b2900; }
    .bar { fill: #4493f8; }
    .thin { fill: #d29922; }
    path { stroke: #9198a1; }
    .grid { stroke: #30363d; }
    marker path { fill: #9198a1; }
    .ground { fill: #0d1117; }
  }
""".strip("\n")


def text(x: float, y: float, words: str, kind: str = "") -> str:
    return f'  <text{attribute(kind)} x="{x:g}" y="{y:g}">{escape(words)}</text>'


def attribute(kind: str) -> str:
    return f' class="{kind}"' if kind else ""


def rectangle(x: float, y: float, width: float, height: float, kind: str = "", hint: str = "") -> str:
    """The hint is shown where the mouse is."""
    shape = f'  <rect{attribute(kind)} x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="{min(4, width / 4):g}"'
    return f"{shape}><title>{escape(hint)}</title></rect>" if hint else f"{shape}/>"


def box(x: float, y: float, width: float, height: float, name: str, about: str = "", kind: str = "") -> str:
    """A rectangle with a name, and a line about it."""
    middle, line = x + width / 2, y + height / 2 + (-4 if about else 4.5)
    return "\n".join([rectangle(x, y, width, height, kind), text(middle, line, name, "name"),
                      *([text(middle, line + 17, about, "about")] if about else [])])


def line(*points: tuple[float, float], kind: str = "", ends: str = "") -> str:
    """ends: "end" or "both", where the line has a head."""
    heads = {"": "", "end": ' marker-end="url(#head)"', "both": ' marker-start="url(#head)" marker-end="url(#head)"'}[ends]
    return f'  <path{attribute(kind)} d="M{" L".join(f"{x:g} {y:g}" for x, y in points)}"{heads}/>'


def picture(title: str, width: float, height: float, *lines: str) -> str:
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" width="{width:g}" height="{height:g}">',
        f"  <title>{escape(title)}</title>",
        f"  <style>\n{STYLE}\n  </style>",
        '  <defs><marker id="head" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" markerHeight="8" '
        'orient="auto-start-reverse"><path d="M0 0 L8 4 L0 8 Z"/></marker></defs>',
        f'  <rect class="ground" width="{width:g}" height="{height:g}"/>',
        *lines,
        "</svg>",
    ]) + "\n"


def write_or_check(pictures: dict[str, str], arguments: list[str], command: str) -> int:
    """Writes the pictures into docs/; with --check compares them, and says which command writes them."""
    if arguments != ["--check"]:
        for name, content in pictures.items():
            (FOLDER / name).write_text(content)
        return 0
    stale = [name for name, content in pictures.items() if not (FOLDER / name).exists() or (FOLDER / name).read_text() != content]
    print("".join(f"docs/{name} differs from what it is drawn from: {command}\n" for name in stale) or "up to date\n", end="")
    return 1 if stale else 0
