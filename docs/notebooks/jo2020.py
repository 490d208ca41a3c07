# %% [markdown]
# # Jo and Myaeng 2020, in small
#
# *Roles and Utilization of Attention Heads in Transformer-based Neural Language Models.* The paper trains a classifier on the
# output of every head for ten probing tasks, and shows that the best heads together know more than the last layer. Here three
# of the tasks are made from the built-in corpus, with at most 120 training sentences each; SentEval's have 100,000. The whole
# recipe is [`headscope paper jo2020`](../papers/jo2020.md), whose page also has larger runs.

# %%
import pandas as pd

import headscope as hs

tasks = ["Tense", "SubjNum", "BigramShift"]
atlas = hs.probe(
    "demo",
    ["demo"],
    only=tasks,
    sample=120,
    greedy=False,
    counts=[1, 6, 12, 24, 72],
    repeats=1,
    cache="vectors",
)

# %% [markdown]
# ## Heat maps (Section 4.3, Figure 3)
#
# Test accuracy of every head; the heads of a layer are sorted. Sorting puts the best heads at the left even if all heads are
# alike. A dot marks a head whose 95 % interval includes the share of the majority class.

# %%
atlas.figure("probe")

# %% [markdown]
# ## Layers and top heads (Section 4.4, Tables 3 and 5)
#
# The layer and the heads are chosen by validation and scored on the test split. The paper's numbers for BERT base are beside ours
# for orientation only: the tasks here are much smaller and have other sentences.

# %%
from headscope.papers.jo2020_release import TABLE_3
from headscope.stats.tables.probing import top_table

table = top_table(atlas, TABLE_3["BERT base"])
columns = [
    "task",
    "majority",
    "last",
    "best layer",
    "best",
    "top",
    "top low",
    "top high",
    "top gain",
]
table[columns + [name for name in table if name.startswith("paper")]].round(1)

# %% [markdown]
# The top 12 heads, whose vectors together are as wide as one hidden state, score higher than the last layer in all three tasks,
# and higher than the best layer in two. Only Tense is clear of chance: in the other tasks the interval of the top heads includes
# the share of the majority class (50 %). In BigramShift the layer that validation chose does worse than the last one, which
# happens with so few sentences.
#
# ## More heads than a layer has
#
# An open question of the paper: how does the score grow with the number of heads?

# %%
atlas.figure("top-n")

# %% [markdown]
# ## Controls
#
# A probe may learn the task by itself. The same classifiers were trained on shuffled labels; what remains of the score is what
# the vectors contribute. The paper has no such control.

# %%
probe = atlas["probe"]
pd.DataFrame(
    {
        "best head (by validation)": [
            str(atlas.top_heads(1, task=name)[0]) for name in probe["task"].values
        ],
        "mean over heads": probe["test"].mean(["layer", "head"]) * 100,
        "shuffled labels": probe["control"].mean(["layer", "head"]) * 100,
        "majority class": probe["majority"] * 100,
    },
    index=pd.Index(probe["title"].values, name="task"),
).round(1)

# %% [markdown]
# ## What holds
#
# For Tense the paper's main result holds: the interval of the best heads together lies well above the last layer's score. For the
# other tasks the direction is the paper's, but the data are too few to tell. Which layers are best at which task cannot be told
# either.
