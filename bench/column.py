"""A column of a table: its head, its width on the terminal, and the text of a record in it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Column:
    head: str
    width: int
    left: bool
    text: Callable[[dict], str]

    def show(self, text: str) -> str:
        return text.ljust(self.width) if self.left else text.rjust(self.width)
