"""Peak memory of a survey: it must not grow when the corpus is ten times as large."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

EXAMPLES = 256  # a full window of batches of 8


def child(times: int) -> None:
    """Survey the embedded model and print the peak memory of this process in MiB."""
    import headscope as hs

    passages = [example.texts for example in hs.corpus.read("demo")]
    texts = [passages[index % len(passages)] for index in range(EXAMPLES * times)]
    hs.survey(hs.load("demo"), hs.corpus.from_texts(texts), batch_size=8, max_length=32)
    # Not getrusage: its peak is inherited from the process that started this one.
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    found = re.search(r"VmHWM:\s+(\d+) kB", status)
    assert found is not None
    print(int(found[1]) / 1024)


def peak(times: int) -> float:
    """Measure the peak memory of a survey in a process of its own, in MiB."""
    line = [sys.executable, "-c", f"from benchmarks.survey_memory import child; child({times})"]
    printed = subprocess.run(line, check=True, capture_output=True, text=True).stdout
    return float(printed.split()[-1])


def run() -> list[dict[str, object]]:
    """Return the rows of the benchmark table."""
    once, ten = peak(1), peak(10)
    return [
        {
            "benchmark": f"peak memory, {EXAMPLES * 10} examples ÷ {EXAMPLES}",
            "base": f"{once:.0f} MiB",
            "ours": f"{ten:.0f} MiB",
            "ratio": round(ten / once, 3),
            "bar": "≤ 1.1",
            "ok": ten / once <= 1.1,
        }
    ]
