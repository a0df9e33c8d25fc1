"""Predicts groups of many hosts by discrete events: what their creation, barriers and exchanges send, and how long they take."""
