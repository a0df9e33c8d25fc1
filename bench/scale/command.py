"""`./quern bench --scale`: predicts groups of many hosts, and writes the tables and the picture.  Takes a minute."""

from __future__ import annotations

import argparse

from gen.arguments import end_of_check


def read_arguments(words: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="./quern bench --scale", description=__doc__)
    parser.add_argument("--from-results", action="store_true",
                        help="predict nothing: write the tables and the picture of bench/results/scale.json again")
    return parser.parse_args(words)


def main(words: list[str]) -> int:
    arguments = read_arguments(words)
    end_of_check()
    from . import picture, results, tables  # not for --help, which works without simpy

    if not arguments.from_results:
        results.FILE.write_text(results.as_json(results.predict()))
    found = results.read()
    tables.PAGE.write_text(tables.page(found))
    tables.DOCUMENT.write_text(tables.document(found))
    picture.draw(found, picture.PICTURE)
    print(tables.short(found) + "\n" + tables.failures(found), end="")
    return 0
