# %% [markdown]
# # Kovaleva et al. 2019, in small
#
# *Revealing the Dark Secrets of BERT.* The paper sorts attention maps into five pattern classes, looks for heads that follow
# semantic frames, and asks what fine-tuning changes and what happens when heads are disabled. Here the embedded model stands for
# BERT base, and a small task made from the built-in corpus stands for GLUE. The whole recipe is
# [`headscope paper kovaleva2019`](../papers/kovaleva2019.md), whose page also has larger runs.

# %%
import pandas as pd

import headscope as hs

atlas = hs.survey("demo", "demo", limit=20, measures=["pattern", "frame"])

# %% [markdown]
# ## Pattern classes (Section 4.1, Figure 2)
#
# A small network sorts every map into one of five classes. In the paper 32 to 61 % of the maps of fine-tuned BERT are
# heterogeneous, depending on the task. Here, for a model that was not tuned, in percent of all maps:

# %%
(100 * atlas.mean("pattern").mean(["layer", "head"])).to_series().round(1).to_frame("% of maps")

# %%
atlas.figure("pattern-heads")

# %% [markdown]
# ## Frames (Section 4.2, Figure 3)
#
# For every example, the largest attention between the target of a frame and one of its core elements. The paper finds two heads
# that stand out, with 0.201 and 0.209.

# %%
atlas.heads(by="frame:both", top=5).round(3)

# %% [markdown]
# Head 3-4 comes first, but with 19 examples its interval overlaps that of the next. A maximum over several pairs is by itself
# above uniform attention, so look at both directions:

# %%
atlas.mean("frame").sel(layer=3, head=4).to_series().round(3).to_frame("3-4")

# %% [markdown]
# It attends from the element to the target, hardly the other way round.
#
# ## What fine-tuning changes (Section 4.3, Figure 5)
#
# A classifier is tuned on 160 sentences of the built-in corpus: is the main verb in the past or in the present tense?

# %%
from headscope.tasks.probing import find_tasks

(task,) = find_tasks(["demo"], only=["Tense"], limit=160, seed=0)
rows = {
    split: pd.DataFrame(
        {"text": [one.texts[0] for one in some], "label": [one.label for one in some]}
    )
    for split, some in task.splits.items()
}
train, test = hs.read(rows["train"]), hs.read(rows["test"])
tuned = hs.tune(
    "demo", train=train, dev=test, output="tuned",
    epochs=4, learning_rate=2e-4, batch_size=16, max_length=48,
)  # fmt: skip
tuned.scores, tuned.majority

# %%
changes = hs.compare("demo", tuned.folder, test, max_length=48)
changes.mean("change").mean("head").to_series().round(3).to_frame("cosine")

# %%
changes.figure("change")

# %% [markdown]
# The number is the cosine between the maps before and after tuning, averaged over examples: 1 means unchanged. As in the paper,
# the last two layers change most.
#
# ## Disabled heads (Section 4.6, Figure 8)
#
# The attention of each head is replaced by an even one, and the tuned model is scored again.

# %%
off = hs.ablate(tuned.folder, dev=test, max_length=48, layers=False)
off.figure("head-off")

# %%
effects = off["head_off"][["difference", "p_corrected"]].to_dataframe()
pd.Series(
    {
        "heads": len(effects),
        "the accuracy falls without it": (effects["difference"] < 0).sum(),
        "the accuracy rises without it": (effects["difference"] > 0).sum(),
        "either, and significant (Holm)": (effects["p_corrected"] < 0.05).sum(),
    }
).to_frame("number of heads")

# %% [markdown]
# ## What holds
#
# - The last layers change most under fine-tuning: yes, as in the paper.
# - Disabling some heads improves the score: with 44 test sentences, one sentence is worth 2.3 points. No change passes the
#   corrected test, so this run neither supports nor contradicts the paper.
# - Two heads attend along frame links: one may here, from the element to the target; 19 examples are too few to be sure.
# - The shares of the pattern classes depend on the model and the texts; the paper's are of models tuned on GLUE.
