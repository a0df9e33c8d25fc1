#!/bin/sh
# Shows and compares dumps of Quern, with the Python modules that were installed beside it: quern_dump --help.
modules=$(dirname "$(readlink -f "$0")")/../share/quern
PYTHONPATH=$modules${PYTHONPATH:+:$PYTHONPATH} exec python3 -m quern_dump "$@"
