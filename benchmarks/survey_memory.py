"""Peak memory of a survey: it must not grow when the corpus is ten times as large."""

from __future__ import annotations

from benchmarks.memory import peak_of, print_peak

EXAMPLES = 256  # a full window of batches of 8


def child(times: int) -> None:
    """Survey the embedded model and print the peak memory of this process in MiB."""
    import headscope as hs

    passages = [example.texts for example in hs.corpus.read("demo")]
    texts = [passages[index % len(passages)] for index in range(EXAMPLES * times)]
    hs.survey(hs.load("demo"), hs.corpus.from_texts(texts), batch_size=8, max_length=32)
    print_peak()


def run() -> list[dict[str, object]]:
    """Return the rows of the benchmark table."""
    once, ten = peak_of("survey_memory", 1), peak_of("survey_memory", 10)
    return [
        {
            "benchmark": f"peak memory, {EXAMPLES * 10} examples ÷ {EXAMPLES}",
            "base": f"{once:.0f} MiB",
            "ours": f"{ten:.0f} MiB",
            "ratio": round(ten / once, 3),
            "bar": "≤ 1.05",
            "ok": ten / once <= 1.05,
        }
    ]
