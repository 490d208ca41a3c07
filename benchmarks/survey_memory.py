"""Peak memory of a survey over ten times the corpus against once: it must not grow."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

EXAMPLES = 256  # a full window of batches of 8


def child(times: int) -> None:
    """Survey the embedded model and print this process's peak memory in MiB."""
    import headscope as hs

    passages = [example.texts for example in hs.corpus.read("demo")]
    texts = [passages[index % len(passages)] for index in range(EXAMPLES * times)]
    hs.survey(hs.load("demo"), hs.corpus.from_texts(texts), batch_size=8, max_length=32)  # type: ignore[arg-type]
    # Not getrusage: its peak is inherited from the process that started this one.
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    print(int(re.search(r"VmHWM:\s+(\d+) kB", status).group(1)) / 1024)  # type: ignore[union-attr]


def peak(times: int) -> float:
    code = f"from benchmarks.survey_memory import child; child({times})"
    return float(
        subprocess.run(
            [sys.executable, "-c", code], check=True, capture_output=True, text=True
        ).stdout.split()[-1]
    )


def run() -> list[dict[str, object]]:
    """Rows of the benchmark table."""
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
