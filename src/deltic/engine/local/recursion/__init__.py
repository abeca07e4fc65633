"""Recursion: iterations of a component, compiled where they are small; strategies and the refresh policy."""
