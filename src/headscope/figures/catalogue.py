"""Headscope's own figures as data: name, where it is drawn, title, caption, measures it needs."""

from __future__ import annotations

from typing import NamedTuple


class Row(NamedTuple):
    """One figure: ``where`` is the module under ``headscope.figures`` and the function in it."""

    where: str
    title: str
    caption: str
    needs: tuple[str, ...]


_SQUARES = (
    "One square per head, layer 1 at the bottom; hover for the 95 % interval over examples. "
    "Grey: not defined."
)
_DIFFERENCE = (
    "The second model minus the first, example by example: orange is more attention, purple less."
)

_SURVEY = {
    "position": Row(
        "position:position",
        "Attention to the previous, current and next token",
        "One point per head; lines are layer means (Clark et al. 2019, §3.1). Heads of a layer are "
        "spread sideways, so that equal ones can be seen.",
        ("position",),
    ),
    "special": Row(
        "special:special",
        "Attention to special tokens",
        "After Clark et al. 2019, Figure 2, top: one point per head; lines are layer means. "
        "[CLS] and [SEP] stand for the model's own start and end tokens. Heads of a layer are "
        "spread sideways.",
        ("special",),
    ),
    "from-sep": Row(
        "from_sep:from_sep",
        "Attention to [SEP], from [SEP] and from other tokens",
        "After Clark et al. 2019, Figure 2, bottom: one point per head; lines are layer means.",
        ("special",),
    ),
    "entropy": Row(
        "entropy:entropy",
        "Entropy of attention",
        "After Clark et al. 2019, Figure 4: low entropy is focused attention, high entropy is "
        "broad. The dashed line is the entropy of uniform attention.",
        ("entropy",),
    ),
    "heat-previous": Row(
        "head_maps:heat_previous", "Previous token, head by head", _SQUARES, ("position",)
    ),
    "heat-next": Row("head_maps:heat_next", "Next token, head by head", _SQUARES, ("position",)),
    "heat-cls": Row("head_maps:heat_cls", "[CLS], head by head", _SQUARES, ("special",)),
    "heat-sep": Row("head_maps:heat_sep", "[SEP], head by head", _SQUARES, ("special",)),
    "heat-entropy": Row("head_maps:heat_entropy", "Entropy, head by head", _SQUARES, ("entropy",)),
    "gradient": Row(
        "gradient:gradient",
        "Gradient importance",
        "After Clark et al. 2019, Figure 3: how much the loss changes with attention to each "
        "kind of token. One point per head; lines are layer means.",
        ("gradient",),
    ),
    "dependencies": Row(
        "dependencies:dependencies",
        "Best head of each dependency relation",
        "After Clark et al. 2019, Table 1: the accuracy of the best head, with its 95 % interval, "
        "and of the best fixed offset. A word counts if it attends most to the right word. Beside "
        "each row: the best head, which word attends to which, and the offset (+1: the word to "
        "the right is predicted as the head word).",
        ("dependency",),
    ),
    "heads-by-layer": Row(
        "heads_by_distance:heads_by_layer",
        "Heads by distance, coloured by layer",
        "After Clark et al. 2019, Figure 6: heads that attend alike are close together (metric "
        "multidimensional scaling of Jensen–Shannon divergences).",
        ("distance",),
    ),
    "heads-by-behaviour": Row(
        "heads_by_distance:heads_by_behaviour",
        "Heads by distance, coloured by behaviour",
        "After Clark et al. 2019, Figure 6: the same points, coloured by what each head mostly "
        "does. A threshold is where the model's heads fall into two groups (Otsu), between 0.2 and "
        "0.5 of a head's attention. Grey: heads with none of these behaviours.",
        ("distance", "position"),
    ),
}

_KOVALEVA = {
    "frames": Row(
        "frames:frames",
        "Attention along frame links",
        "After Kovaleva et al. 2019, Figure 3: the largest attention between a frame's target "
        "and its core element, averaged over examples. Red: above the 99th percentile of all "
        "heads.",
        ("frame",),
    ),
    "change": Row(
        "change:change",
        "Similarity of the two models' maps, head by head",
        "After Kovaleva et al. 2019, Figure 5: the cosine between the flattened maps of the two "
        "models. It is 1 where a head has not changed.",
        ("change",),
    ),
    "features": Row(
        "features:features",
        "Attention to linguistic features",
        "After Kovaleva et al. 2019, Figure 6: attention from all tokens to the token with the "
        "feature, divided by the number of tokens. If several tokens have it, the largest "
        "counts.",
        ("feature",),
    ),
    "features-change": Row(
        "features:features_change",
        "Change in attention to linguistic features",
        f"After Kovaleva et al. 2019, §4.4, for two models. {_DIFFERENCE}",
        ("feature-change",),
    ),
    "links": Row(
        "links:links",
        "Attention between verbs and subjects, nouns and pronouns",
        "After Kovaleva et al. 2019, §4.5: the largest weight among the pairs of an example, "
        "averaged over examples.",
        ("link",),
    ),
    "links-change": Row(
        "links:links_change",
        "Change in attention between verbs and subjects, nouns and pronouns",
        f"After Kovaleva et al. 2019, §4.5, for two models. {_DIFFERENCE}",
        ("link-change",),
    ),
    "from-cls": Row(
        "from_cls:from_cls",
        "Attention from [CLS] in the last layer",
        "After Kovaleva et al. 2019, Figure 7: the largest weight from [CLS] (in a causal model, "
        "from the last token) to a token with the feature.",
        ("link",),
    ),
}

