"""The command that labels maps, where nothing is labelled: what it asks for and what it shows."""

import numpy as np
import pytest

import headscope.labelling
from cli.test_mistakes import mistake
from headscope.labelling.retrain import Retrained
from headscope.measures.patterns.labels import label_maps, write_labelled
from headscope.measures.patterns.network import PatternNet
from headscope.measures.patterns.training import evaluate


def test_a_model_or_labels_are_asked_for(run):
    error, _ = mistake(run("label"))
    assert error == "the argument MODEL | LABELS is missing"


@pytest.mark.parametrize(("option", "tables"), [("", 1), ("-q", 0)])
def test_scores_by_class_are_shown_after_retraining_unless_told_to_be_quiet(
    run, tmp_path, monkeypatch, option, tables
):
    own, network = label_maps([np.eye(3)], ["diagonal"]), PatternNet()
    write_labelled(tmp_path / "labels", own)
    reports = {"your held-out maps": evaluate(network, own)}
    retrained = Retrained(network, 1, before=reports, after=reports)
    monkeypatch.setattr(headscope.labelling, "retrain", lambda *_, **__: retrained)
    output = tmp_path / "new.safetensors"
    done = run("label", tmp_path / "labels", "--retrain", "-o", output, *filter(None, [option]))
    assert done.code == 0, done.err
    assert done.out.count("your held-out maps, after: scores by class") == tables
