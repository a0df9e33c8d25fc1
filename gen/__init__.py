"""The generator of Quern: spec -> plan -> templates -> generated/ (see README.md)."""