_ABLATION = {
    "head-off": Row(
        "ablation.head_off:head_off",
        "Score with one head disabled",
        "After Kovaleva et al. 2019, Figure 8. The colour is the change from the baseline with "
        "no head disabled: blue is better, orange worse. A frame marks p < 0.05, corrected over "
        "all heads.",
        ("head_off",),
    ),
    "layer-off": Row(
        "ablation.layer_off:layer_off",
        "Score with one layer disabled",
        "After Kovaleva et al. 2019, Figure 9. The orange line is the baseline with no layer "
        "disabled; whiskers are the 95 % interval of the difference from it (paired bootstrap).",
        ("layer_off",),
    ),
    "importance": Row(
        "ablation.importance:importance",
        "Gradient head importance",
        "Michel et al. 2019: how much the loss changes with a gate ξ on each head's output. "
        "Higher is more important.",
        ("importance",),
    ),
    "importance-agreement": Row(
        "ablation.agreement:importance_agreement",
        "Importance against disabling",
        "One point per head: its gradient importance, and what disabling it does to the score. "
        "Spearman's correlation has a 95 % interval over documents.",
        ("importance", "head_off", "ablation"),
    ),
    "pruning": Row(
        "ablation.pruning:pruning",
        "Score against the number of remaining heads",
        "Heads are removed in three orders: by gradient importance; greedily, each time the head "
        "whose removal costs least; and at random. They are chosen on half of the examples and "
        "scored on the other half. Bands are 95 % intervals of the difference from the whole "
        "model (paired bootstrap).",
        ("pruning",),
    ),
}

_ROLES = {
    "role-scores": Row(
        "roles.scores:role_scores",
        "Sieve bias of one head over sequences",
        "After Pande et al. 2021, Figure 2: of all heads with a mean above τ for one of the "
        "four roles, the one whose scores are most skewed. The band is the 95 % interval of the "
        "mean.",
        ("role",),
    ),
    "role-cumulative": Row(
        "roles.cumulative:role_cumulative",
        "Cumulative distribution of sieve biases",
        "After Pande et al. 2021, Figure 3a: over all heads and sequences, for each of the four "
        "roles and for all together. The paper's mean is 2.8; its τ is the next integer.",
        ("role",),
    ),
    "role-p": Row(
        "roles.p:role_p",
        "p-values of heads and roles",
        "After Pande et al. 2021, Figure 3b: one p-value, not corrected, per head and role. Few "
        "values in the grey middle mean that the test decides clearly.",
        ("role",),
    ),
    "role-heat": Row(
        "roles.heat:role_heat",
        "Sieve bias of the four roles, head by head",
        "The mean over sequences as a multiple of uniform attention, on a logarithmic scale. "
        "Outlined heads have the role (Pande et al. 2021).",
        ("role",),
    ),
    "role-venn": Row(
        "roles.venn:role_venn",
        "Overlap of the four roles",
        "After Pande et al. 2021, Figure 4: how many heads have exactly each combination of "
        "roles. Areas are not proportional to the numbers.",
        ("role",),
    ),
    "role-upset": Row(
        "roles.upset:role_upset",
        "Combinations of the four roles",
        "Each bar counts the heads that have exactly the roles with a black dot below it. A "
        "column without a black dot counts heads with none of them. On the right: all "
        "heads of each role.",
        ("role",),
    ),
    "role-correlations": Row(
        "roles.correlations:role_correlations_map",
        "Correlation of roles",
        "Spearman's correlation between the sieve biases of every two roles: over heads and "
        "sequences if single scores were kept, otherwise over heads. Pande et al. 2021 report "
        "0.73 to 0.85 for local and syntactic.",
        ("role",),
    ),
    "role-skills": Row(
        "roles.skills:role_skills",
        "Skills of every head, by layer",
        "After Pande et al. 2021, Figure 5: each head is a square of nine fine roles in fixed "
        "places, coloured where it has the role; the most skilled heads come first. "
        "Hover for the head.",
        ("role",),
    ),
    "role-layers": Row(
        "roles.layers:role_layers_map",
        "Roles by layer",
        "The percentage of each layer's heads that have each role; above it, how many of "
        "the nine fine roles a head has on average (Pande et al. 2021).",
        ("role",),
    ),
}

