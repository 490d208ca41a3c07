# %% [markdown]
# # A tour of Headscope
#
# Load a model, survey its heads, look at one of them, find others, disable some, compare two models, and save the results.
# Everything here runs offline on the embedded models in less than a minute. In a notebook, results, heads and texts show
# themselves as [widgets](../howto/pages.md); this page shows what they look like without them.

# %%
import headscope as hs

model = hs.load("demo")  # a hub id or a folder works too
model

# %% [markdown]
# ## A corpus
#
# Files in many formats, lists of texts, DataFrames and datasets can be read. The built-in corpus has trees, coreference and frames.

# %%
corpus = hs.read("demo", limit=32)
corpus

# %% [markdown]
# ## A survey
#
# One pass over the corpus measures every head. Attention maps are reduced as they are computed, so memory does not grow with
# the corpus. Pass `progress=True` for a progress bar.

# %%
atlas = hs.survey(model, corpus)
atlas

# %% [markdown]
# The roles above rest on tests that are corrected for the number of heads. The grid has layers upward and heads across; the darker
# a colour, the clearer the role.
#
# ## One head
#
# What does head 3-9 do? (Layers and heads count from 1; the same head is L2H8 when counting from 0.)

# %%
passport = atlas.head("3-9")
print(passport.description)

# %%
passport.tables()["Dependency relations, by gain over the best fixed offset"].head(5)

# %% [markdown]
# `passport` as the last line of a cell shows everything that is known of the head. Here are the sentences on which it finds the
# noun of a determiner: for each example, how many of these arcs its strongest link follows.

# %%
atlas.examples("3-9", relation="det", k=4)

# %% [markdown]
# ## Heads by a condition

# %%
[str(head) for head in atlas.find("position:previous > 0.5 or position:next > 0.5")]

# %%
atlas.heads(where="layer 2-4", by="role:nsubj", top=5).round(1)

# %% [markdown]
# ## Figures
#
# Figures are Altair charts. They are drawn in the kernel, so they need no network.

# %%
atlas.figure("position")

# %% [markdown]
# ## One sentence

# %%
text = hs.attention(model, "The old dog chased a cat across the muddy garden.", heads="1-3,3-9")
text

# %%
text.table("3-9", special=False, top=5).round(2)

# %% [markdown]
# ## Disable heads
#
# How much does a language model lose without some heads? Here the attention of each set is replaced by an even one, in the
# embedded language model. Six sentences are too few for conclusions: they only show the call.

# %%
sentences = [
    "The keys to the cabinet are on the table.",
    "When Mary and John went to the shop, John gave a drink to Mary.",
    "The river burst its banks, and the village was under water by noon.",
    "She opened the letter, read it twice, and put it back.",
    "The committee that the members elected has resigned.",
    "He plays the violin better than his sister plays the piano.",
]
off = hs.ablate(
    "demo-llm",
    corpus=sentences,
    heads=False,
    layers=False,
    sets=["2-1", "1-*", "30-*"],
    max_length=32,
)
columns = ["mean", "difference", "difference_low", "difference_high", "p_corrected"]
off["set_off"][columns].to_dataframe().round(3)

# %% [markdown]
# `difference` is the change of the loss in nats per token. Without layer 1 the loss rises by about one nat; head 2-1 and the whole
# of layer 30 make no clear difference. With six sentences no corrected p-value can fall below 0.05.
#
# ## Compare two models
#
# The same architecture with random weights shows what training made.

# %%
from transformers import AutoModel, set_seed

set_seed(0)
network = AutoModel.from_config(model.config)
with hs.wrap(network, model.tokenizer, name="untrained") as untrained:
    random = hs.survey(untrained, corpus, measures=["position", "entropy"])
changes = hs.compare(random, hs.survey(model, corpus, measures=["position", "entropy"]))
changes.heads(by="entropy-change:all", top=5, ascending=True).round(2)

# %% [markdown]
# Without training, every head attends almost evenly. Training lowers the entropy most where heads became local.

# %%
random.figure("entropy")

# %% [markdown]
# ## Save, open, report
#
# A results file holds every statistic with its interval, examples, and where they come from. The report is one HTML page that
# works offline. `hs.show(atlas)` shows the same views in a notebook, and in the browser elsewhere.

# %%
path = atlas.save("demo.nc")
again = hs.open(path)
page = again.report("demo.html")
path.name, page.name, again.measures == atlas.measures
