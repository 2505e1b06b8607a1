"""Runs the command line."""

from tilewright.cli.main import app

app()
