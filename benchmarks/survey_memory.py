"""Peak memory of a survey: it must not grow with the corpus, and stay small for long texts."""

from __future__ import annotations

from benchmarks.memory import peak_of, print_peak, reset_peak, status
from benchmarks.timing import Row, row

EXAMPLES = 256  # a full window of batches of 8
TOKENS, BAR, RUNS = 4096, 300, 5


def child(times: int) -> None:
    """Survey an embedded model and print the peak memory of this process in MiB.

    With a number of ``times``, it is that of the process; with 0, that of a long text beyond the
    loaded model and libraries.
    """
    import headscope as hs

    passages = [example.texts for example in hs.corpus.read("demo")]
    if times:
        texts = [passages[index % len(passages)] for index in range(EXAMPLES * times)]
        hs.survey(hs.load("demo"), hs.corpus.from_texts(texts), batch_size=8, max_length=32)
        print_peak()
        return
    model, text = hs.load("demo-llm"), " ".join(" ".join(texts) for texts in passages)
    hs.survey(model, ["A dog barked."], max_length=16)
    before = status("VmRSS")
    reset_peak()
    hs.survey(model, [text], max_length=TOKENS)
    print(status("VmHWM") - before)


def run() -> list[Row]:
    """Return the rows of the benchmark table."""
    once, ten = peak_of("survey_memory", 1), peak_of("survey_memory", 10)
    long = [peak_of("survey_memory", 0) for _ in range(RUNS)]
    return [
        row(
            f"peak memory, {EXAMPLES * 10} examples ÷ {EXAMPLES}",
            ten / once,
            "≤ 1.05",
            base=f"{once:.0f} MiB",
            ours=f"{ten:.0f} MiB",
        ),
        row(
            f"memory above the model, {TOKENS} tokens, 30×9 heads, MiB",
            max(long),
            f"≤ {BAR}",
            base=f"{min(long):.0f} MiB (least of {RUNS})",
            ours=f"{max(long):.0f} MiB (most)",
            digits=0,
        ),
    ]