_PATTERNS = {
    "patterns": Row(
        "patterns.shares:patterns",
        "Pattern classes",
        "After Kovaleva et al. 2019, Figure 2, for one corpus: the share of each class among all "
        "maps (every head on every example), as the network classifies them. Hover for the 95 % "
        "interval (jackknife over groups of documents).",
        ("pattern",),
    ),
    "pattern-layers": Row(
        "patterns.shares:pattern_layers_bars",
        "Pattern classes by layer",
        "The share of each class among each layer's maps, in percent (after Kovaleva et al. "
        "2019, §4.1). Hover for the 95 % interval (jackknife over groups of documents).",
        ("pattern",),
    ),
    "pattern-heads": Row(
        "patterns.heads:pattern_heads_map",
        "Leading pattern class, head by head",
        "The most frequent class of each head's maps; the paler, the smaller its share of "
        "inputs. V vertical, D diagonal, VD both, B block, H heterogeneous. Hover for all "
        "classes and Wilson's 95 % interval.",
        ("pattern",),
    ),
}

_PROBES = {
    "probe": Row(
        "probing.maps:probe",
        "What each head knows of each task",
        "After Jo and Myaeng 2020, Figure 3: the test score of a logistic regression on each "
        "head's output. The heads of a layer are sorted, best on the left; layer 1 is at the "
        "bottom; each map has its own colour range. Hover for head and interval. Grey: not "
        "defined.",
        ("probe",),
    ),
    "probe-unsorted": Row(
        "probing.maps:probe_unsorted",
        "What each head knows of each task, heads in their places",
        "After Jo and Myaeng 2020, Figure 7: the same scores with every head in its own column, "
        "so that one head can be followed through the tasks.",
        ("probe",),
    ),
    "probe-majority": Row(
        "probing.maps:probe_from_majority",
        "What each head knows of each task, above the majority class",
        "The same scores with colours that begin at the share of the majority class, so that a "
        "map on which no head knows anything is dark. A dot marks a head whose 95 % interval "
        "includes that share.",
        ("probe",),
    ),
    "probe-selectivity": Row(
        "probing.maps:probe_selectivity",
        "Score of each head above shuffled labels",
        "The test score minus the score of a probe trained on shuffled labels. This is not the "
        "selectivity of Hewitt and Liang (2019), who compare with a control task. Heads are in "
        "their places.",
        ("probe",),
    ),
    "top-n": Row(
        "probing.top_n:top_curves",
        "Score of n concatenated heads",
        "After Jo and Myaeng 2020, §3.3: the heads with the best validation scores, and heads "
        "added one by one (greedy), each time the one of a shortlist with which validation gains "
        "most. Bands are 95 % intervals of the test score; horizontal lines are the hidden states "
        "of the last layer and of the layer with the best validation score.",
        ("probe", "probe_layer", "probe_top"),
    ),
    "syntactic-semantic": Row(
        "probing.syntactic_semantic:syntactic_semantic_scatter",
        "Syntactic against semantic score, head by head",
        "After Jo and Myaeng 2020, Figure 5: a head's mean test accuracy over the syntactic "
        "tasks (Depth, TopConst, BigramShift) and over the semantic ones (Tense, SubjNum, "
        "ObjNum, OddManOut, CoordInv) that were probed, coloured by layer. The 95 % intervals "
        "are Fisher's, and a bootstrap over whole layers, since heads of one layer are not "
        "independent.",
        ("probe",),
    ),
}

_BESIDE = {
    "null": Row(
        "nulls:null",
        "Heads beside null models",
        "One point per head, and a band for each null model that holds the middle 95 % of its "
        "heads. Beside each row: the share of heads beyond the bands. Of each measure at most "
        "five statistics are shown, those with the largest share.",
        ("null",),
    ),
    "emergence": Row(
        "emergence:emergence_lines",
        "Roles of heads over training",
        "One line per head that has a role at the last checkpoint: its excess over even attention "
        "at that role, coloured by the family of the role. A dot marks the first checkpoint from "
        "which on the head keeps the role. The strongest heads of each family are named.",
        ("track",),
    ),
}

CATALOGUE: dict[str, Row] = {
    **_SURVEY,
    **_KOVALEVA,
    **_ABLATION,
    **_ROLES,
    **_PATTERNS,
    **_PROBES,
    **_BESIDE,
}
"""Headscope's own figures by name, in the order in which a report shows them."""
