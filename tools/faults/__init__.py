"""Faults that are injected into runs and files: ``python -m faults`` in this folder's parent.

Every fault must end in one of three ways: the same numbers as without it, an error of ours that
says what to do, or (after a signal) a run that resumes to the same numbers.
"""
