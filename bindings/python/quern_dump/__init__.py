"""Reads what quern_dump_at has written, and compares two runs.  Needs the standard library only.

    python3 -m quern_dump show RUN
    python3 -m quern_dump diff RUN OTHER
"""
