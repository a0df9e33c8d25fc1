"""What the pictures have in common."""

from __future__ import annotations

INK, FAINT = "#22303c", "#c9d1d8"


def plotting():
    try:
        import matplotlib
    except ImportError:
        raise SystemExit("the picture needs matplotlib: .venv/bin/python -m pip install matplotlib") from None
    matplotlib.use("svg")
    # Text stays text, and the file does not change from run to run with the same numbers.
    matplotlib.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "quern", "font.size": 9, "text.color": INK,
                                "axes.edgecolor": FAINT, "axes.labelcolor": INK, "xtick.color": INK, "ytick.color": INK,
                                "axes.spines.top": False, "axes.spines.right": False})
    import matplotlib.pyplot

    return matplotlib.pyplot
